//! What runs: each job starts one flow of the product.

use std::future::Future;
use std::pin::Pin;

use jiff::Timestamp;
use sendtrail_core::flows::{
    self, Confirmed, DocumentToConfirm, Operated, Operation, Press, SaveOrder, Saved, Sent,
    SubmitPorts,
};
use sendtrail_core::ids::{ExternalId, HistoryId, Sha256Hash};
use sendtrail_core::ports::clock_deadline;
use sendtrail_core::testing::CheckMac;

use crate::replay::{Driver, Drivers, Ports};
use crate::setup::{self, ANSWER_RESERVE, Doc, STAGE};

/// One invocation, or one command of a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Job {
    /// A user presses *send*.
    Press {
        /// On which record.
        record: usize,
        /// With which key; the same key twice is the same press twice.
        key: &'static str,
        /// The document the user saw.
        document: Doc,
    },
    /// A user saves the other input on the record.
    SaveAgain {
        /// On which record.
        record: usize,
    },
    /// A user confirms a document.
    Confirm {
        /// On which record.
        record: usize,
        /// Which.
        document: Doc,
        /// The revision number its ticket is bound to.
        rev: u64,
    },
    /// A person's command.
    Operate {
        /// On which record.
        record: usize,
        /// What.
        what: Command,
    },
    /// The poller runs.
    Poll,
    /// A flow that breaks the rules: it submits without a claim.
    #[cfg(test)]
    Reckless {
        /// Which record.
        record: usize,
        /// With which key.
        key: &'static str,
    },
}

/// What a person commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Settle as delivered.
    SettleSucceeded,
    /// Settle as failed.
    SettleFailed,
    /// Look up again.
    Resume,
    /// Record the first id of the API.
    Record,
}

/// What a flow gave at its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// A press.
    Pressed(Sent),
    /// A save.
    Saved(Saved),
    /// A confirm.
    Confirmed(Confirmed),
    /// A command.
    Operated(Operated),
    /// A run of the poller.
    Polled,
}

impl Job {
    /// The record it works on, if it is one.
    pub fn record(&self) -> Option<usize> {
        match self {
            Self::Press { record, .. }
            | Self::SaveAgain { record }
            | Self::Confirm { record, .. }
            | Self::Operate { record, .. } => Some(*record),
            #[cfg(test)]
            Self::Reckless { record, .. } => Some(*record),
            Self::Poll => None,
        }
    }

    /// The key of a press.
    pub fn press_key(&self) -> Option<&'static str> {
        match self {
            Self::Press { key, .. } => Some(key),
            #[cfg(test)]
            Self::Reckless { key, .. } => Some(key),
            Self::SaveAgain { .. } | Self::Confirm { .. } | Self::Operate { .. } | Self::Poll => {
                None
            }
        }
    }

    /// In words.
    pub fn name(&self) -> String {
        match self {
            Self::Press {
                record,
                key,
                document,
            } => format!("press {key} of document {document:?} on record {record}"),
            Self::SaveAgain { record } => format!("save again on record {record}"),
            Self::Confirm {
                record, document, ..
            } => format!("confirm of document {document:?} on record {record}"),
            Self::Operate { record, what } => format!("command {what:?} on record {record}"),
            #[cfg(test)]
            Self::Reckless { .. } => "reckless".to_owned(),
            Self::Poll => "poller".to_owned(),
        }
    }

    /// Starts the flow over these ports, in an invocation that is killed at `until`.
    pub fn flow(
        &self,
        ids: &[HistoryId],
        can_find: bool,
        ports: Ports,
        until: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Ended> + Send + 'static>> {
        let id = self.record().and_then(|record| ids.get(record)).cloned();
        let drivers = Drivers(Driver {
            ports: ports.clone(),
            can_find,
            pacing: setup::pacing(),
        });
        let job = self.clone();
        let until = clock_deadline(until, -ANSWER_RESERVE);
        Box::pin(async move {
            match (job, id) {
                (Self::Press { key, document, .. }, Some(id)) => {
                    press(&ports, &drivers, id, key, document, until).await
                }
                (Self::SaveAgain { .. }, Some(id)) => save_again(&ports, &id, until).await,
                (Self::Confirm { document, rev, .. }, Some(id)) => {
                    confirm(&ports, &id, document, rev, until).await
                }
                (Self::Operate { what, .. }, Some(id)) => operate(&ports, &id, what, until).await,
                #[cfg(test)]
                (Self::Reckless { .. }, Some(id)) => reckless(&ports, &drivers.0, id).await,
                #[cfg(test)]
                (Self::Reckless { .. }, None) => unreachable!("it names a record"),
                (Self::Poll, _) => {
                    let policy = setup::poll_policy();
                    let _ = flows::run(&ports, &drivers, &ports, &policy, until).await;
                    Ended::Polled
                }
                (
                    Self::Press { .. }
                    | Self::SaveAgain { .. }
                    | Self::Confirm { .. }
                    | Self::Operate { .. },
                    None,
                ) => unreachable!("a configuration names records it has"),
            }
        })
    }
}

