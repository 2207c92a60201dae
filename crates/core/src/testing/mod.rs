//! For tests: a store in memory, a clock on tokio's time, scripted drivers, and the contract every store must
//! pass. Under a paused runtime (`#[tokio::test(start_paused = true)]`) no test waits for real.

#[expect(
    clippy::missing_panics_doc,
    clippy::wildcard_enum_match_arm,
    reason = "a contract fails by panicking, and names whatever it met"
)]
pub mod contract;
mod crm;
mod drivers;
mod memory;
mod row;
mod world;

pub use crm::{Crm, Cursor, SeenClock};
pub use drivers::{CheckMac, ScriptedDriver, ScriptedDrivers, pacing};
pub use memory::MemoryStore;
pub use row::Row;
pub use world::TestWorld;
