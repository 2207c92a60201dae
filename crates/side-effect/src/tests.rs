//! The function over a CRM in memory and a scripted driver.

mod alarms;
mod outcomes;
mod refusals;
mod requests;
mod support;
