//! The stable codes of problem responses.

/// Why a request is refused, as callers see it. Codes are never renamed; the README lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// No valid signature or token. One answer for every reason.
    Unauthorized,
    /// Not a proper HTTP request: path, encoding or event.
    MalformedRequest,
    /// No such path or record.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The body is understood and wrong; `errors` names the fields.
    InvalidRequest,
    /// The body, or the document, is larger than allowed.
    TooLarge,
    /// The body has another content type than this path takes.
    UnsupportedMediaType,
    /// The history record is not in a state that can be sent or changed.
    NotSendable,
    /// Somebody else changed the history record at the same moment.
    ChangedElsewhere,
    /// Document, input or seal on the history record are not what was confirmed.
    RecordChanged,
    /// The same document was sent from the same source record before.
    AlreadySent,
    /// The same `webhook-id` came before with another body.
    IdReused,
    /// The ticket is for an older revision of the history record, or for other input than stands there.
    StaleTicket,
    /// The bytes are not the ones that were previewed.
    DocumentChanged,
    /// The document cannot be sent: no PDF, empty, encrypted.
    DocumentUnusable,
    /// The CRM refused to hand over the source file.
    SourceUnavailable,
    /// The CRM allows no more requests for now.
    RateLimited,
    /// The CRM cannot be reached or is in error.
    CrmUnavailable,
    /// Too little time was left to do it in this invocation: nothing was done.
    NoTime,
    /// The installation is being drained: it takes no requests, and finishes what is under way.
    Draining,
    /// Anything else. The cause is in the log under the request id.
    Internal,
}

impl Code {
    /// Every code, in the order of the README's table.
    pub const ALL: [Self; 21] = [
        Self::Unauthorized,
        Self::MalformedRequest,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::InvalidRequest,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::NotSendable,
        Self::ChangedElsewhere,
        Self::RecordChanged,
        Self::AlreadySent,
        Self::IdReused,
        Self::StaleTicket,
        Self::DocumentChanged,
        Self::DocumentUnusable,
        Self::SourceUnavailable,
        Self::RateLimited,
        Self::CrmUnavailable,
        Self::NoTime,
        Self::Draining,
        Self::Internal,
    ];

    /// The stable text: the `code` member, and the end of `type`.
    pub fn as_str(self) -> &'static str {
        self.parts().0
    }

    /// The HTTP status, 400 to 503.
    pub fn status(self) -> u16 {
        self.parts().1
    }

    /// One short sentence for people, the same for every occurrence.
    pub fn title(self) -> &'static str {
        self.parts().2
    }

    /// Whether it is worth trying again later; such answers carry `retry-after`.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::CrmUnavailable | Self::NoTime | Self::Draining
        )
    }

    fn parts(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::Unauthorized => ("unauthorized", 401, "The request is not authorised"),
            Self::MalformedRequest => ("malformed_request", 400, "The request is malformed"),
            Self::NotFound => ("not_found", 404, "There is no such thing"),
            Self::MethodNotAllowed => (
                "method_not_allowed",
                405,
                "The path does not take this method",
            ),
            Self::InvalidRequest => ("invalid_request", 422, "The body is invalid"),
            Self::TooLarge => ("too_large", 413, "The body or document is too large"),
            Self::UnsupportedMediaType => (
                "unsupported_media_type",
                415,
                "The path does not take this content type",
            ),
            Self::NotSendable => (
                "not_sendable",
                409,
                "The history record is not in a state that allows this",
            ),
            Self::ChangedElsewhere => (
                "changed_elsewhere",
                409,
                "The history record was changed at the same moment",
            ),
            Self::RecordChanged => (
                "record_changed",
                409,
                "The history record is not what was confirmed",
            ),
            Self::AlreadySent => (
                "already_sent",
                409,
                "This document was sent from this record before",
            ),
            Self::IdReused => (
                "id_reused",
                409,
                "This webhook-id was used before with another body",
            ),
            Self::StaleTicket => (
                "stale_ticket",
                409,
                "The history record has changed since the ticket was made",
            ),
            Self::DocumentChanged => (
                "document_changed",
                409,
                "The document is not the one that was previewed",
            ),
            Self::DocumentUnusable => (
                "document_unusable",
                422,
                "The document cannot be sent as it is",
            ),
            Self::SourceUnavailable => (
                "source_unavailable",
                502,
                "The CRM did not hand over the source file",
            ),
            Self::RateLimited => (
                "rate_limited",
                503,
                "The CRM allows no more requests for now",
            ),
            Self::CrmUnavailable => ("crm_unavailable", 503, "The CRM cannot be reached"),
            Self::NoTime => ("no_time", 503, "Too little time was left"),
            Self::Draining => ("draining", 503, "No requests are taken for now"),
            Self::Internal => ("internal", 500, "Something went wrong"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_code_with_its_status_and_nothing_else() {
        let readme = include_str!("../README.md");
        let start = readme.find("## Codes").unwrap();
        let rows: Vec<String> = readme[start..]
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').take(3).collect::<Vec<_>>().join("|"))
            .collect();
        let expected: Vec<String> = Code::ALL
            .iter()
            .map(|code| format!("| `{}` | {} ", code.as_str(), code.status()))
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn codes_are_unique_and_all_are_errors() {
        for (index, code) in Code::ALL.iter().enumerate() {
            assert!((400..600).contains(&code.status()));
            assert!(
                Code::ALL
                    .iter()
                    .take(index)
                    .all(|other| other.as_str() != code.as_str())
            );
        }
    }
}
