//! Standard output, which the reader may close at any time.

use std::io::{self, ErrorKind, StdoutLock, Write};

/// Writes until the pipe is closed, as by `| head`; what comes after is left out. The verdict of a run, and so
/// its exit code, does not depend on how much of it is read.
pub(crate) struct Out {
    to: StdoutLock<'static>,
    is_closed: bool,
}

impl Out {
    /// Takes standard output.
    pub(crate) fn new() -> Self {
        Self {
            to: io::stdout().lock(),
            is_closed: false,
        }
    }

    fn unless_closed(
        &mut self,
        write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        match write(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            result => result,
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(|to| to.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed(Write::flush)
    }
}
