#![doc = include_str!("../README.md")]

mod code;
mod event;
mod json;
mod keys;
mod refusal;
mod request;
mod response;
mod signed;
mod token;

pub use code::Code;
pub use json::pointer_token;
pub use keys::{KeysError, key_ring};
pub use refusal::{DEFAULT_RETRY_SECONDS, FieldError, Refusal};
pub use request::Request;
pub use response::{MAX_PDF_BYTES, MAX_RESPONSE_BYTES, Response};
pub use sendtrail_signature::{
    Claims, Expected, KeyRing, KeyRingError, Purpose, SealKey, Secret, SecretError, TokenKey,
    ensure_distinct,
};
pub use signed::{DEFAULT_MAX_JSON_BYTES, Expect, HistoryIdIn, Verified, verify_signed};
pub use token::{verify_bearer, verify_receipt};

#[cfg(test)]
mod tests;
