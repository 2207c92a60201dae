//! Reads a TOML file so that every mistake in it is named at once, each with its line and key.
//!
//! The configuration and the driver files are read with it. Values that are missing or wrong read as `None`
//! (or the default) and leave a [`Mistake`]; the caller builds what it can and then asks [`Reader::finish`].

mod reader;
mod section;
mod value;

pub use reader::{Asked, Mistake, Mistakes, Reader};
pub use section::{SecretRef, Section};
pub use value::parse_duration;
