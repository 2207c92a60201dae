//! The contract under every answer the CRM may give, alone and combined. What is expected stands in one
//! table, in tests/README.md.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use sendtrail_core::commit::{Change, Commit, NoBase, commit, read_base};
use sendtrail_core::flows::{SaveOrder, Saved, save};
use sendtrail_core::ids::{HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::ports::{
    Clock as _, DocumentChange, ReadDocument as _, ReadHistory as _, StoreDocument as _,
    clock_deadline,
};
use sendtrail_core::progress::{Actor, Progress};
use sendtrail_core::record::Base;
use sendtrail_core::testing::contract::{self, Subject as _};
use sendtrail_simulator::crm::{DoubtKind, Switches};
use serde_json::json;
use tokio::task::{JoinSet, LocalSet};

use crate::simulated::Simulated;

const README: &str = include_str!("../../../../tests/README.md");
/// Rules that say nothing under a switch, and why.
const SAYS_NOTHING: [(&str, &str, &str); 1] = [(
    "list_lag_seconds",
    "due_rows_are_listed_in_order_and_once",
    "it lists right after it writes, and a row that comes some runs later is harmless",
)];
/// At once; they mostly wait.
const AT_ONCE: usize = 10;
/// Combinations that are always tried.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    switch: String,
    value: String,
    promises: [String; 4],
    functions: String,
    check: String,
}

impl Row {
    fn all() -> Vec<Self> {
        let (_, table) = README.split_once("<!-- doubts: read by tests -->").unwrap();
        let (table, _) = table.split_once("<!-- end of doubts -->").unwrap();
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        rows.map(Self::read).collect()
    }

    fn read(line: &str) -> Self {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let plain = |at: usize| cells[at].trim_matches('`').to_owned();
        Self {
            switch: plain(0),
            value: plain(1),
            promises: [3, 4, 5, 6].map(plain),
            functions: cells[7].to_owned(),
            check: cells[8].to_owned(),
        }
    }

    fn name(&self) -> String {
        format!("{} {}", self.switch, self.value)
    }

    fn switches(&self) -> Switches {
        let switches = Switches {
            // An edit by the CRM itself comes before a person could look.
            workflow_delay_ms: 0,
            ..Switches::default()
        };
        switches.with(&self.switch, &self.value).unwrap()
    }

    /// The word in backticks after this one.
    fn told(&self, word: &str) -> Option<&str> {
        let rest = self.functions.strip_prefix(word)?.trim();
        Some(rest.trim_matches('`'))
    }
}

type Rule = fn(Arc<Simulated>) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! rules {
    ($($rule:ident)*) => {
        [$((stringify!($rule), (|crm| Box::pin(async move { contract::$rule(&*crm).await })) as Rule)),*]
    };
}

