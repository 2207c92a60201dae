#![doc = include_str!("../README.md")]

mod environment;
mod function;
mod function_url;
mod host;
mod instance;
mod invoke;
mod log;
mod runtime_api;
mod schedule;
mod spec;
mod stats;

pub use host::{Host, HostError};
pub use invoke::InvokeError;
pub use log::{LogLine, LogSink, LogStream};
pub use schedule::{Firing, Schedule, ScheduleCounts, ScheduleHandle};
pub use spec::{CorsConfig, FunctionSpec, SpecError, UrlConfig};
pub use stats::{FunctionCounts, InstanceStats};
