//! What the three functions and the operator's command do, over ports.

mod confirm;
mod limited;
mod look_up;
mod operate;
mod poll;
mod record_outcome;
mod report;
mod save;
mod submit;
mod sweep;
mod twins;
mod verify;
mod wake;

pub use confirm::{Confirmed, DocumentToConfirm, Previewable, confirm, previewable};
pub use look_up::after_look_up;
pub use operate::{Operated, Operation, operate};
pub use poll::run;
pub use record_outcome::{Outcome, Recorded, record_outcome};
pub use report::PollReport;
pub use save::{SaveOrder, Saved, SavedRecord, save, save_again};
pub use submit::{Press, Refused, Sent, SubmitPorts, send};
pub use sweep::{SweepDue, after_find, sweep_due};
pub use verify::may_claim;
pub(crate) use verify::shows_an_earlier_submit;
pub use wake::{Wake, Woken, wake};