fn rules() -> [(&'static str, Rule); 11] {
    rules! {
        stale_revision_conflicts_and_writes_nothing
        an_edit_in_the_same_second_is_never_overwritten
        a_write_on_a_fresh_base_is_applied
        saved_input_reads_back_as_it_was_written
        update_of_a_missing_record_is_not_found
        a_write_applied_although_its_reply_was_lost_is_recognised
        a_write_applied_late_is_recognised
        an_unknown_state_text_is_read_and_left_alone
        create_twice_with_one_request_key_makes_one_record
        a_document_is_bound_by_the_guarded_write
        due_rows_are_listed_in_order_and_once
    }
}

/// The rules that do not hold; each is tried on a CRM of its own.
async fn broken_rules(switches: Switches, left_out: &[&str]) -> BTreeSet<String> {
    let mut running = Vec::new();
    for (name, rule) in rules() {
        if !left_out.contains(&name) {
            let crm = Arc::new(Simulated::start(switches.clone()).await);
            running.push((name, tokio::task::spawn_local(rule(crm))));
        }
    }
    let mut broken = BTreeSet::new();
    for (name, rule) in running {
        if let Err(error) = rule.await {
            assert!(error.is_panic());
            broken.insert(name.to_owned());
        }
    }
    broken
}

fn left_out(switches: &[&str]) -> Vec<&'static str> {
    let of =
        |(switch, rule, _): (&str, &'static str, _)| switches.contains(&switch).then_some(rule);
    SAYS_NOTHING.into_iter().filter_map(of).collect()
}

/// Saves, binds a document, reads it and writes, as a send does until it has claimed; what stood in its way.
async fn send(crm: &Simulated) -> Result<(), String> {
    let id = saved(crm).await?;
    let file = crm
        .zoho
        .upload("a.pdf", Bytes::from_static(b"%PDF-1.7"))
        .await;
    let file = file.map_err(|error| error.to_string())?;
    write(crm, &base(crm, &id).await?, DocumentChange::Bind(file)).await?;
    let base = base(crm, &id).await?;
    let document = crm.zoho.download(base.record(), 100).await;
    document.map_err(|error| error.to_string())?;
    write(crm, &base, DocumentChange::Keep).await
}

async fn saved(crm: &Simulated) -> Result<HistoryId, String> {
    let value = json!({
        "driver": "letter", "source": {"module": "Deals", "record_id": "9", "field": "Contract_PDF"},
        "to": {}, "fields": {},
    });
    let input = Input::from_object(value.as_object().unwrap()).unwrap();
    let order = SaveOrder {
        key: RequestKey::parse(&crm.unique()).unwrap(),
        body_sha256: Sha256Hash::of(b"x"),
        actor: Actor::new("1", "Ada").unwrap(),
        stored: input.to_stored().unwrap(),
        input,
    };
    match save(&crm.zoho, crm, &order).await {
        Saved::Saved(record) => Ok(record.id),
        Saved::Failed(error) => Err(error.to_string()),
        other @ (Saved::Same(_)
        | Saved::KeyReused
        | Saved::NotSavable
        | Saved::ChangedElsewhere) => Err(format!("{other:?}")),
    }
}

async fn base(crm: &Simulated, id: &HistoryId) -> Result<Base, String> {
    let until = clock_deadline(crm.now(), SignedDuration::from_secs(20));
    match read_base(&crm.zoho, crm, id, until).await {
        Ok(base) => Ok(base),
        Err(NoBase::Store(error)) => Err(error.to_string()),
        Err(NoBase::Unsettled) => Err("no Date: no read is a base".to_owned()),
    }
}

async fn write(crm: &Simulated, base: &Base, document: DocumentChange) -> Result<(), String> {
    let progress = Progress::decode(base.record().progress.as_deref()).unwrap();
    let mut change = Change::remark("doubt", progress);
    change.document = document;
    let until = clock_deadline(crm.now(), SignedDuration::from_secs(20));
    match commit(&crm.zoho, crm, base, change, until).await {
        Commit::Written { .. } => Ok(()),
        Commit::SkippedConflict => Err("changed elsewhere".to_owned()),
        Commit::NotWritten(error) | Commit::Unconfirmed(error) => Err(error.to_string()),
        other @ (Commit::Illegal(_) | Commit::ForeignState) => Err(format!("{other:?}")),
    }
}

/// What is not as the row expects.
async fn disagreement(row: Row) -> Option<String> {
    let crm = Simulated::start(row.switches()).await;
    let sent = send(&crm).await;
    if let Some(words) = row.told("refuse:") {
        return match sent {
            Err(why) if why.contains(words) => None,
            other => Some(format!("{}: expected {words:?}, got {other:?}", row.name())),
        };
    }
    if let Err(why) = sent {
        return Some(format!("{}: {why}", row.name()));
    }
    let broken = broken_rules(row.switches(), &left_out(&[&row.switch])).await;
    // Others may break as well, from one moment to the next.
    let as_told = match row.told("break:") {
        Some(rule) => broken.contains(rule),
        None => broken.is_empty(),
    };
    (!as_told).then(|| format!("{}: broken {broken:?}", row.name()))
}

#[test]
fn the_table_has_a_row_for_every_other_answer_and_says_what_it_stands_for() {
    let listed: Vec<_> = Row::all().iter().map(Row::name).collect();
    let mut expected = Vec::new();
    for doubt in Switches::doubts() {
        for value in doubt.others {
            expected.push(format!("{} {value}", doubt.name));
            let row = format!("| `{}` | `{value}` | {} |", doubt.name, doubt.stands_for);
            assert!(README.contains(&row), "{row}");
        }
        assert!(doubt.kind == DoubtKind::Measure || !doubt.others.is_empty());
    }
    assert_eq!(listed, expected);
}

#[test]
fn a_promise_is_open_only_where_the_check_fails() {
    for row in Row::all() {
        let open = row.promises.iter().any(|promise| promise == "open");
        let known = row.promises.iter().all(|p| p == "open" || p == "holds");
        assert!(known, "{row:?}");
        let fails = row.check.starts_with("fails: `");
        assert!(fails || row.check == "passes", "{row:?}");
        assert!(fails || !open, "{row:?}");
        let unusual = row.functions != "work";
        assert!(fails || !unusual, "{row:?}");
    }
}

#[tokio::test]
async fn each_switch_alone_does_what_the_table_says() {
    let found = LocalSet::new()
        .run_until(async {
            let mut rows = Row::all().into_iter();
            let mut running = JoinSet::new();
            let mut found = Vec::new();
            loop {
                while running.len() < AT_ONCE
                    && let Some(row) = rows.next()
                {
                    running.spawn_local(disagreement(row));
                }
                match running.join_next().await {
                    None => return found,
                    Some(result) => found.extend(result.unwrap()),
                }
            }
        })
        .await;
    assert!(found.is_empty(), "{found:#?}");
}

/// A combination of answers under which everything is expected to work.
fn combination(seed: u64) -> Vec<Row> {
    let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |below: u64| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        bits % below
    };
    let mut chosen: Vec<Row> = Vec::new();
    for row in Row::all() {
        if row.functions != "work" || row.check != "passes" || draw(2) == 0 {
            continue;
        }
        // The last value of a switch stands.
        chosen.retain(|other| other.switch != row.switch);
        chosen.push(row);
    }
    chosen
}

