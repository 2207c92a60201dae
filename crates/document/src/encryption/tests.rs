use super::*;
use std::time::{Duration, Instant};

const BODY: &str = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n";

fn is_encrypted(pdf: &[u8]) -> bool {
    protection(pdf) == Protection::Encrypted
}

fn is_plain(pdf: &[u8]) -> bool {
    protection(pdf) == Protection::None
}

/// A small file with a table, and these entries in its trailer.
pub(crate) fn classic(entries: &str) -> Vec<u8> {
    with_section(
        BODY,
        &format!("xref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 {entries} >>\n"),
    )
}

fn with_section(body: &str, section: &str) -> Vec<u8> {
    let at = body.len();
    format!("{body}{section}startxref\n{at}\n%%EOF\n").into_bytes()
}

/// A small file whose cross-references are a stream with these entries.
fn modern(entries: &str) -> Vec<u8> {
    with_section(
        BODY,
        &format!("7 0 obj\n<</Type/XRef/Length 3 {entries}>>\nstream\nabc\nendstream\nendobj\n"),
    )
}

/// A file whose offsets lead nowhere, with anything in the middle.
pub(crate) fn wrapped(inner: &[u8]) -> Vec<u8> {
    let mut pdf = BODY.as_bytes().to_vec();
    pdf.extend_from_slice(inner);
    pdf.extend_from_slice(b"\ntrailer\n<< /Size 1 >>\nstartxref\n999999\n%%EOF\n");
    pdf
}

#[test]
fn an_encrypted_file_is_seen_in_either_form() {
    for entries in [
        "/Encrypt 5 0 R",
        "/Root 1 0 R/Encrypt 5 0 R/ID[<00><01>]",
        "/Encrypt<</Filter/Standard/V 1>>",
        "/Encr#79pt 5 0 R",
        "/Info << /A 1 >> /Encrypt 5 0 R",
        "/X [1 << /Y 2 >>] /Encrypt 5 0 R",
        "/X /Y /Encrypt 5 0 R",
        "%comment\n/Encrypt 5 0 R",
    ] {
        assert!(is_encrypted(&classic(entries)), "{entries}");
        assert!(is_encrypted(&modern(entries)), "{entries}");
        assert!(is_encrypted(&wrapped(&classic(entries))), "{entries}");
        assert!(is_encrypted(&wrapped(&modern(entries))), "{entries}");
    }
}

#[test]
fn a_plain_file_is_not_taken_for_an_encrypted_one() {
    for entries in [
        "/Root 1 0 R",
        "/Info << /Encrypt 5 0 R >>",
        "/X /Encrypt",
        "/X (/Encrypt 5 0 R)",
        "/X [/Encrypt 5 0 R]",
        "/X <2F456E6372797074>",
        "/EncryptMetadata true",
        "/Encrypt null",
        "%/Encrypt 5 0 R\n",
        "/X(\\) /Encrypt 5 0 R)",
    ] {
        assert!(is_plain(&classic(entries)), "{entries}");
        assert!(is_plain(&modern(entries)), "{entries}");
        assert!(is_plain(&wrapped(&classic(entries))), "{entries}");
        assert!(is_plain(&wrapped(&modern(entries))), "{entries}");
    }
}

#[test]
fn no_nesting_is_too_deep_to_see_an_encrypt_behind_it() {
    for depth in [1, 31, 32, 33, 40, 20_000] {
        let (open, close) = ("<</A[".repeat(depth), "]>>".repeat(depth));
        let plain = format!("/X {open}{close}");
        let locked = format!("{plain} /Encrypt 5 0 R");
        for whole in [classic, modern] {
            assert!(is_plain(&whole(&plain)), "{depth}");
            assert!(is_plain(&wrapped(&whole(&plain))), "{depth}");
            assert!(is_encrypted(&whole(&locked)), "{depth}");
            assert!(is_encrypted(&wrapped(&whole(&locked))), "{depth}");
        }
    }
}

