//! The function over a CRM in memory and a scripted driver.

mod runs;
mod support;
mod troubles;
