//! What a function is made of, and the mistakes AWS would refuse at deployment.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};

use crate::environment::{ENVIRONMENT_LIMIT, RESERVED};

/// The longest timeout that AWS accepts, in seconds.
const MAX_TIMEOUT_SECONDS: u64 = 900;
/// The longest preflight cache time that AWS accepts, in seconds.
const MAX_CORS_AGE_SECONDS: u32 = 86_400;
/// The most entries one list of a CORS configuration may have.
const MAX_CORS_ITEMS: usize = 100;

/// One function: the binary, what it is given, and its limits.
#[derive(Clone, Debug)]
pub struct FunctionSpec {
    /// The function's name, 1 to 64 characters of `[A-Za-z0-9_-]`.
    pub name: String,
    /// The executable that speaks the Lambda Runtime API.
    pub binary: PathBuf,
    /// The directory that `LAMBDA_TASK_ROOT` names and the process starts in; the binary's own when absent.
    pub task_root: Option<PathBuf>,
    /// The function's own variables, at most 4 KB together, as on AWS. Nothing of the host's environment is passed on.
    pub env: BTreeMap<String, String>,
    /// How long one call may take before the process is killed; 1 ms to 900 s. AWS takes whole seconds only.
    pub timeout: Duration,
    /// How long the process may take from its start to its first request for work; AWS gives 10 s.
    pub init_timeout: Duration,
    /// The memory size told to the function, in MB, 128 to 10240. It is not enforced.
    pub memory_mb: u32,
    /// Reserved concurrency: the most calls at once. `None` is no limit, 0 refuses every call.
    pub max_concurrency: Option<u32>,
    /// The Function URL; `None` is a function that only the host and its schedules can call.
    pub url: Option<UrlConfig>,
}

impl FunctionSpec {
    /// A function with a timeout of 30 s, 10 s to start, 256 MB, no concurrency limit and no URL.
    pub fn new(name: impl Into<String>, binary: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            binary: binary.into(),
            task_root: None,
            env: BTreeMap::new(),
            timeout: Duration::from_secs(30),
            init_timeout: Duration::from_secs(10),
            memory_mb: 256,
            max_concurrency: None,
            url: None,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        let name_ok = (1..=64).contains(&self.name.len())
            && self
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if !name_ok {
            return Err(SpecError::Name(self.name.clone()));
        }
        if !self.binary.is_file() {
            return Err(SpecError::NoBinary {
                function: self.name.clone(),
                path: self.binary.clone(),
            });
        }
        if self.timeout < Duration::from_millis(1)
            || self.timeout > Duration::from_secs(MAX_TIMEOUT_SECONDS)
        {
            return Err(SpecError::Timeout {
                function: self.name.clone(),
                timeout: self.timeout,
            });
        }
        if !(128..=10_240).contains(&self.memory_mb) {
            return Err(SpecError::Memory {
                function: self.name.clone(),
                memory_mb: self.memory_mb,
            });
        }
        self.validate_env()?;
        match self.url.as_ref().and_then(|url| url.cors.as_ref()) {
            Some(cors) => cors.validate().map_err(|detail| SpecError::Cors {
                function: self.name.clone(),
                detail,
            }),
            None => Ok(()),
        }
    }

    fn validate_env(&self) -> Result<(), SpecError> {
        let mut size = 0;
        for (key, value) in &self.env {
            if RESERVED.contains(&key.as_str()) {
                return Err(SpecError::ReservedVariable {
                    function: self.name.clone(),
                    key: key.clone(),
                });
            }
            let mut bytes = key.bytes();
            let key_ok = bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
                && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !key_ok || value.contains('\0') {
                return Err(SpecError::BadVariable {
                    function: self.name.clone(),
                    key: key.clone(),
                });
            }
            size += key.len() + value.len();
        }
        if size > ENVIRONMENT_LIMIT {
            return Err(SpecError::EnvironmentTooLarge {
                function: self.name.clone(),
                bytes: size,
            });
        }
        Ok(())
    }
}

/// A Function URL with auth type NONE.
#[derive(Clone, Debug, Default)]
pub struct UrlConfig {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// The cross-origin rules that the front answers by itself; `None` adds no header and passes `OPTIONS` on.
    pub cors: Option<CorsConfig>,
}

