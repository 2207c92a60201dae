//! The function driven through events, over a CRM in memory.

mod confirm;
mod crm;
mod logs;
mod preview;
mod requests;
mod save;
mod start;
mod support;
