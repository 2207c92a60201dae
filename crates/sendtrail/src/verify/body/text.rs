//! Line ends, byte order marks, white space at the ends, and character sets.
#![expect(
    clippy::unnecessary_wraps,
    reason = "every rewrite has the one signature of the table"
)]

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Bytes 0x80 to 0x9f of windows-1252; the five without a meaning stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

pub(super) fn lf_as_crlf(body: &[u8]) -> Option<Vec<u8>> {
    let unix = crlf_as_lf(body);
    Some(replace(unix.as_deref().unwrap_or(body), b"\n", b"\r\n"))
}

pub(super) fn crlf_as_lf(body: &[u8]) -> Option<Vec<u8>> {
    Some(replace(body, b"\r\n", b"\n"))
}

pub(super) fn without_line_ends(body: &[u8]) -> Option<Vec<u8>> {
    let kept = body.iter().filter(|byte| !b"\r\n".contains(byte));
    Some(kept.copied().collect())
}

fn replace(body: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(body.len() + 16);
    let mut rest = body;
    while let Some(first) = rest.first() {
        if let Some(after) = rest.strip_prefix(what) {
            result.extend_from_slice(with);
            rest = after;
        } else {
            result.push(*first);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    result
}

pub(super) fn final_lf_added(body: &[u8]) -> Option<Vec<u8>> {
    Some([body, b"\n"].concat())
}

pub(super) fn final_crlf_added(body: &[u8]) -> Option<Vec<u8>> {
    Some([body, b"\r\n"].concat())
}

pub(super) fn final_line_end_removed(body: &[u8]) -> Option<Vec<u8>> {
    let shorter = body.strip_suffix(b"\n")?;
    let shorter = shorter.strip_suffix(b"\r").unwrap_or(shorter);
    Some(shorter.to_vec())
}

pub(super) fn trimmed(body: &[u8]) -> Option<Vec<u8>> {
    Some(body.trim_ascii().to_vec())
}

pub(super) fn bom_added(body: &[u8]) -> Option<Vec<u8>> {
    (!body.starts_with(BOM)).then(|| [BOM, body].concat())
}

pub(super) fn bom_removed(body: &[u8]) -> Option<Vec<u8>> {
    body.strip_prefix(BOM).map(<[u8]>::to_vec)
}

pub(super) fn nothing(_: &[u8]) -> Option<Vec<u8>> {
    Some(Vec::new())
}

/// The UTF-8 text with every character above ASCII.
fn not_ascii(body: &[u8]) -> Option<&str> {
    str::from_utf8(body).ok().filter(|text| !text.is_ascii())
}

pub(super) fn as_latin_1(body: &[u8]) -> Option<Vec<u8>> {
    let text = not_ascii(body)?;
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

pub(super) fn as_windows_1252(body: &[u8]) -> Option<Vec<u8>> {
    let text = not_ascii(body)?;
    text.chars().map(windows_1252_byte).collect()
}

fn windows_1252_byte(c: char) -> Option<u8> {
    let special = WINDOWS_1252.iter().position(|&own| own == c);
    match special {
        Some(index) => u8::try_from(0x80 + index).ok(),
        None => u8::try_from(c).ok().filter(|b| !(0x80..0xa0).contains(b)),
    }
}

/// For a body in Latin-1: the same text in UTF-8.
pub(super) fn latin_1_as_utf_8(body: &[u8]) -> Option<Vec<u8>> {
    str::from_utf8(body).is_err().then(|| read_latin_1(body))
}

/// For a body in windows-1252: the same text in UTF-8.
pub(super) fn windows_1252_as_utf_8(body: &[u8]) -> Option<Vec<u8>> {
    str::from_utf8(body)
        .is_err()
        .then(|| read_windows_1252(body))
}

/// UTF-8 read as Latin-1 and written as UTF-8 again.
pub(super) fn utf_8_twice(body: &[u8]) -> Option<Vec<u8>> {
    not_ascii(body).map(|text| read_latin_1(text.as_bytes()))
}

/// UTF-8 read as windows-1252 and written as UTF-8 again.
pub(super) fn utf_8_twice_windows(body: &[u8]) -> Option<Vec<u8>> {
    not_ascii(body).map(|text| read_windows_1252(text.as_bytes()))
}

/// The way back from [`utf_8_twice`].
pub(super) fn utf_8_once(body: &[u8]) -> Option<Vec<u8>> {
    let bytes = as_latin_1(body)?;
    str::from_utf8(&bytes).is_ok().then_some(bytes)
}

fn read_latin_1(bytes: &[u8]) -> Vec<u8> {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    text.into_bytes()
}

fn read_windows_1252(bytes: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| {
        let special = usize::from(byte).checked_sub(0x80);
        let special = special.and_then(|index| WINDOWS_1252.get(index));
        special.copied().unwrap_or(char::from(byte))
    };
    let text: String = bytes.iter().map(one).collect();
    text.into_bytes()
}

/// Every character above ASCII as a question mark.
pub(super) fn question_marks(body: &[u8]) -> Option<Vec<u8>> {
    let text = not_ascii(body)?;
    Some(text.replace(|c: char| !c.is_ascii(), "?").into_bytes())
}

/// Every UTF-16 unit above ASCII as a question mark.
pub(super) fn question_marks_by_unit(body: &[u8]) -> Option<Vec<u8>> {
    let mark = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(b'?');
    Some(not_ascii(body)?.encode_utf16().map(mark).collect())
}

pub(super) fn as_utf_16_le(body: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(body).ok()?;
    Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
}

pub(super) fn as_utf_16_be(body: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(body).ok()?;
    Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect())
}

/// As many bytes as the text has characters: what arrives when characters were counted as bytes.
pub(super) fn cut_at_characters(body: &[u8]) -> Option<Vec<u8>> {
    let text = not_ascii(body)?;
    body.get(..text.chars().count()).map(<[u8]>::to_vec)
}

/// As many bytes as the text has UTF-16 units.
pub(super) fn cut_at_units(body: &[u8]) -> Option<Vec<u8>> {
    let text = not_ascii(body)?;
    body.get(..text.encode_utf16().count()).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_change_both_ways_and_are_never_doubled() {
        assert_eq!(lf_as_crlf(b"a\nb\r\n").unwrap(), b"a\r\nb\r\n");
        assert_eq!(crlf_as_lf(b"a\r\nb\r\r\n").unwrap(), b"a\nb\r\n");
        assert_eq!(without_line_ends(b"a\r\nb\n").unwrap(), b"ab");
        assert_eq!(final_line_end_removed(b"a\n\r\n").unwrap(), b"a\n");
        assert_eq!(final_line_end_removed(b"a"), None);
        assert_eq!(final_crlf_added(b"a").unwrap(), b"a\r\n");
    }

    #[test]
    fn a_byte_order_mark_is_added_once_and_removed() {
        let with = bom_added(b"{}").unwrap();
        assert_eq!(with, b"\xef\xbb\xbf{}");
        assert_eq!(bom_removed(&with).unwrap(), b"{}");
        assert_eq!(bom_added(&with), None);
        assert_eq!(bom_removed(b"{}"), None);
    }

    #[test]
    fn character_sets_change_both_ways() {
        let text = "é€".as_bytes();
        assert_eq!(as_latin_1("é".as_bytes()).unwrap(), b"\xe9");
        assert_eq!(as_latin_1(text), None);
        assert_eq!(as_windows_1252(text).unwrap(), b"\xe9\x80");
        assert_eq!(windows_1252_as_utf_8(b"\xe9\x80").unwrap(), text);
        assert_eq!(latin_1_as_utf_8(b"\xe9").unwrap(), "é".as_bytes());
        assert_eq!(latin_1_as_utf_8(text), None);
        let twice = utf_8_twice("é".as_bytes()).unwrap();
        assert_eq!(twice, "Ã©".as_bytes());
        assert_eq!(utf_8_once(&twice).unwrap(), "é".as_bytes());
        assert_eq!(utf_8_twice_windows(text).unwrap(), "Ã©â‚¬".as_bytes());
        assert_eq!(as_utf_16_le(b"a").unwrap(), b"a\0");
        assert_eq!(as_utf_16_be(b"a").unwrap(), b"\0a");
        assert_eq!(question_marks("é🐈!".as_bytes()).unwrap(), b"??!");
        assert_eq!(question_marks_by_unit("é🐈!".as_bytes()).unwrap(), b"???!");
    }

    #[test]
    fn ascii_is_the_same_in_every_single_byte_set() {
        for rewrite in [
            as_latin_1,
            as_windows_1252,
            utf_8_twice,
            question_marks,
            cut_at_units,
        ] {
            assert_eq!(rewrite(b"{\"a\":1}"), None);
        }
    }

    #[test]
    fn counting_characters_for_bytes_cuts_the_end() {
        assert_eq!(
            cut_at_characters("é🐈ab".as_bytes()).unwrap(),
            b"\xc3\xa9\xf0\x9f"
        );
        assert_eq!(cut_at_units("é🐈ab".as_bytes()).unwrap().len(), 5);
    }
}
