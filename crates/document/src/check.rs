//! Whether bytes are a PDF that a send API can use.

use thiserror::Error;

use crate::encryption::{Protection, protection};

/// How far from the end the end mark may be.
const TAIL: usize = 1024;

/// Why a document cannot be sent. The text is for the person who chose it and says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unusable {
    /// There are no bytes.
    #[error("The document is empty. Upload the file again.")]
    Empty,
    /// There are more bytes than the limit.
    #[error(
        "The document is larger than {limit} bytes. Make it smaller, for example with fewer or smaller images."
    )]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// It does not begin as a PDF does.
    #[error("The document is not a PDF. Save or export it as PDF and upload that.")]
    NotPdf,
    /// It does not end as a PDF does.
    #[error("The PDF is not complete: its end is missing. Upload the file again.")]
    CutShort,
    /// It is encrypted, with or without a password for opening it.
    #[error("The PDF is protected. Save a copy without password and restrictions and upload that.")]
    Encrypted,
    /// It is damaged where it would say that it is encrypted.
    #[error(
        "The PDF is damaged, so that nobody can tell whether it is protected. Save or print it as PDF again and upload that."
    )]
    Unreadable,
}

impl Unusable {
    /// A stable word for logs and problem responses.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Empty => "document_empty",
            Self::TooLarge { .. } => "document_too_large",
            Self::NotPdf => "document_not_pdf",
            Self::CutShort => "document_cut_short",
            Self::Encrypted => "document_encrypted",
            Self::Unreadable => "document_unreadable",
        }
    }
}

/// Checks that these bytes are a whole, unprotected PDF of at most `max_bytes`.
///
/// # Errors
/// [`Unusable`], the first reason that applies.
pub fn check_pdf(bytes: &[u8], max_bytes: u64) -> Result<(), Unusable> {
    if bytes.is_empty() {
        return Err(Unusable::Empty);
    }
    if bytes.len() as u64 > max_bytes {
        return Err(Unusable::TooLarge { limit: max_bytes });
    }
    if !bytes.starts_with(b"%PDF-") {
        return Err(Unusable::NotPdf);
    }
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    if !tail.windows(5).any(|window| window == b"%%EOF") {
        return Err(Unusable::CutShort);
    }
    match protection(bytes) {
        Protection::None => Ok(()),
        Protection::Encrypted => Err(Unusable::Encrypted),
        Protection::Unreadable => Err(Unusable::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption::tests::{classic, wrapped};

    const ROOM: u64 = 1_000_000;

    #[test]
    fn a_plain_pdf_passes_at_exactly_the_limit() {
        let pdf = classic("/Root 1 0 R");
        let size = pdf.len() as u64;
        assert_eq!(check_pdf(&pdf, size), Ok(()));
        assert_eq!(
            check_pdf(&pdf, size - 1),
            Err(Unusable::TooLarge { limit: size - 1 })
        );
    }

    #[test]
    fn each_reason_has_its_own_answer() {
        assert_eq!(check_pdf(b"", ROOM), Err(Unusable::Empty));
        assert_eq!(
            check_pdf(b"<html>%PDF-1.7 %%EOF", ROOM),
            Err(Unusable::NotPdf)
        );
        assert_eq!(check_pdf(b"%PDF", ROOM), Err(Unusable::NotPdf));
        assert_eq!(check_pdf(b"\n%PDF-1.7\n%%EOF", ROOM), Err(Unusable::NotPdf));
        assert_eq!(check_pdf(b"%PDF-1.7\n%%EO", ROOM), Err(Unusable::CutShort));
        let locked = classic("/Root 1 0 R /Encrypt 5 0 R");
        assert_eq!(check_pdf(&locked, ROOM), Err(Unusable::Encrypted));
        let damaged = wrapped(b"trailer << /Size 1");
        assert_eq!(check_pdf(&damaged, ROOM), Err(Unusable::Unreadable));
    }

    #[test]
    fn the_end_mark_must_be_in_the_last_1024_bytes() {
        let mut pdf = b"%PDF-1.7\n%%EOF".to_vec();
        pdf.resize(pdf.len() + TAIL - 5, b'\n');
        assert_eq!(check_pdf(&pdf, ROOM), Ok(()));
        pdf.push(b'\n');
        assert_eq!(check_pdf(&pdf, ROOM), Err(Unusable::CutShort));
    }

    #[test]
    fn every_message_says_what_to_do_and_every_code_differs() {
        let all = [
            Unusable::Empty,
            Unusable::TooLarge { limit: 7 },
            Unusable::NotPdf,
            Unusable::CutShort,
            Unusable::Encrypted,
            Unusable::Unreadable,
        ];
        let mut codes: Vec<_> = all.iter().map(|reason| reason.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all.len());
        for reason in all {
            let text = reason.to_string();
            assert!(
                ["upload", "Upload", "Make"]
                    .iter()
                    .any(|word| text.contains(word)),
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_check_panic(bytes: Vec<u8>) {
            let _ = check_pdf(&bytes, ROOM);
        }

        #[test]
        fn no_damage_to_a_pdf_makes_the_check_panic(inner: Vec<u8>, cut: u16, flip: u16, with: u8) {
            let mut pdf = wrapped(&inner);
            let at = usize::from(flip) % pdf.len();
            pdf[at] = with;
            let _ = check_pdf(&pdf, ROOM);
            pdf.truncate(usize::from(cut) % (pdf.len() + 1));
            let _ = check_pdf(&pdf, ROOM);
        }
    }
}
