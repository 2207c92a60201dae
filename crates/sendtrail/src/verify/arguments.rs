//! The options of `verify`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use crate::cli::Function;
use crate::help;

/// Options of `sendtrail verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The file with the body, byte for byte; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(super) body: Option<PathBuf>,
    /// The file with the request's headers: lines, JSON, or the captured event of a Function URL; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(super) headers: Option<PathBuf>,
    /// The webhook-id as it arrived, in place of that of --headers.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) id: Option<String>,
    /// The webhook-timestamp as it arrived, in place of that of --headers.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) timestamp: Option<String>,
    /// The webhook-signature as it arrived, in place of that of --headers.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) signature: Option<String>,
    /// The file with the log line of a refusal; - for standard input. The last one of a local stack:
    /// grep '"request refused"' DATA/logs/intake.log | tail -1
    #[arg(long, value_name = "FILE")]
    pub(super) refusal: Option<PathBuf>,
    /// A variable that holds a secret, as text or in whsec_ form; may be given several times.
    #[arg(long = "secret-env", value_name = "VAR")]
    pub(super) secret_env: Vec<String>,
    /// A file that holds a secret; may be given several times.
    #[arg(long = "secret-file", value_name = "FILE")]
    pub(super) secret_file: Vec<PathBuf>,
    /// The function that was called: takes all its signing keys in the configuration, and tries those of the other.
    #[arg(long, value_enum)]
    pub(super) function: Option<Function>,
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, requires = "function")]
    pub(super) config: Option<PathBuf>,
    /// When the request arrived: Unix seconds or a date such as 2026-01-01T00:00:00Z [default: as captured, or now].
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    pub(super) at: Option<i64>,
}

impl VerifyArguments {
    /// Whether a request is given, and not only the log line of one.
    pub(super) fn has_request(&self) -> bool {
        self.headers.is_some() || self.signature.is_some()
    }
}

/// Unix seconds of a number or a date.
fn instant(text: &str) -> Result<i64, &'static str> {
    let date = || text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    let seconds = text.parse().ok().or_else(date);
    seconds
        .filter(|seconds: &i64| (0..100_000_000_000).contains(seconds))
        .ok_or("expected Unix seconds or a date such as 2026-01-01T00:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_seconds_or_a_date() {
        assert_eq!(instant("1700000000"), Ok(1_700_000_000));
        assert_eq!(instant("2023-11-14T22:13:20Z"), Ok(1_700_000_000));
        assert_eq!(instant("2023-11-15T07:13:20+09:00"), Ok(1_700_000_000));
        for bad in ["", "now", "-1", "1700000000000", "2023-11-14"] {
            assert!(instant(bad).is_err(), "{bad}");
        }
    }
}