#[test]
fn a_seed_always_gives_the_same_combination() {
    assert_eq!(combination(7), combination(7));
    assert_ne!(combination(7), combination(8));
    assert!(combination(7).len() > 8);
}

#[tokio::test]
async fn seeded_combinations_of_harmless_answers_harm_nothing() {
    let given = std::env::var("SENDTRAIL_SEED").ok();
    let seeds = match given {
        Some(seed) => vec![seed.parse().unwrap()],
        None => SEEDS.to_vec(),
    };
    let found = LocalSet::new()
        .run_until(async {
            let mut running = JoinSet::new();
            for seed in seeds {
                running.spawn_local(async move {
                    let rows = combination(seed);
                    let switches = rows.iter().fold(
                        Switches {
                            workflow_delay_ms: 0,
                            ..Switches::default()
                        },
                        |all, row| all.with(&row.switch, &row.value).unwrap(),
                    );
                    let names: Vec<&str> = rows.iter().map(|row| row.switch.as_str()).collect();
                    let sent = send(&Simulated::start(switches.clone()).await).await;
                    let broken = broken_rules(switches.clone(), &left_out(&names)).await;
                    let fine = sent.is_ok() && broken.is_empty();
                    (!fine).then(|| {
                        let text = serde_json::to_string(&switches).unwrap();
                        format!("SENDTRAIL_SEED={seed}: {sent:?} {broken:?} under {text}")
                    })
                });
            }
            let mut found = Vec::new();
            while let Some(result) = running.join_next().await {
                found.extend(result.unwrap());
            }
            found
        })
        .await;
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn a_write_applied_late_is_recognised_also_where_one_version_has_two_texts() {
    // However many answers came before: every other one has the other text.
    for reads in 0..2 {
        let switches = Switches::default();
        let crm = Simulated::start(switches.with("time_form", "\"flipping\"").unwrap()).await;
        let id = saved(&crm).await.unwrap();
        let base = base(&crm, &id).await.unwrap();
        write(&crm, &base, DocumentChange::Keep).await.unwrap();
        let base = self::base(&crm, &id).await.unwrap();
        for _ in 0..reads {
            crm.zoho.read(&id).await.unwrap();
        }
        let late = SignedDuration::from_millis(200);
        crm.apply_next_write_late(late).await;
        let written = write(&crm, &base, DocumentChange::Keep).await;
        assert_eq!(written, Ok(()), "{reads}");
    }
}
