//! An HTTP answer from bytes: `STATUS`, header lines, an empty line, the body.

use http::header::{HeaderMap, HeaderName, HeaderValue};

pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: &'a [u8],
}

/// Without an empty line all of it is the body, and the status is 200.
pub(crate) fn answer(data: &[u8]) -> Answer<'_> {
    let at = data.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = at.map_or((&b""[..], data), |at| (&data[..at], &data[at + 2..]));
    let mut lines = head.split(|b| *b == b'\n');
    let status = lines
        .next()
        .and_then(|line| str::from_utf8(line).ok()?.parse().ok());
    let mut headers = HeaderMap::new();
    for line in lines.take(32) {
        headers.extend(header(line));
    }
    Answer {
        status: status
            .filter(|status| (100..1000).contains(status))
            .unwrap_or(200),
        headers,
        body,
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|b| *b == b':')?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii_start()).ok()?;
    Some((name, value))
}
