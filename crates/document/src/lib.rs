#![doc = include_str!("../README.md")]

mod check;
mod encryption;
mod fetch;
mod lexer;

pub use check::{Unusable, check_pdf};
pub use fetch::{DocumentError, Pdf, fetch};
