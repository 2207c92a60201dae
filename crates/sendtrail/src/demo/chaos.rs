//! Kills any process at any moment, and looks what became of the send.
//!
//! Each trial is a `sendtrail local` of its own, driven over HTTP alone. A person saves, confirms and presses
//! again wherever the record lets them; meanwhile processes are killed hard: a function, or the whole stack
//! with CRM, send API and host, which is then started again on the same data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::Child;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::client::{Client, fresh_id};
use super::stage::{Failed, HISTORIES};
use crate::local::{Endpoints, LETTER};

/// What the API does in a trial, one of these.
const SCRIPTS: [&str; 5] = [
    "delivered after 1",
    "reply lost, delivered after 1",
    "hold 1s after, delivered after 1",
    "hold 1s before, delivered after 1",
    "throttled 1s times 1, delivered after 1",
];
/// Time in which the kills fall.
const KILLS_WITHIN_MS: u64 = 9_000;
/// Time in which a send must end, kills and restarts included.
const MUST_END: Duration = Duration::from_secs(90);

/// What became of one trial.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    /// The seed it can be played again with.
    pub(crate) seed: u64,
    /// What was killed, and when.
    pub(crate) kills: Vec<String>,
    /// The state it ended in, or what went wrong.
    pub(crate) end: Result<String, String>,
    /// Commit POSTs that the API accepted or may have acted on.
    pub(crate) received: u64,
}

impl Trial {
    /// At most one submit, and an end.
    pub(crate) fn is_ok(&self) -> bool {
        self.end.is_ok() && self.received <= 1
    }
}

/// Plays `trials` of them from `seed` on, some at once.
pub(crate) async fn play(
    functions: &Path,
    trials: u16,
    seed: u64,
    jobs: usize,
    mut done: impl FnMut(&Trial),
) -> Vec<Trial> {
    let mut running = JoinSet::new();
    let mut waiting = (0..u64::from(trials)).map(|index| seed.wrapping_add(index));
    let mut results = Vec::new();
    loop {
        while running.len() < jobs
            && let Some(seed) = waiting.next()
        {
            let functions = functions.to_owned();
            running.spawn(async move { trial(&functions, seed).await });
        }
        match running.join_next().await {
            None => return results,
            Some(Ok(trial)) => {
                done(&trial);
                results.push(trial);
            }
            Some(Err(error)) => results.push(Trial {
                seed,
                kills: Vec::new(),
                end: Err(error.to_string()),
                received: 0,
            }),
        }
    }
}

/// What became of all trials: how they ended, and each that did not go as it should.
pub(crate) fn table(trials: &[Trial]) -> String {
    use std::fmt::Write as _;
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in trials {
        *ends
            .entry(trial.end.as_deref().unwrap_or("no end"))
            .or_default() += 1;
    }
    let kills: usize = trials.iter().map(|trial| trial.kills.len()).sum();
    let whole = trials
        .iter()
        .flat_map(|trial| &trial.kills)
        .filter(|kill| kill.contains("everything"));
    let mut text = format!(
        "{} sends, {kills} kills, {} of them of everything at once\n",
        trials.len(),
        whole.count()
    );
    for (end, count) in ends {
        let _ = writeln!(text, "  {count:>5}  {end}");
    }
    let twice = trials.iter().filter(|trial| trial.received > 1).count();
    let _ = writeln!(text, "  {twice:>5}  submitted twice");
    for trial in trials.iter().filter(|trial| !trial.is_ok()) {
        let Trial {
            seed,
            kills,
            end,
            received,
        } = trial;
        let _ = writeln!(
            text,
            "FAILED  seed {seed}: {end:?}, {received} received, killed: {}",
            kills.join("; ")
        );
    }
    text
}

/// A small generator: the same seed gives the same kills.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }
}

async fn trial(functions: &Path, seed: u64) -> Trial {
    let mut trial = Trial {
        seed,
        kills: Vec::new(),
        end: Err("it was not played".to_owned()),
        received: 0,
    };
    let played = play_one(functions, &mut trial).await;
    if let Err(failed) = played {
        trial.end = Err(failed.to_string());
    }
    trial
}

async fn play_one(functions: &Path, trial: &mut Trial) -> Result<(), Failed> {
    let mut dice = Dice(trial.seed);
    let data = tempfile::Builder::new()
        .prefix("sendtrail-chaos-")
        .tempdir();
    let data = data.map_err(|error| Failed::Setup(error.to_string()))?;
    let mut stack = Stack::start(functions, data.path()).await?;
    let script = SCRIPTS[usize::try_from(dice.roll(SCRIPTS.len() as u64)).unwrap_or(0)];
    let mut kills: Vec<u64> = (0..=dice.roll(3))
        .map(|_| dice.roll(KILLS_WITHIN_MS))
        .collect();
    kills.sort_unstable();
    let started = Instant::now();
    let mut person = Person::new(&stack, script)?;
    let mut kills = kills.into_iter().map(Duration::from_millis).peekable();
    loop {
        let elapsed = started.elapsed();
        if elapsed > MUST_END {
            trial.end = Err(format!(
                "no end after {} s; the state is {}",
                elapsed.as_secs(),
                person.state
            ));
            break;
        }
        let pause = kills
            .peek()
            .map_or(Duration::from_millis(300), |at| at.saturating_sub(elapsed));
        tokio::select! {
            acted = person.act() => {
                acted?;
                if person.is_done() && kills.peek().is_none() {
                    trial.end = Ok(person.state.clone());
                    break;
                }
                // Not in a tight loop while only waiting.
                if kills.peek().is_none() {
                    sleep(Duration::from_millis(100)).await;
                }
            }
            () = sleep(pause), if kills.peek().is_some() => {
                kills.next();
                let victim = dice.roll(4);
                let what = stack.kill(victim).await?;
                trial.kills.push(format!("{:.1} s {what}", started.elapsed().as_secs_f64()));
                person.use_stack(&stack)?;
            }
        }
    }
    trial.received = person.received().await?;
    stack.end().await;
    Ok(())
}

