//! The function over a CRM in memory and a scripted driver.

mod alarms;
mod lines;
mod outcomes;
mod refusals;
mod requests;
mod support;
#[cfg(feature = "wake")]
mod wake_ups;
mod wakes;
