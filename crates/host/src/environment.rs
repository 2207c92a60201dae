//! The environment of a function's process: what Lambda gives and what the function was configured with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::spec::FunctionSpec;

/// The most bytes that the names and values of a function's own variables may have together.
pub(crate) const ENVIRONMENT_LIMIT: usize = 4096;

/// The region the host claims to be.
pub(crate) const REGION: &str = "us-east-1";

/// The account the host claims to be.
pub(crate) const ACCOUNT: &str = "000000000000";

/// Variables that Lambda sets and a function's configuration cannot.
pub(crate) const RESERVED: [&str; 19] = [
    "_HANDLER",
    "_X_AMZN_TRACE_ID",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_LAMBDA_MAX_CONCURRENCY",
    "AWS_LAMBDA_RUNTIME_API",
    "LAMBDA_TASK_ROOT",
    "LAMBDA_RUNTIME_DIR",
];

/// The function's ARN.
pub(crate) fn arn(function: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}")
}

/// The directory that `LAMBDA_TASK_ROOT` names.
pub(crate) fn task_root(spec: &FunctionSpec) -> PathBuf {
    let beside = || {
        spec.binary
            .parent()
            .unwrap_or_else(|| Path::new("/"))
            .to_path_buf()
    };
    spec.task_root.clone().unwrap_or_else(beside)
}

/// Every variable of one instance's process. There are no AWS credentials: a function that needs some would
/// have to be given a local stand-in by its own configuration.
pub(crate) fn build(
    spec: &FunctionSpec,
    log_stream: &str,
    runtime_api: SocketAddr,
) -> BTreeMap<String, String> {
    let name = spec.name.as_str();
    let given = [
        ("_HANDLER", "bootstrap".to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_LAMBDA_FUNCTION_NAME", name.to_owned()),
        (
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
            spec.memory_mb.to_string(),
        ),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}")),
        ("AWS_LAMBDA_LOG_STREAM_NAME", log_stream.to_owned()),
        ("AWS_LAMBDA_RUNTIME_API", runtime_api.to_string()),
        (
            "LAMBDA_TASK_ROOT",
            task_root(spec).to_string_lossy().into_owned(),
        ),
        ("LAMBDA_RUNTIME_DIR", "/var/runtime".to_owned()),
        ("LANG", "en_US.UTF-8".to_owned()),
        ("PATH", "/usr/local/bin:/usr/bin/:/bin:/opt/bin".to_owned()),
        ("TZ", ":UTC".to_owned()),
    ];
    let mut all: BTreeMap<String, String> =
        given.map(|(key, value)| (key.to_owned(), value)).into();
    // `PATH`, `LANG` and `TZ` may be overridden, as on AWS; the reserved ones were refused before.
    all.extend(spec.env.clone());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_hosts_environment_is_passed_on() {
        let spec = FunctionSpec::new("intake", "/opt/functions/intake");
        let env = build(&spec, "stream", SocketAddr::from(([127, 0, 0, 1], 9001)));
        assert!(!env.contains_key("HOME"));
        assert!(!env.contains_key("CARGO_MANIFEST_DIR"));
        assert!(!env.keys().any(|key| key.contains("ACCESS_KEY")));
        assert_eq!(env["AWS_LAMBDA_RUNTIME_API"], "127.0.0.1:9001");
        assert_eq!(env["LAMBDA_TASK_ROOT"], "/opt/functions");
    }

    #[test]
    fn the_functions_own_variables_are_added() {
        let mut spec = FunctionSpec::new("intake", "/opt/functions/intake");
        spec.env
            .insert("SENDTRAIL_CONFIG".into(), "/etc/x.toml".into());
        spec.env.insert("TZ".into(), "Asia/Tokyo".into());
        let env = build(&spec, "stream", SocketAddr::from(([127, 0, 0, 1], 9001)));
        assert_eq!(env["SENDTRAIL_CONFIG"], "/etc/x.toml");
        assert_eq!(env["TZ"], "Asia/Tokyo");
    }
}
