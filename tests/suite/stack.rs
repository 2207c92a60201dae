//! A local stack as a person starts it: `sendtrail local`, as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binaries::folder;

/// A running `sendtrail local`; ended when it is dropped.
pub(crate) struct Stack {
    child: Child,
    data: PathBuf,
    /// What `--endpoints` wrote.
    pub(crate) endpoints: Value,
}

impl Stack {
    /// Starts one that keeps its data in this folder, and waits until it says where it is.
    pub(crate) fn start(data: &Path) -> Self {
        let folder = folder();
        let file = data.join("endpoints.json");
        let _ = std::fs::remove_file(&file);
        let mut child = Command::new(folder.join("sendtrail"))
            .args(["local", "--functions"])
            .arg(&folder)
            .arg("--data")
            .arg(data)
            .arg("--endpoints")
            .arg(&file)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        let text = loop {
            if let Ok(text) = std::fs::read_to_string(&file) {
                break text;
            }
            assert!(
                child.try_wait().unwrap().is_none(),
                "sendtrail local ended by itself"
            );
            assert!(Instant::now() < end, "sendtrail local did not start");
            std::thread::park_timeout(Duration::from_millis(50));
        };
        Self {
            child,
            data: data.to_owned(),
            endpoints: serde_json::from_str(&text).unwrap(),
        }
    }

    /// One of the addresses or other texts, by JSON Pointer.
    pub(crate) fn text(&self, pointer: &str) -> String {
        let value = self.endpoints.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("no {pointer}")).to_owned()
    }

    /// Everything a function logged so far.
    pub(crate) fn log(&self, function: &str) -> String {
        std::fs::read_to_string(self.data.join(format!("logs/{function}.log"))).unwrap_or_default()
    }

    /// The value of every secret of the stack.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let folder = std::fs::read_dir(self.data.join("secrets")).unwrap();
        folder
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect()
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as Ctrl-C does, and waits; whether it ended well.
    pub(crate) fn interrupt(mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().success()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
