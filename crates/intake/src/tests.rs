//! The function driven through events, over a CRM in memory.

mod confirm;
mod crm;
mod lines;
mod logs;
mod preview;
mod requests;
mod rotation;
mod save;
mod start;
mod support;
