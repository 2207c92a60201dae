//! Driver files, and the requests that drivers make.

use bytes::Bytes;
use http::header::HeaderMap;
use sendtrail_core::ids::{CrmName, DriverId, HistoryId, Reference, Sha256Hash};
use sendtrail_core::input::{Input, Source};
use sendtrail_core::ports::{Order, SourceFile};
use sendtrail_sendapi::fuzzing::{Offline, RawAnswer, SECRET, Sent};
use sendtrail_sendapi::load;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// An answer that gives every capture of the drivers that ship what it asks for.
const GENEROUS: &str = r#"{"id":"doc_1","url":"https://up.example.com/a","data":{"id":"doc_1"}}"#;

/// Any text as a driver file.
pub fn driver_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if text.contains(SECRET) {
        return; // Then it may stand anywhere.
    }
    let name = format!(
        "{}.toml",
        quoted_after(&text, "id = \"").unwrap_or("letters")
    );
    let lines = 1 + text.matches('\n').count();
    let files = match load(&[(name, text.clone().into_owned())]) {
        Ok(files) => files,
        Err(mistakes) => {
            assert!(!mistakes.0.is_empty());
            assert!(mistakes.0.iter().all(|mistake| mistake.line <= lines));
            return;
        }
    };
    for file in files {
        assert!(file.capabilities().max_document_bytes > 0);
        let pacing = file.pacing();
        assert!(pacing.first <= pacing.every && pacing.every <= pacing.give_up);
        assert!(pacing.first.is_positive());
        assert_eq!(
            file.capabilities().can_find,
            pacing.find_grace.is_positive()
        );
        let Ok(driver) = Offline::of(file) else {
            return;
        };
        for value in ["Ann", "../..//x?a=b#c@evil.example\\%2e"] {
            let order = order(&text, value, data);
            let headers = HeaderMap::new();
            let raw = RawAnswer {
                status: 200,
                headers: &headers,
                body: GENEROUS.as_bytes(),
            };
            check_requests(&driver, &order, &raw);
        }
    }
}

/// Asserts what must hold of every request of a submit.
pub(crate) fn check_requests(driver: &Offline, order: &Order, raw: &RawAnswer<'_>) {
    let (sent, whole) = match driver.requests(order, raw) {
        Ok(sent) => (sent, true),
        Err((sent, _)) => (sent, false),
    };
    for request in &sent {
        check_request(driver, request);
    }
    if !whole {
        return;
    }
    let documents: usize = sent
        .iter()
        .map(|sent| documents(sent, &order.document))
        .sum();
    assert_eq!(documents, 1, "the document goes out once");
    let commit = sent.last().expect("a submit has a request");
    assert!(["POST", "PUT", "PATCH"].contains(&commit.method.as_str()));
    if let Some((name, quoted)) = driver.idempotency() {
        let key = if quoted {
            format!("\"{}\"", order.reference)
        } else {
            order.reference.to_string()
        };
        let given: Vec<_> = commit.headers.get_all(name).iter().collect();
        assert_eq!(given, [key.as_str()], "one idempotency key, and ours");
    }
    if let Some((name, value)) = driver.credentials() {
        assert_eq!(
            commit.headers.get(name),
            Some(value),
            "the commit carries the credentials"
        );
    }
    // A repeat is the same request, so that the API can tell it.
    let again = driver.requests(order, raw).expect("as before");
    let again = again.last().expect("as before");
    let same = (&again.url, &again.headers, &again.body);
    assert_eq!(same, (&commit.url, &commit.headers, &commit.body));
}

fn check_request(driver: &Offline, sent: &Sent) {
    let url = &sent.url;
    let host = url.host_str().unwrap_or_default();
    assert!(
        driver.hosts().iter().any(|allowed| allowed == host),
        "{url}"
    );
    let bare = host.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = bare.parse().ok();
    let local = address.is_some_and(|ip| ip.is_loopback()) || host == "localhost";
    assert!(
        url.scheme() == "https" || (url.scheme() == "http" && local),
        "{url}"
    );
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    assert!(!url.as_str().contains(SECRET), "a secret in an address");
    for name in [
        "host",
        "transfer-encoding",
        "connection",
        "expect",
        "upgrade",
    ] {
        assert!(!sent.headers.contains_key(name), "{name}");
    }
}

fn documents(sent: &Sent, document: &Bytes) -> usize {
    use base64::Engine as _;
    let plain = document.to_vec();
    let coded = base64::engine::general_purpose::STANDARD.encode(document);
    let form = coded
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    let mut forms = vec![plain, coded.clone().into_bytes()];
    if form != coded {
        forms.push(form.into_bytes());
    }
    let found = |part: &Vec<u8>| {
        let windows = sent.body.windows(part.len());
        windows.filter(|window| window == part).count()
    };
    forms.iter().map(found).sum()
}

/// An order in which every value that the driver's text names is this one.
pub(crate) fn order(driver: &str, value: &str, seed: &[u8]) -> Order {
    let values = |start: &str| -> Map<String, Value> {
        let names = driver.split(start).skip(1);
        let name = |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            rest[..end.unwrap_or(rest.len())].to_owned()
        };
        names.map(|rest| (name(rest), value.into())).collect()
    };
    // No text can hold the document by chance: it depends on the text.
    let mut document = b"%PDF-1.7\n".to_vec();
    document.extend_from_slice(&Sha256::digest(seed));
    let name = |text| CrmName::parse(text).expect("a name");
    Order {
        history_id: HistoryId::parse("57").expect("an id"),
        reference: Reference::parse("st_0123456789abcdef0123456789abcdef").expect("a reference"),
        input: Input {
            driver: DriverId::parse("letters").expect("an id"),
            source: Source {
                module: name("Deals"),
                record_id: name("7"),
                file: SourceFile::Attachment(name("9")),
            },
            to: values("{{to."),
            fields: values("{{fields."),
        },
        document_sha256: Sha256Hash::of(&document),
        document: document.into(),
    }
}

fn quoted_after<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.split_once(start)?.1.split('"').next()
}