/// The cross-origin configuration of a Function URL.
#[derive(Clone, Debug, Default)]
pub struct CorsConfig {
    /// Origins that are let in, each compared whole; `*` is any.
    pub allow_origins: Vec<String>,
    /// Methods named in the preflight answer; `*` is any. `OPTIONS` is refused, as AWS does.
    pub allow_methods: Vec<String>,
    /// Request headers named in the preflight answer; `*` is any.
    pub allow_headers: Vec<String>,
    /// Response headers a page may read.
    pub expose_headers: Vec<String>,
    /// Whether cookies and authorization are let through.
    pub allow_credentials: bool,
    /// How long a browser may keep the preflight answer, in seconds, 0 to 86400.
    pub max_age_seconds: u32,
}

impl CorsConfig {
    fn validate(&self) -> Result<(), String> {
        const METHODS: [&str; 7] = ["*", "GET", "PUT", "HEAD", "POST", "PATCH", "DELETE"];
        for (what, list) in [
            ("allow_origins", &self.allow_origins),
            ("allow_methods", &self.allow_methods),
            ("allow_headers", &self.allow_headers),
            ("expose_headers", &self.expose_headers),
        ] {
            if list.len() > MAX_CORS_ITEMS {
                return Err(format!("{what} has more than {MAX_CORS_ITEMS} entries"));
            }
        }
        if let Some(bad) = self
            .allow_methods
            .iter()
            .find(|m| !METHODS.contains(&m.as_str()))
        {
            return Err(format!("`{bad}` is not an allowed method value"));
        }
        let names = self.allow_headers.iter().chain(&self.expose_headers);
        for name in names {
            // A `*` inside a name is a legal header character but no browser reads it as a pattern.
            if name != "*" && (name.contains('*') || HeaderName::try_from(name.as_str()).is_err()) {
                return Err(format!("`{name}` is not a header name"));
            }
        }
        for origin in &self.allow_origins {
            let whole = origin == "*" || (origin.contains("://") && !origin.ends_with('/'));
            if !whole || origin.len() > 253 || HeaderValue::try_from(origin.as_str()).is_err() {
                return Err(format!("`{origin}` is not an origin"));
            }
        }
        if self.max_age_seconds > MAX_CORS_AGE_SECONDS {
            return Err(format!(
                "max age {} is above {MAX_CORS_AGE_SECONDS}",
                self.max_age_seconds
            ));
        }
        Ok(())
    }
}

