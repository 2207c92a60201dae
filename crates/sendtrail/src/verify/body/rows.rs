//! The table of changes.

use super::{escapes, json, numbers, text, wrapped, writers};

/// Gives the other bytes; `None` where it does not apply.
pub(super) type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

/// Name, what it does (after "the body"), what to do, and the rewrite.
pub(super) type Row = (&'static str, &'static str, &'static str, Rewrite);

pub(super) const ONCE: &str =
    "Make the text once, keep it in a variable, sign that text and send that same text.";
const LINE_ENDS: &str = "Send the bytes that were signed: curl needs --data-binary (-d drops line ends), and no editor or tool may \
     convert line ends in between.";
pub(super) const TEXT_NOT_MAP: &str = "Send the text, not a map of fields. In Deluge: payload = map.toString(); sign payload; invokeurl with \
     body:payload and headers that hold Content-Type: application/json.";
const CHARSET: &str = "Sign and send the text as UTF-8 bytes.";
const BASE64: &str = "Sign the body itself, and send it without base64. (A gateway may deliver it in base64; the \
                      door decodes that before it verifies.)";
const BODY_ITSELF: &str = "Sign the body itself.";

/// One change each. Those that were met most come first.
#[rustfmt::skip]
pub(super) const SINGLE: &[Row] = &[
    ("compact", "written as compact JSON, without spaces", ONCE, |b| json::lay_out(b, json::COMPACT)),
    ("spaced", "written as JSON with a space after every comma and colon", ONCE, |b| json::lay_out(b, json::SPACED)),
    ("lines_2", "written as JSON in lines, indented by 2 spaces", ONCE, |b| json::lay_out(b, json::lines("  "))),
    ("lines_4", "written as JSON in lines, indented by 4 spaces", ONCE, |b| json::lay_out(b, json::lines("    "))),
    ("lines_tab", "written as JSON in lines, indented by tabs", ONCE, |b| json::lay_out(b, json::lines("\t"))),
    ("colon_spaced", "written as JSON with a space after every colon", ONCE, |b| json::lay_out_rarely(b, json::COLON_SPACED)),
    ("comma_spaced", "written as JSON with a space after every comma", ONCE, |b| json::lay_out_rarely(b, json::COMMA_SPACED)),
    ("keys_sorted", "with its keys sorted", ONCE, |b| { json::reshape(b, json::sorted) }),
    ("nulls_dropped", "without the members that are null", ONCE, |b| json::reshape(b, json::without_nulls)),
    ("non_ascii_escaped", "with every character above ASCII as a \\u escape", ONCE, escapes::non_ascii_escaped),
    ("non_ascii_escaped_upper", "with every character above ASCII as a \\u escape in upper-case digits", ONCE, escapes::non_ascii_escaped_upper),
    ("non_ascii_literal", "with every character above ASCII as itself instead of a \\u escape", ONCE, escapes::non_ascii_literal),
    ("html_escaped", "with < > & as \\u003c \\u003e \\u0026", ONCE, escapes::html_escaped),
    ("html_escaped_wide", "with < > & ' = as \\u escapes", ONCE, escapes::html_escaped_wide),
    ("html_escaped_upper", "with < > & ' + ` as \\u escapes in upper-case digits", ONCE, escapes::html_escaped_upper),
    ("ascii_literal", "with < > & and other ASCII characters as themselves instead of \\u escapes", ONCE, escapes::ascii_literal),
    ("line_separators_escaped", "with U+2028 and U+2029 as \\u escapes", ONCE, escapes::separators_escaped),
    ("line_separators_literal", "with U+2028 and U+2029 as themselves", ONCE, escapes::separators_literal),
    ("slashes_escaped", "with every / as \\/", ONCE, escapes::slashes_escaped),
    ("slashes_plain", "with every \\/ as /", ONCE, escapes::slashes_plain),
    ("escapes_upper", "with its \\u escapes in upper-case digits", ONCE, escapes::hex_upper),
    ("escapes_lower", "with its \\u escapes in lower-case digits", ONCE, escapes::hex_lower),
    ("lines_inside_crlf", "with \\r\\n for \\n inside its texts", LINE_ENDS, escapes::lines_inside_crlf),
    ("lines_inside_lf", "with \\n for \\r\\n inside its texts", LINE_ENDS, escapes::lines_inside_lf),
    ("integers_as_floats", "with whole numbers as 1.0 instead of 1", ONCE, numbers::integers_as_floats),
    ("floats_as_integers", "with whole numbers as 1 instead of 1.0", ONCE, numbers::floats_as_integers),
    ("floats_shortened", "with decimal numbers in their shortest form", ONCE, numbers::floats_shortened),
    ("numbers_of_javascript", "with its numbers as JavaScript writes them (1.0 is 1, and a number of more than 16 digits is rounded)", "Send long ids as texts, and sign the text that you send.", numbers::numbers_of_javascript),
    ("numbers_as_texts", "with its numbers as texts", ONCE, numbers::numbers_as_texts),
    ("texts_as_numbers", "with numbers for texts that look like numbers", ONCE, numbers::texts_as_numbers),
    ("crlf", "with CRLF line ends", LINE_ENDS, text::lf_as_crlf),
    ("lf", "with LF line ends", LINE_ENDS, text::crlf_as_lf),
    ("final_line_end_removed", "without the line end at its end", LINE_ENDS, text::final_line_end_removed),
    ("final_lf_added", "with a line end (LF) added at its end", LINE_ENDS, text::final_lf_added),
    ("final_crlf_added", "with a line end (CRLF) added at its end", LINE_ENDS, text::final_crlf_added),
    ("line_ends_removed", "without any line end", LINE_ENDS, text::without_line_ends),
    ("trimmed", "without the white space around it", ONCE, text::trimmed),
    ("bom_added", "with a byte order mark in front", "Write the text as UTF-8 without a byte order mark.", text::bom_added),
    ("bom_removed", "without the byte order mark in front", "Write the text as UTF-8 without a byte order mark.", text::bom_removed),
    ("json_of_form_texts", "read as a form and written as a JSON object of texts", TEXT_NOT_MAP, wrapped::form_as_json_texts),
    ("json_of_form_values", "read as a form and written as a JSON object", TEXT_NOT_MAP, wrapped::form_as_json_values),
    ("form_of_json", "as form fields (x-www-form-urlencoded) instead of JSON", TEXT_NOT_MAP, wrapped::json_as_form),
    ("form_of_json_percent", "as form fields with %20 for spaces instead of JSON", TEXT_NOT_MAP, wrapped::json_as_form_percent),
    ("form_of_json_bare", "as name=value pairs, not encoded, instead of JSON", TEXT_NOT_MAP, wrapped::json_as_bare_form),
    ("form_decoded", "with its percent signs decoded and + as a space", TEXT_NOT_MAP, wrapped::form_decoded),
    ("percent_decoded", "with its percent signs decoded", TEXT_NOT_MAP, wrapped::percent_decoded),
    ("form_encoded", "encoded as one value of a form", TEXT_NOT_MAP, wrapped::form_encoded),
    ("percent_encoded", "encoded with percent signs", TEXT_NOT_MAP, wrapped::percent_encoded),
    ("base64_decoded", "decoded from base64", BASE64, wrapped::base64_decoded),
    ("base64_decoded_twice", "decoded from base64 twice", BASE64, wrapped::base64_decoded_twice),
    ("base64", "in base64", BASE64, wrapped::base64_encoded),
    ("base64url", "in base64url without padding", BASE64, wrapped::base64url_encoded),
    ("base64_twice", "in base64 twice", BASE64, wrapped::base64_encoded_twice),
    ("json_text_inside", "taken out of the JSON text around it", ONCE, wrapped::json_text_inside),
    ("json_text_around", "made a JSON text once more, with quotation marks around it", ONCE, wrapped::json_text_around),
    ("sha256_hex", "hashed: its SHA-256 in hexadecimal digits", BODY_ITSELF, wrapped::sha256_hex),
    ("sha256_hex_upper", "hashed: its SHA-256 in upper-case hexadecimal digits", BODY_ITSELF, wrapped::sha256_hex_upper),
    ("sha256_base64", "hashed: its SHA-256 in base64", BODY_ITSELF, wrapped::sha256_base64),
    ("sha256_bytes", "hashed: the bytes of its SHA-256", BODY_ITSELF, wrapped::sha256_bytes),
    ("latin_1", "in Latin-1 (ISO 8859-1) instead of UTF-8", CHARSET, text::as_latin_1),
    ("windows_1252", "in windows-1252 instead of UTF-8", CHARSET, text::as_windows_1252),
    ("utf_8_of_latin_1", "in UTF-8 instead of Latin-1 (ISO 8859-1)", CHARSET, text::latin_1_as_utf_8),
    ("utf_8_of_windows_1252", "in UTF-8 instead of windows-1252", CHARSET, text::windows_1252_as_utf_8),
    ("utf_8_twice", "encoded as UTF-8 twice", CHARSET, text::utf_8_twice),
    ("utf_8_twice_windows", "encoded as UTF-8, read as windows-1252 and encoded again", CHARSET, text::utf_8_twice_windows),
    ("utf_8_once", "encoded as UTF-8 once instead of twice", CHARSET, text::utf_8_once),
    ("question_marks", "with a question mark for every character above ASCII", CHARSET, text::question_marks),
    ("question_marks_by_unit", "with a question mark for every UTF-16 unit above ASCII", CHARSET, text::question_marks_by_unit),
    ("utf_16_le", "in UTF-16 (little-endian) instead of UTF-8", CHARSET, text::as_utf_16_le),
    ("utf_16_be", "in UTF-16 (big-endian) instead of UTF-8", CHARSET, text::as_utf_16_be),
    ("empty", "left out: an empty body", "Sign the body that is sent; read it before anything else consumes it.", text::nothing),
];

/// Several changes at once, as a library makes them.
#[rustfmt::skip]
pub(super) const WRITERS: &[Row] = &[
    ("as_javascript", "read and written again as JavaScript does (JSON.stringify)", ONCE, writers::javascript),
    ("as_python", "read and written again as Python does (json.dumps)", ONCE, writers::python),
    ("as_python_sorted", "read and written again as Python does with sort_keys", ONCE, writers::python_sorted),
    ("as_python_compact", "read and written again as Python does with separators=(',', ':')", ONCE, writers::python_compact),
    ("as_python_compact_sorted", "read and written again as Python does with sort_keys and separators=(',', ':')", ONCE, writers::python_compact_sorted),
    ("as_php", "read and written again as PHP does (json_encode)", ONCE, writers::php),
    ("as_go", "read and written again as Go does (json.Marshal of a map)", ONCE, writers::go),
    ("as_dotnet", "read and written again as .NET does (System.Text.Json)", ONCE, writers::dotnet),
    ("as_canonical", "in canonical JSON (RFC 8785)", ONCE, writers::canonical),
];

/// What may become of a body on its way; no signer does it on purpose.
#[rustfmt::skip]
pub(super) const ON_THE_WAY: &[Row] = &[
    ("cut_at_characters", "cut: its characters were counted where its bytes were due", "Give the number of bytes as Content-Length, or let the HTTP client do it.", text::cut_at_characters),
    ("cut_at_units", "cut: its UTF-16 units were counted where its bytes were due", "Give the number of bytes as Content-Length, or let the HTTP client do it.", text::cut_at_units),
];
