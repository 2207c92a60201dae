//! A host that starts one process of a function, writes its process id to a file, and waits to be killed.

use sendtrail_host::{FunctionSpec, Host, LogSink};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().ok_or("binary missing")?;
    let file = arguments.next().ok_or("file missing")?;
    let host = Host::start(vec![FunctionSpec::new("f", binary)], LogSink::new()).await?;
    let instance = host.warm("f").await?;
    // Written beside and renamed, so that a reader never sees half of it.
    let part = format!("{file}.part");
    std::fs::write(&part, instance.pid.to_string())?;
    std::fs::rename(&part, &file)?;
    std::future::pending::<()>().await;
    Ok(())
}
