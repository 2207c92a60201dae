//! A function whose key is changed while it lives.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use sendtrail_core::testing::TestWorld;

use super::*;
use crate::config::Config;
use crate::environment::Environment;
use crate::function::Function;
use crate::metrics::MetricsLine;
use crate::testing::CapturedLogs;

const OLD: &str = "the-old-value-of-the-key";
const NEW: &str = "the-new-value-of-the-key";
const NO_KEY: &str = "no-key-at-all";

/// A function that is its key: it takes an event that is the key, and refuses every other.
struct Door {
    config: Config<()>,
    folder: tempfile::TempDir,
    reads: Rc<Cell<u32>>,
    hangs: Rc<Cell<bool>>,
}

impl Recipe for Door {
    type App = String;

    async fn secrets(&self) -> Result<Secrets, StartError> {
        self.reads.set(self.reads.get() + 1);
        if self.hangs.get() {
            std::future::pending::<()>().await;
        }
        let seal = [&self.config.seal_key];
        self.config.secrets.resolve(Function::Intake, seal).await
    }

    fn app(&self, secrets: &Secrets) -> Result<String, StartError> {
        let key = secrets.get(&self.config.seal_key)?;
        let key = secrecy::ExposeSecret::expose_secret(key).to_owned();
        if key == NO_KEY {
            return Err(StartError::part("the door", &"it takes no such key"));
        }
        Ok(key)
    }

    fn lifetime(&self) -> SignedDuration {
        self.config.secrets_lifetime
    }
}

/// The instance, with what a test changes around it. Logs are captured as long as it lives.
struct Rig {
    instance: Instance<Door, Arc<TestWorld>>,
    world: Arc<TestWorld>,
    reads: Rc<Cell<u32>>,
    hangs: Rc<Cell<bool>>,
    /// Events that reached the function.
    served: Cell<u32>,
    /// What the function sees besides a key that it does not know.
    sees: Cell<Rotation>,
    logs: CapturedLogs,
}

impl Rig {
    async fn new() -> Self {
        let logs = CapturedLogs::start("intake");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sendtrail.toml");
        let text = crate::SAMPLE.replace("env:SEAL_KEY", "file:key");
        std::fs::write(&file, text).unwrap();
        let named = ("SENDTRAIL_CONFIG".to_owned(), file.display().to_string());
        let env = Environment::new([named], "");
        let config = crate::load(&env, crate::read::tests::any_crm).unwrap();
        let (reads, hangs) = (Rc::default(), Rc::default());
        let door = Door {
            config,
            folder,
            reads: Rc::clone(&reads),
            hangs: Rc::clone(&hangs),
        };
        std::fs::write(door.folder.path().join("key"), OLD).unwrap();
        let secrets = door.secrets().await.unwrap();
        reads.set(0);
        let world = Arc::new(TestWorld::new());
        Self {
            instance: Instance::with_clock(door, secrets, Arc::clone(&world)).unwrap(),
            world,
            reads,
            hangs,
            served: Cell::new(0),
            sees: Cell::new(Rotation::None),
            logs,
        }
    }

    fn put(&self, key: &str) {
        std::fs::write(self.file(), key).unwrap();
    }

    fn file(&self) -> std::path::PathBuf {
        self.instance.recipe.folder.path().join("key")
    }

    async fn pass(&self, seconds: i64) {
        self.world.sleep(SignedDuration::from_secs(seconds)).await;
    }

