//! A local stack: the simulated CRM and send API, and the three real function binaries behind the host.

mod command;
mod config;
mod drivers;
mod endpoints;
mod measure;
mod pdf;
mod secrets;
mod stack;
mod starts;

pub(crate) use command::{LocalArguments, functions_folder, run};
pub(crate) use config::Timing;
pub(crate) use drivers::{DRAFT, LETTER, LETTER_BLIND, LETTER_HASTY};
pub(crate) use endpoints::{Endpoints, SigningKey};
pub(crate) use measure::{MeasureArguments, measure};
pub(crate) use pdf::sample_pdf;
pub(crate) use stack::{LocalError, LocalStack, POLLER_UNRESERVED, StackOptions, tick_input};
