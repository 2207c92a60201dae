#![doc = include_str!("../README.md")]

mod mac;
mod ring;
mod seal;
mod secret;
mod token;
mod webhook;

pub use ring::{KeyRing, KeyRingError, ensure_distinct};
pub use seal::SealKey;
pub use secret::{MIN_SECRET_CHARS, Secret, SecretError};
pub use token::{Claims, Expected, MAX_TOKEN_BYTES, Purpose, TokenError, TokenKey};
pub use webhook::{
    MAX_ID_BYTES, MAX_SIGNATURE_BYTES, SignatureError, SignedHeaders, TOLERANCE_SECONDS, Verified,
    is_webhook_id, sign, verify,
};