#[test]
fn a_damaged_trailer_is_never_plain() {
    for (entries, is_seen) in [
        ("/X ] /Encrypt 5 0 R", true),
        ("/X [ << /Y [ >> ] /Encrypt 5 0 R", true),
        ("/X < /Encrypt 5 0 R", true),
        ("/Encrypt null /Encrypt 5 0 R /Encrypt null", true),
        ("/X << /Encrypt 5 0 R", false),
        ("/X [ << /Encrypt 5 0 R", false),
        ("/X ( /Encrypt 5 0 R", false),
        ("/X ]", false),
    ] {
        for pdf in [classic(entries), wrapped(&classic(entries))] {
            let expected = if is_seen {
                Protection::Encrypted
            } else {
                Protection::Unreadable
            };
            assert_eq!(protection(&pdf), expected, "{entries}");
        }
        assert!(!is_plain(&modern(entries)), "{entries}");
    }
}

#[test]
fn what_has_no_end_before_a_trailer_does_not_hide_it() {
    for inner in ["<<", "<< /A [", "<", "[", ">>", "4 0 obj << /A <<", "<< ]"] {
        assert!(is_plain(&wrapped(inner.as_bytes())), "{inner}");
        for locked in [classic("/Encrypt 5 0 R"), modern("/Encrypt 5 0 R")] {
            let pdf = [inner.as_bytes(), b"\n", &locked].concat();
            assert!(is_encrypted(&wrapped(&pdf)), "{inner}");
        }
    }
    // Here it cannot be told what is in it and what comes after it.
    for inner in ["(", "<< /Length 8 0 R >> stream\n"] {
        assert_eq!(
            protection(&wrapped(inner.as_bytes())),
            Protection::Unreadable,
            "{inner}"
        );
    }
}

#[test]
fn damage_in_a_stream_or_a_string_refuses_no_file() {
    for page in [
        "<<",
        "(",
        "<",
        "trailer <<",
        "[ ]] >>",
        "<</Type/XRef/Encrypt 5 0 R",
    ] {
        let length = page.len();
        for length in [length.to_string(), "8 0 R".to_owned()] {
            let object =
                format!("3 0 obj\n<< /Length {length} >>\nstream\n{page}\nendstream\nendobj\n");
            assert!(is_plain(&wrapped(object.as_bytes())), "{page}");
        }
    }
    for text in ["(trailer <<)", "(\\( << /Encrypt 5 0 R)", "(<)"] {
        assert!(is_plain(&classic(&format!("/X {text}"))), "{text}");
        let object = format!("4 0 obj\n{text}\nendobj\n");
        assert!(is_plain(&wrapped(object.as_bytes())), "{text}");
    }
}

#[test]
fn text_on_a_page_never_makes_a_file_look_encrypted() {
    let page =
        "BT (x) Tj ET\ntrailer << /Encrypt 5 0 R >>\nendstream trailer << /Encrypt 5 0 R >>\n";
    let object = format!(
        "3 0 obj\n<< /Length {} >>\nstream\n{page}endstream\nendobj\n",
        page.len()
    );
    let body = format!("{BODY}{object}");
    let whole = with_section(
        &body,
        "xref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 >>\n",
    );
    assert!(is_plain(&whole));
    // The same with offsets that are wrong: only the length tells where the page ends.
    assert!(is_plain(&wrapped(object.as_bytes())));
    let string = b"4 0 obj\n(trailer << /Encrypt 5 0 R >>)\nendobj\n";
    assert!(is_plain(&wrapped(string)));
    let inner = "trailer << /Encrypt 5 0 R >>";
    let unknown_length =
        format!("3 0 obj\n<< /Length 8 0 R >>\nstream\r\n{inner}\r\nendstream\nendobj\n");
    assert!(is_plain(&wrapped(unknown_length.as_bytes())));
}

