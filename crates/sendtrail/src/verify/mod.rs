//! `sendtrail verify`: why does a signature not verify, and what is to be changed at the signer?
//!
//! The verdict is the library's, as the doors give it. Everything after it only explains: no key, no body and no
//! signature is ever printed, and nothing found here opens a door.

mod arguments;
mod arrival;
mod body;
mod capture;
mod change;
mod diagnose;
mod input;
mod keys;
mod mac;
mod message;
#[cfg(test)]
mod properties;
mod reasons;
mod refusal;
mod report;
mod search;
mod tag;

use std::process::ExitCode;

use jiff::Timestamp;

pub(crate) use arguments::VerifyArguments;

use crate::failure::Failure;
use crate::output::Screen;
use crate::setup::Process;

/// What is to be printed, and whether the request verifies as it is.
pub(crate) struct Verdict {
    pub(crate) text: String,
    pub(crate) is_verified: bool,
}

impl Verdict {
    /// 0 where the request verifies as it is, 1 where it does not.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::from(!self.is_verified))
    }
}

/// Runs `verify`.
pub(crate) async fn run(
    args: &VerifyArguments,
    screen: Screen,
    process: &Process,
    now: Timestamp,
) -> Result<Verdict, Failure> {
    let input = input::read(args, process, now.as_second()).await?;
    let signed = input.request.as_ref();
    let diagnosis = match signed {
        Some(signed) => Some(diagnose::diagnose(
            &signed.request,
            &signed.keys,
            signed.arrival,
        )?),
        None => None,
    };
    let arrived = input
        .refusal
        .as_ref()
        .and_then(|refusal| refusal.body.as_ref());
    let comparison = arrived
        .zip(input.body.as_deref())
        .map(|(arrived, file)| arrival::compare(file, arrived));
    let report = report::Report {
        signed: signed.zip(diagnosis.as_ref()),
        refusal: input.refusal.as_ref(),
        comparison: comparison.as_ref(),
        body: input.body.as_deref(),
    };
    Ok(Verdict {
        is_verified: report.is_verified(),
        text: report.render(screen),
    })
}
