//! What a call to AWS that failed means, and what to do about it.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::Aws;
use crate::failure::{Failure, Kind};
use crate::output::plain;

/// What was called, on what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The permission it takes.
    pub(crate) action: &'static str,
    /// What it was about, with its name.
    pub(crate) resource: &'a str,
}

/// The service's own code for what went wrong, where it answered.
pub(crate) fn code<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Option<&str> {
    error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
}

/// Says what went wrong and what to do.
pub(crate) fn failure<E: ProvideErrorMetadata>(
    error: &SdkError<E, HttpResponse>,
    call: Call<'_>,
    aws: &Aws,
) -> Failure {
    let Call { action, resource } = call;
    let region = &aws.region;
    let Some(service) = error.as_service_error() else {
        let what = format!(
            "{resource}: AWS did not answer in {region} ({action}): check the network and --region, and try again"
        );
        return Failure::new(Kind::Failed, what);
    };
    let code = service.code().unwrap_or("no code");
    let (kind, what) = match code {
        "ResourceNotFoundException" | "ResourceNotFound" => (
            Kind::NotFound,
            format!(
                "there is no {resource} in {region}: check --stage, --region and --profile, and that it is deployed"
            ),
        ),
        _ if code.contains("AccessDenied") || code == "UnauthorizedOperation" => (
            Kind::Refused,
            format!("you may not {action} on {resource}: your role needs that permission"),
        ),
        "ExpiredToken"
        | "ExpiredTokenException"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException" => (
            Kind::Failed,
            format!(
                "AWS refuses the credentials ({code}): sign in again (aws sso login), or check --profile"
            ),
        ),
        _ if code.contains("Throttl") || code.contains("TooManyRequests") => (
            Kind::Failed,
            format!("{resource}: AWS throttles {action}: try again in a minute"),
        ),
        _ => {
            let message = service.message().unwrap_or_default();
            let what = format!("{resource}: {action} failed: {code} {message}");
            (Kind::Failed, plain(what.trim_end()))
        }
    };
    Failure::new(kind, what)
}