#[test]
fn an_older_section_counts_too() {
    let old = String::from_utf8(classic("/Encrypt 5 0 R")).unwrap();
    let prev = BODY.len();
    let update = |entry: &str| {
        let section = format!("xref\n0 0\ntrailer\n<< /Size 1 /{entry} {prev} >>\n");
        with_section(&old, &section)
    };
    assert!(is_encrypted(&update("Prev")));
    assert!(is_plain(&update("Other")));
    let stream = String::from_utf8(modern("/Encrypt 5 0 R")).unwrap();
    let hybrid = format!("xref\n0 0\ntrailer\n<< /Size 1 /XRefStm {prev} >>\n");
    assert!(is_encrypted(&with_section(&stream, &hybrid)));
}

#[test]
fn sections_that_point_at_themselves_or_nowhere_end() {
    let at = BODY.len();
    assert!(is_plain(&classic(&format!("/Prev {at} /XRefStm {at}"))));
    assert!(is_plain(&classic(
        "/Prev 99999999999999999999 /XRefStm 18446744073709551615"
    )));
}

#[test]
fn large_hostile_files_take_bounded_time() {
    const SIZE: usize = 2_000_000;
    let fill = |pattern: &str| pattern.repeat(SIZE / pattern.len());
    let deadline = Duration::from_secs(20);
    for pattern in [
        "<<",
        "[",
        "(",
        "stream\n",
        "endstream ",
        "1 0 obj<</Length 1>>stream\n",
        "%",
        "/#",
        "<",
        ">>",
        "trailer<</A",
        "<</Length 9 0 R>>stream ",
        "1 ",
        "\\",
        "/Prev 1 ",
    ] {
        let started = Instant::now();
        let _ = protection(&wrapped(fill(pattern).as_bytes()));
        let table = format!("xref\n{}", fill(pattern));
        let _ = protection(&with_section(BODY, &table));
        assert!(started.elapsed() < deadline, "{pattern}");
    }
}

#[test]
fn a_long_chain_of_sections_takes_bounded_time() {
    // Every section is a long table that ends in the same trailer.
    let mut pdf = BODY.to_owned();
    let mut prev = 0;
    for _ in 0..2000 {
        let at = pdf.len();
        pdf.extend([format!(
            "xref\n{}trailer\n<< /Prev {prev} >>\n",
            "0 0 n\n".repeat(100)
        )]);
        prev = at;
    }
    pdf.extend([format!("startxref\n{prev}\n%%EOF\n")]);
    let started = Instant::now();
    assert!(is_plain(pdf.as_bytes()));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn sections_that_lie_over_each_other_are_not_read_for_each_of_them() {
    // 60 offsets into one table of 2 MB: past the bound, the file is read once from its start instead.
    let filling = "1 ".repeat(1_000_000);
    let mut pdf = BODY.to_owned();
    let mut prev = 0;
    for _ in 0..60 {
        let at = pdf.len();
        pdf.extend([format!("{at} 0 obj\n<< /Type /XRef /Prev {prev} /A (\n")]);
        prev = at;
    }
    pdf.extend([format!("{filling}{}", ") >>".repeat(60))]);
    pdf.extend([format!("startxref\n{prev}\n%%EOF\n")]);
    let started = Instant::now();
    assert!(is_plain(pdf.as_bytes()));
    assert!(started.elapsed() < Duration::from_secs(20));
}

proptest::proptest! {
    #[test]
    fn no_bytes_in_a_trailer_make_it_panic(entries in "[ -~\n]{0,200}") {
        let _ = protection(&classic(&entries));
        let _ = protection(&modern(&entries));
        let _ = protection(&wrapped(entries.as_bytes()));
    }

    #[test]
    fn pdf_shaped_noise_never_makes_it_panic(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "<<", ">>", "/Encrypt", "/Prev", "/Length", " 5 0 R", "(", ")", "\\", "<", ">", "[", "]", "stream\n",
                "endstream", "trailer", "xref\n", "startxref\n", "1 0 obj", "18446744073709551615", "%", "\n", "/#4", " 7 ",
            ]),
            0..60,
        )
    ) {
        let text = parts.concat();
        let _ = protection(text.as_bytes());
        let _ = protection(&wrapped(text.as_bytes()));
        let _ = protection(&with_section(BODY, &text));
    }
}