/// A `sendtrail local` that can be killed and started again.
struct Stack {
    functions: PathBuf,
    data: PathBuf,
    child: Child,
    endpoints: Endpoints,
}

impl Stack {
    async fn start(functions: &Path, data: &Path) -> Result<Self, Failed> {
        let (child, endpoints) = launch(functions, data).await?;
        Ok(Self {
            functions: functions.to_owned(),
            data: data.to_owned(),
            child,
            endpoints,
        })
    }

    /// Kills a function, or everything, with SIGKILL; everything is started again.
    async fn kill(&mut self, victim: u64) -> Result<String, Failed> {
        let function = match victim {
            0 => "intake",
            1 => "side-effect",
            2 => "poller",
            _ => {
                let _ = self.child.kill().await;
                let (child, endpoints) = launch(&self.functions, &self.data).await?;
                self.child = child;
                self.endpoints = endpoints;
                return Ok("everything, started again".to_owned());
            }
        };
        let parent = self.child.id().unwrap_or(0);
        let killed = children_of(parent, function)
            .into_iter()
            .filter(|pid| kill(*pid))
            .count();
        Ok(format!("{killed} {function}"))
    }

    async fn end(mut self) {
        let _ = self.child.kill().await;
    }
}

async fn launch(functions: &Path, data: &Path) -> Result<(Child, Endpoints), Failed> {
    let setup = |error: std::io::Error| Failed::Setup(error.to_string());
    let file = data.join("endpoints.json");
    let _ = std::fs::remove_file(&file);
    let child = tokio::process::Command::new(std::env::current_exe().map_err(setup)?)
        .args(["local", "--quick", "--functions"])
        .arg(functions)
        .arg("--data")
        .arg(data)
        .arg("--endpoints")
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(setup)?;
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if let Ok(text) = std::fs::read_to_string(&file) {
            let endpoints = serde_json::from_str(&text);
            return Ok((
                child,
                endpoints.map_err(|error| Failed::Setup(error.to_string()))?,
            ));
        }
        sleep(Duration::from_millis(30)).await;
    }
    Err(Failed::TooLate("the stack did not start".to_owned()))
}

/// The processes of this function whose parent is this one.
fn children_of(parent: u32, function: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // pid (name) state ppid …
        let (before, after) = stat.rsplit_once(')').unwrap_or_default();
        let name = before.rsplit_once('(').map_or("", |(_, name)| name);
        let ppid = after
            .split_whitespace()
            .nth(1)
            .and_then(|text| text.parse().ok());
        name == function && ppid == Some(parent)
    })
    .collect()
}

fn kill(pid: u32) -> bool {
    // The shell's own `kill`, which is always there.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("kill -9 {pid}"))
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// A user who does the next thing that the record lets them do, and tries again when a door does not answer.
struct Person {
    client: Client,
    endpoints: Endpoints,
    recipient: String,
    history_id: Option<String>,
    state: String,
}

impl Person {
    fn new(stack: &Stack, script: &str) -> Result<Self, Failed> {
        Ok(Self {
            client: Client::new(stack.endpoints.clone())?,
            endpoints: stack.endpoints.clone(),
            recipient: format!("Ada ({script})"),
            history_id: None,
            state: String::new(),
        })
    }

    fn use_stack(&mut self, stack: &Stack) -> Result<(), Failed> {
        self.client = Client::new(stack.endpoints.clone())?;
        self.endpoints = stack.endpoints.clone();
        Ok(())
    }

    fn is_done(&self) -> bool {
        matches!(self.state.as_str(), "succeeded" | "failed" | "needs_review")
    }

    /// One step; a door or a CRM that does not answer is no error, it is tried again.
    async fn act(&mut self) -> Result<(), Failed> {
        let Some(id) = self.history_id.clone() else {
            if let Ok(saved) = self.client.save(LETTER, &self.recipient).await {
                self.history_id = Some(saved.id);
            }
            return Ok(());
        };
        let url = format!("{}/_sim/records/{HISTORIES}/{id}", self.endpoints.crm_url);
        let Ok(record) = self.client.get_json(&url).await else {
            return Ok(());
        };
        let text = |name: &str| {
            record["fields"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        self.state = text("Delivery_State");
        let unanswered = match self.state.as_str() {
            "saved" => self.confirm(&id).await.err(),
            "confirmed" => {
                let hash = text("Document_SHA256");
                self.client.press_hash(&id, &hash, &fresh_id()).await.err()
            }
            _ => None,
        };
        match unanswered {
            None | Some(Failed::NoAnswer(_) | Failed::Unexpected(_)) => Ok(()),
            Some(other) => Err(other),
        }
    }

    /// Saves again, for tokens that are still good, looks and confirms.
    async fn confirm(&self, id: &str) -> Result<(), Failed> {
        let saved = self.client.save_again(LETTER, &self.recipient, id).await?;
        let preview = self.client.preview(&saved).await?;
        self.client
            .confirm(&saved, preview.bytes, &preview.receipt)
            .await?;
        Ok(())
    }

    /// Commit POSTs that the API accepted or may have acted on.
    async fn received(&self) -> Result<u64, Failed> {
        let posts: Value = self
            .client
            .get_json(&format!("{}/_sim/posts", self.endpoints.send_api_url))
            .await?;
        posts["received"]
            .as_u64()
            .ok_or_else(|| Failed::Unexpected(format!("posts: {posts}")))
    }
}