async fn press(
    ports: &Ports,
    drivers: &Drivers,
    history_id: HistoryId,
    key: &str,
    document: Doc,
    until: Timestamp,
) -> Ended {
    let press = Press {
        key: setup::key(key),
        history_id,
        document_sha256: document.sha256(),
        again_of: None,
        actor: setup::actor(),
    };
    let submit_ports = SubmitPorts {
        store: ports,
        drivers,
        world: ports,
        mac: &CheckMac(7),
        policy: &setup::submit_policy(),
    };
    Ended::Pressed(flows::send(&submit_ports, &press, until).await)
}

#[cfg(test)]
async fn reckless(ports: &Ports, driver: &Driver, history_id: HistoryId) -> Ended {
    use sendtrail_core::ports::{Order, ReadHistory as _, Submit as _};
    let document_sha256 = Doc::One.sha256();
    let order = Order {
        reference: sendtrail_core::ids::derive_reference(STAGE, &history_id, &document_sha256),
        history_id,
        input: Doc::One.parsed(),
        document: Doc::One.bytes(),
        document_sha256,
    };
    let _ = ports.read(&order.history_id).await;
    let _ = driver
        .submit(&order, (), jiff::SignedDuration::from_secs(5))
        .await;
    Ended::Polled
}

async fn save_again(ports: &Ports, id: &HistoryId, until: Timestamp) -> Ended {
    let order = SaveOrder {
        key: setup::key("save_again"),
        body_sha256: Sha256Hash::of(b"another body"),
        actor: setup::actor(),
        input: Doc::Two.parsed(),
        stored: Doc::Two.stored(),
    };
    Ended::Saved(flows::save_again(ports, ports, id, &order, until).await)
}

async fn confirm(
    ports: &Ports,
    id: &HistoryId,
    document: Doc,
    rev: u64,
    until: Timestamp,
) -> Ended {
    let document = DocumentToConfirm {
        bytes: document.bytes(),
        sha256: document.sha256(),
        rev,
        input_sha256: document.input_sha256(),
    };
    let confirmed = flows::confirm(ports, ports, &CheckMac(7), STAGE, id, document, until);
    Ended::Confirmed(confirmed.await)
}

async fn operate(ports: &Ports, id: &HistoryId, what: Command, until: Timestamp) -> Ended {
    let give_up = setup::pacing().give_up;
    let operation = match what {
        Command::SettleSucceeded => Operation::SettleSucceeded,
        Command::SettleFailed => Operation::SettleFailed,
        Command::Resume => Operation::Resume {
            external_id: None,
            give_up,
        },
        Command::Record => Operation::Record {
            external_id: external_id(0),
            give_up,
        },
    };
    let done = flows::operate(ports, ports, STAGE, id, &operation, "ops", "checked", until);
    Ended::Operated(done.await)
}

/// The id the API gives to its nth submit.
///
/// # Panics
/// Never: the text is an id.
pub fn external_id(submit: usize) -> ExternalId {
    ExternalId::parse(&format!("ltr_{submit}")).unwrap_or_else(|bad| unreachable!("{bad}"))
}
