//! The PDF that a CRM user attached.

use sendtrail_document::{Unusable, check_pdf};

const LIMIT: u64 = 1024 * 1024;

/// Any bytes as a PDF, and as what is in the middle of one.
pub fn pdf(data: &[u8]) {
    match check_pdf(data, LIMIT) {
        Ok(()) => {
            assert!(data.starts_with(b"%PDF-"));
            let tail = &data[data.len().saturating_sub(1024)..];
            assert!(tail.windows(5).any(|part| part == b"%%EOF"));
        }
        Err(Unusable::Empty) => assert!(data.is_empty()),
        Err(Unusable::TooLarge { limit }) => assert!(data.len() as u64 > limit),
        Err(Unusable::NotPdf) => assert!(!data.starts_with(b"%PDF-")),
        Err(Unusable::CutShort | Unusable::Encrypted | Unusable::Unreadable) => {}
    }
    // What stands in a stream or in a string decides nothing, wherever the offsets lead.
    for startxref in [None, Some(0), Some(999_999)] {
        let whole = |entry| in_stream(data, entry, startxref);
        assert_eq!(check_pdf(&whole(""), LIMIT), Ok(()));
        assert_eq!(
            check_pdf(&whole("/Encrypt 5 0 R"), LIMIT),
            Err(Unusable::Encrypted)
        );
        // Without a `>` it ends no dictionary, so that it cannot hide what follows it in the trailer.
        if !data.contains(&b'>') {
            let hidden = [b"/X [", data, b"\n] /Encrypt 5 0 R"].concat();
            assert_ne!(check_pdf(&in_trailer(&hidden, startxref), LIMIT), Ok(()));
        }
    }
    // However deep it nests.
    let depth = data.len() % 100 + 1;
    let nested = format!("/X {}{}", "<</A[".repeat(depth), "]>>".repeat(depth));
    assert_eq!(
        check_pdf(&in_trailer(nested.as_bytes(), None), LIMIT),
        Ok(())
    );
    let locked = format!("{nested} /Encrypt 5 0 R");
    assert_eq!(
        check_pdf(&in_trailer(locked.as_bytes(), None), LIMIT),
        Err(Unusable::Encrypted)
    );
}

/// A small file with these bytes in a stream and, as hex, in a string. Without `startxref` its offset is right.
fn in_stream(data: &[u8], entry: &str, startxref: Option<usize>) -> Vec<u8> {
    let hex = crate::hex(&data[..data.len().min(64)]);
    let length = data.len();
    let head = format!("%PDF-1.7\n1 0 obj\n<< /Length {length} /X <{hex}> >>\nstream\n");
    let body = [head.as_bytes(), data, b"\nendstream\nendobj\n"].concat();
    file(body, entry.as_bytes(), startxref)
}

/// A small file with these bytes in its trailer.
fn in_trailer(entries: &[u8], startxref: Option<usize>) -> Vec<u8> {
    file(b"%PDF-1.7\n".to_vec(), entries, startxref)
}

fn file(mut body: Vec<u8>, entries: &[u8], startxref: Option<usize>) -> Vec<u8> {
    let at = startxref.unwrap_or(body.len());
    body.extend_from_slice(b"xref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 ");
    body.extend_from_slice(entries);
    body.extend_from_slice(format!(" >>\nstartxref\n{at}\n%%EOF\n").as_bytes());
    body
}