    /// Serves an event; whether it was taken, and what the metrics line says of the secrets.
    async fn serve(&mut self, payload: &str) -> (bool, Option<String>) {
        let (served, sees) = (&self.served, self.sees.get());
        let handler = async |key: &String, invocation: Invocation<'_>| {
            served.set(served.get() + 1);
            let is_taken = invocation.payload == key;
            let rotation = if is_taken {
                sees
            } else {
                Rotation::NoKeyMatched
            };
            let line = MetricsLine::new("intake", "test");
            Handled::new(is_taken, line).with_rotation(rotation)
        };
        let invocation = Invocation {
            payload,
            request_id: "inv-1",
            deadline: self.world.after(30),
        };
        let outcome = self.instance.serve(invocation, &handler).await;
        let line = outcome.metrics.render(self.world.now());
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let read = line["secrets_read"].as_str().map(str::to_owned);
        (outcome.response, read)
    }

    /// The messages of the log, after looking for what must not be in it.
    fn told(&self) -> Vec<(String, String)> {
        let text = self.logs.text();
        for value in [OLD, NEW, NO_KEY] {
            assert!(!text.contains(value), "{text}");
        }
        let word = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
        let lines = self.logs.lines();
        lines
            .iter()
            .map(|line| (word(line, "level"), word(line, "message")))
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_key_works_at_once_and_the_old_one_no_longer() {
    let mut rig = Rig::new().await;
    assert_eq!(rig.serve(OLD).await, (true, None));
    rig.put(NEW);
    assert_eq!(rig.serve(NEW).await, (true, Some("changed".to_owned())));
    assert_eq!(rig.served.get(), 3, "the same event was served twice");
    assert_eq!(rig.serve(NEW).await, (true, None));
    assert_eq!(rig.serve(OLD).await, (false, None));
    assert_eq!(rig.reads.get(), 1);
    let told = rig.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].0 == "INFO" && told[0].1.starts_with("a secret has changed"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_keys_has_the_secrets_read_once_in_five_minutes() {
    let mut rig = Rig::new().await;
    for second in 0..600 {
        let (is_taken, read) = rig.serve("forged").await;
        assert!(!is_taken);
        assert_eq!(read.is_some(), second % 300 == 0, "{second}");
        rig.pass(1).await;
    }
    assert_eq!(rig.reads.get(), 2);
    assert_eq!(
        rig.served.get(),
        600,
        "nothing is served twice when nothing has changed"
    );
    assert_eq!(rig.told(), []);
}

#[tokio::test(start_paused = true)]
async fn secrets_past_their_lifetime_are_read_before_the_invocation_and_a_change_is_taken() {
    let mut rig = Rig::new().await;
    rig.put(NEW);
    rig.pass(899).await;
    assert_eq!(rig.serve(OLD).await, (true, None));
    rig.pass(1).await;
    assert_eq!(rig.serve(OLD).await, (false, Some("same".to_owned())));
    assert_eq!(rig.serve(NEW).await, (true, None));
}

#[tokio::test(start_paused = true)]
async fn credentials_that_were_refused_are_read_before_the_next_invocation_and_nothing_is_served_twice()
 {
    let mut rig = Rig::new().await;
    rig.sees.set(Rotation::CredentialsRefused);
    assert_eq!(rig.serve(OLD).await, (true, None));
    assert_eq!((rig.served.get(), rig.reads.get()), (1, 0));
    assert_eq!(rig.serve(OLD).await, (true, Some("same".to_owned())));
    assert_eq!(
        rig.serve(OLD).await,
        (true, None),
        "not again before five minutes"
    );
    assert_eq!((rig.served.get(), rig.reads.get()), (3, 1));
    rig.pass(300).await;
    rig.put(NEW);
    assert_eq!(rig.serve(NEW).await, (true, Some("changed".to_owned())));
    assert_eq!((rig.served.get(), rig.reads.get()), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn secrets_that_cannot_be_read_again_leave_the_function_as_it_is_with_one_warning_a_minute() {
    let mut rig = Rig::new().await;
    std::fs::remove_file(rig.file()).unwrap();
    rig.pass(900).await;
    for _ in 0..3 {
        assert!(rig.serve(OLD).await.0);
        rig.pass(20).await;
    }
    assert_eq!(rig.reads.get(), 1);
    assert!(rig.serve(OLD).await.0);
    assert_eq!(rig.reads.get(), 2);
    let told = rig.told();
    assert_eq!(told.len(), 2);
    let warns = |(level, message): &(String, String)| {
        level == "WARN" && message.starts_with("secrets cannot be read again")
    };
    assert!(told.iter().all(warns), "{told:?}");
    let error = rig.logs.lines()[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("secret:seal-key: the file"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_new_value_that_is_no_key_is_an_error_and_the_old_one_stays() {
    for (value, error_type) in [
        (NO_KEY, "Start.PartRefused"),
        (" \n", "Start.SecretsUnusable"),
    ] {
        let mut rig = Rig::new().await;
        rig.put(value);
        rig.pass(900).await;
        assert_eq!(rig.serve(OLD).await, (true, Some("failed".to_owned())));
        let told = rig.told();
        assert_eq!(told.len(), 1);
        assert!(told[0].0 == "ERROR" && told[0].1.contains("cannot be used"));
        assert_eq!(rig.logs.lines()[0]["error_type"], error_type);
        rig.put(NEW);
        rig.pass(60).await;
        assert!(rig.serve(NEW).await.0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reading_that_hangs_costs_a_bounded_part_of_the_invocation() {
    let mut rig = Rig::new().await;
    rig.pass(900).await;
    rig.hangs.set(true);
    let before = rig.world.now();
    assert_eq!(rig.serve(OLD).await, (true, Some("failed".to_owned())));
    assert_eq!(rig.world.now().duration_since(before), READ_TIME);
    assert_eq!(rig.told().len(), 1);
    // It also has what was seen at the door waited for, and not both in one invocation.
    rig.pass(10).await;
    let before = rig.world.now();
    assert_eq!(rig.serve("forged").await, (false, None));
    assert_eq!(rig.world.now(), before);
}
