//! What a call that failed leaves to be done.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use thiserror::Error;

/// Why a call failed. It never holds a value, and of the service's words only the code.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AwsError {
    /// The role may not do this.
    #[error("the role may not {action} on {resource}")]
    Denied {
        /// The permission that is missing, such as `ssm:GetParameters`.
        action: &'static str,
        /// What it would be needed for, as the policy names it.
        resource: String,
    },
    /// Too many calls, here or in the whole account. Later it will do.
    #[error("{action} is throttled")]
    Throttled {
        /// What was called.
        action: &'static str,
    },
    /// No answer, or none that helps. Whether a write was done is not known.
    #[error("{action} failed: {detail}")]
    Unavailable {
        /// What was called.
        action: &'static str,
        /// The service's code, or how the connection failed.
        detail: String,
    },
}

impl AwsError {
    /// Classifies by the service's code.
    pub fn of<E: ProvideErrorMetadata>(
        error: &SdkError<E, HttpResponse>,
        action: &'static str,
        resource: &str,
    ) -> Self {
        let detail = match error {
            SdkError::ServiceError(service) => {
                let code = service.err().code().unwrap_or_default();
                if code.contains("AccessDenied") || code == "UnauthorizedOperation" {
                    return Self::Denied {
                        action,
                        resource: resource.to_owned(),
                    };
                }
                if code.contains("Throttl")
                    || code.contains("TooManyUpdates")
                    || code.contains("TooManyRequests")
                {
                    return Self::Throttled { action };
                }
                word(code)
            }
            SdkError::TimeoutError(_) => "no answer in time".to_owned(),
            SdkError::DispatchFailure(failure) if failure.is_timeout() => {
                "no connection in time".to_owned()
            }
            SdkError::DispatchFailure(failure) if failure.is_io() => {
                "the connection failed".to_owned()
            }
            SdkError::ResponseError(_) => "an answer that cannot be read".to_owned(),
            SdkError::ConstructionFailure(_) => "the request could not be built".to_owned(),
            // The enum may grow.
            SdkError::DispatchFailure(_) | _ => "it could not be sent".to_owned(),
        };
        Self::Unavailable { action, detail }
    }
}

/// A code as the services write them; anything else is no code, and not repeated.
fn word(code: &str) -> String {
    let of_form = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let is_code = (1..=64).contains(&code.len()) && code.bytes().all(of_form);
    let known = if is_code { code } else { "an unknown code" };
    known.to_owned()
}
