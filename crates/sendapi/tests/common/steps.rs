//! A driver with a token, a pre-signed upload, a draft and a commit, and answers for it.

use sendtrail_core::ports::{NotSent, Submit as _};
use sendtrail_sendapi::{Drivers, Prepared};

use super::{Act, json, letters, order};

/// A file with a token, a pre-signed upload, a draft and a commit; `api` is the port of all but the upload.
pub(crate) fn steps_text(api: u16) -> String {
    include_str!("steps.toml").replace("PORT", &api.to_string())
}

pub(crate) fn ok(body: &str) -> Act {
    Act::Answer(json("200 OK", "x-tag: t1\r\n", body))
}

pub(crate) fn token(text: &str, lifetime: u32) -> Act {
    ok(&format!(
        r#"{{"access_token":"{text}","token_type":"bearer","expires_in":{lifetime}}}"#
    ))
}

pub(crate) async fn prepare(drivers: &Drivers) -> Result<Prepared, NotSent> {
    letters(drivers).prepare(&order()).await
}