/// A function that cannot be deployed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The name is empty, too long or has other characters.
    #[error("`{0}` is not a function name")]
    Name(String),
    /// Two functions have one name.
    #[error("there are two functions named `{0}`")]
    Twice(String),
    /// The binary is not there.
    #[error("function `{function}`: no binary at {}", path.display())]
    NoBinary {
        /// The function's name.
        function: String,
        /// Where the binary should be.
        path: PathBuf,
    },
    /// The timeout is outside 1 ms to 900 s.
    #[error("function `{function}`: timeout {timeout:?} is outside 1 ms to 900 s")]
    Timeout {
        /// The function's name.
        function: String,
        /// The timeout asked for.
        timeout: Duration,
    },
    /// The memory size is outside 128 to 10240 MB.
    #[error("function `{function}`: {memory_mb} MB is outside 128 to 10240")]
    Memory {
        /// The function's name.
        function: String,
        /// The size asked for, in MB.
        memory_mb: u32,
    },
    /// A variable that Lambda sets itself.
    #[error("function `{function}`: the variable `{key}` is reserved")]
    ReservedVariable {
        /// The function's name.
        function: String,
        /// The variable's name.
        key: String,
    },
    /// A variable with a name or value that cannot be set.
    #[error("function `{function}`: the variable `{key}` cannot be set")]
    BadVariable {
        /// The function's name.
        function: String,
        /// The variable's name.
        key: String,
    },
    /// More than 4 KB of variables.
    #[error("function `{function}`: {bytes} bytes of variables are above {ENVIRONMENT_LIMIT}")]
    EnvironmentTooLarge {
        /// The function's name.
        function: String,
        /// The size of all names and values, in bytes.
        bytes: usize,
    },
    /// A cross-origin rule that AWS refuses.
    #[error("function `{function}`: {detail}")]
    Cors {
        /// The function's name.
        function: String,
        /// What is wrong.
        detail: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FunctionSpec {
        FunctionSpec::new("intake", "/proc/self/exe")
    }

    fn with_cors(cors: CorsConfig) -> FunctionSpec {
        FunctionSpec {
            url: Some(UrlConfig {
                port: 0,
                cors: Some(cors),
            }),
            ..spec()
        }
    }

    #[test]
    fn a_plain_function_is_accepted() {
        assert_eq!(spec().validate(), Ok(()));
    }

    #[test]
    fn names_that_aws_refuses_are_refused() {
        for name in ["", "a b", "ä", &"a".repeat(65)] {
            let spec = FunctionSpec {
                name: name.to_owned(),
                ..spec()
            };
            assert_eq!(spec.validate(), Err(SpecError::Name(name.to_owned())));
        }
    }

    #[test]
    fn a_missing_binary_is_named() {
        let spec = FunctionSpec::new("poller", "/nonexistent/poller");
        assert!(matches!(spec.validate(), Err(SpecError::NoBinary { .. })));
    }

    #[test]
    fn timeouts_and_memory_outside_the_limits_are_refused() {
        for timeout in [Duration::ZERO, Duration::from_secs(901)] {
            assert!(matches!(
                FunctionSpec { timeout, ..spec() }.validate(),
                Err(SpecError::Timeout { .. })
            ));
        }
        assert_eq!(
            FunctionSpec {
                timeout: Duration::from_mins(15),
                ..spec()
            }
            .validate(),
            Ok(())
        );
        for memory_mb in [127, 10_241] {
            assert!(matches!(
                FunctionSpec {
                    memory_mb,
                    ..spec()
                }
                .validate(),
                Err(SpecError::Memory { .. })
            ));
        }
    }

    #[test]
    fn variables_that_lambda_sets_cannot_be_overridden() {
        let mut spec = spec();
        spec.env.insert("AWS_REGION".into(), "x".into());
        assert!(matches!(
            spec.validate(),
            Err(SpecError::ReservedVariable { .. })
        ));
    }

    #[test]
    fn four_kilobytes_of_variables_is_the_limit() {
        let mut spec = spec();
        spec.env
            .insert("K".into(), "v".repeat(ENVIRONMENT_LIMIT - 1));
        assert_eq!(spec.validate(), Ok(()));
        spec.env.insert("K".into(), "v".repeat(ENVIRONMENT_LIMIT));
        assert!(matches!(
            spec.validate(),
            Err(SpecError::EnvironmentTooLarge { .. })
        ));
    }

    #[test]
    fn cross_origin_mistakes_that_aws_refuses_are_refused() {
        let bad = [
            CorsConfig {
                allow_methods: vec!["OPTIONS".into()],
                ..CorsConfig::default()
            },
            CorsConfig {
                allow_headers: vec!["webhook-*".into()],
                ..CorsConfig::default()
            },
            CorsConfig {
                expose_headers: vec!["a b".into()],
                ..CorsConfig::default()
            },
            CorsConfig {
                allow_origins: vec!["https://a.example/".into()],
                ..CorsConfig::default()
            },
            CorsConfig {
                allow_origins: vec!["a.example".into()],
                ..CorsConfig::default()
            },
            CorsConfig {
                max_age_seconds: 86_401,
                ..CorsConfig::default()
            },
        ];
        for cors in bad {
            assert!(
                matches!(
                    with_cors(cors.clone()).validate(),
                    Err(SpecError::Cors { .. })
                ),
                "{cors:?}"
            );
        }
        let good = CorsConfig {
            allow_origins: vec!["https://a.example".into(), "*".into()],
            allow_methods: vec!["PUT".into(), "*".into()],
            allow_headers: vec!["webhook-id".into(), "*".into()],
            ..CorsConfig::default()
        };
        assert_eq!(with_cors(good).validate(), Ok(()));
    }
}
