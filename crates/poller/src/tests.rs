//! The function over a CRM in memory and a scripted driver.

mod lines;
mod runs;
mod support;
mod troubles;
