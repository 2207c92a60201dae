use super::*;
use base64::engine::general_purpose::URL_SAFE;
use proptest::prelude::*;

const NOW: i64 = 1_700_000_000;
const ID: &str = "msg_2b:A-z";
const BODY: &[u8] = b"{\"aud\":\"local/intake\"}";

fn secret(letter: &str) -> Secret {
    Secret::parse(&letter.repeat(32)).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::new(vec![
        ("new".into(), secret("n")),
        ("old".into(), secret("o")),
    ])
    .unwrap()
}

/// Name of the key that signed, or why not.
fn check(id: &[u8], ts: &[u8], signature: &[u8], body: &[u8]) -> Result<String, SignatureError> {
    let headers = SignedHeaders {
        id: Some(id),
        timestamp: Some(ts),
        signature: Some(signature),
    };
    verify(&headers, body, NOW * 1000, &ring()).map(|v| v.key_name.to_owned())
}

fn now_text() -> String {
    NOW.to_string()
}

fn good_signature() -> String {
    sign(&secret("n"), ID, &now_text(), BODY)
}

fn check_signature(signature: &[u8]) -> Result<String, SignatureError> {
    check(ID.as_bytes(), now_text().as_bytes(), signature, BODY)
}

/// The result for a timestamp text that is truly signed.
fn check_signed_timestamp(ts: &str) -> Result<String, SignatureError> {
    let signature = sign(&secret("n"), ID, ts, BODY);
    check(ID.as_bytes(), ts.as_bytes(), signature.as_bytes(), BODY)
}

#[test]
fn either_of_two_keys_may_sign_and_is_named() {
    assert_eq!(
        check_signature(good_signature().as_bytes()),
        Ok("new".into())
    );
    let old = sign(&secret("o"), ID, &now_text(), BODY);
    assert_eq!(check_signature(old.as_bytes()), Ok("old".into()));
    let unknown = sign(&secret("u"), ID, &now_text(), BODY);
    assert_eq!(
        check_signature(unknown.as_bytes()),
        Err(SignatureError::Mismatch)
    );
}

#[test]
fn verified_gives_the_headers_as_values() {
    let (ts, signature, ring) = (now_text(), good_signature(), ring());
    let headers = SignedHeaders {
        id: Some(ID.as_bytes()),
        timestamp: Some(ts.as_bytes()),
        signature: Some(signature.as_bytes()),
    };
    let verified = verify(&headers, BODY, NOW * 1000, &ring);
    assert_eq!(
        verified,
        Ok(Verified {
            key_name: "new",
            id: ID,
            timestamp: NOW
        })
    );
}

#[test]
fn lists_joined_by_space_or_comma_pass_with_one_good_entry() {
    let good = good_signature();
    let bad = sign(&secret("u"), ID, &now_text(), BODY);
    for list in [
        format!("{bad} {good}"),
        format!("{good} {bad}"),
        format!("{bad},{good}"),
        format!("{good},{bad}"),
        format!("{bad}, {good}"),
        format!("v1a,AAAA {good}"),
        format!("v1a,AAAA,{good}"),
        format!("v2,x v1,not-base64 {bad} {good}"),
        format!("v1,,{good}"),
        format!(" {good} "),
        format!(",{good},"),
    ] {
        assert_eq!(check_signature(list.as_bytes()), Ok("new".into()), "{list}");
    }
    let both_bad = format!("{bad} {bad}");
    assert_eq!(
        check_signature(both_bad.as_bytes()),
        Err(SignatureError::Mismatch)
    );
}

#[test]
fn a_missing_or_empty_header_has_its_own_reason() {
    let (ts, signature, ring) = (now_text(), good_signature(), ring());
    let full = SignedHeaders {
        id: Some(ID.as_bytes()),
        timestamp: Some(ts.as_bytes()),
        signature: Some(signature.as_bytes()),
    };
    let reason = |headers: SignedHeaders<'_>| verify(&headers, BODY, NOW * 1000, &ring).err();
    for gone in [None, Some(&b""[..])] {
        assert_eq!(
            reason(SignedHeaders { id: gone, ..full }),
            Some(SignatureError::MissingId)
        );
        let no_ts = reason(SignedHeaders {
            timestamp: gone,
            ..full
        });
        assert_eq!(no_ts, Some(SignatureError::MissingTimestamp));
        let no_signature = reason(SignedHeaders {
            signature: gone,
            ..full
        });
        assert_eq!(no_signature, Some(SignatureError::MissingSignature));
    }
    assert_eq!(reason(full), None);
}

#[test]
fn every_proper_prefix_of_a_valid_mac_fails() {
    let good = good_signature();
    let encoded = good.strip_prefix("v1,").unwrap();
    let tag = STANDARD.decode(encoded).unwrap();
    for bytes in 0..tag.len() {
        let cut = format!("v1,{}", STANDARD.encode(&tag[..bytes]));
        let expected = Err(SignatureError::SignatureLength { bytes });
        assert_eq!(check_signature(cut.as_bytes()), expected);
    }
    for chars in 0..encoded.len() {
        let cut = format!("v1,{}", &encoded[..chars]);
        let result = check_signature(cut.as_bytes()).unwrap_err();
        assert_ne!(result, SignatureError::Mismatch, "{cut}");
    }
}

#[test]
fn a_signature_of_another_length_has_its_own_reason() {
    for bytes in [0, 1, 31, 33, 64] {
        let header = format!("v1,{}", STANDARD.encode(vec![7; bytes]));
        let expected = Err(SignatureError::SignatureLength { bytes });
        assert_eq!(check_signature(header.as_bytes()), expected);
    }
    let huge = format!("v1,{}", STANDARD.encode(vec![7; 1_000_000]));
    assert_eq!(
        check_signature(huge.as_bytes()),
        Err(SignatureError::SignatureTooLong)
    );
    let junk = vec![0xff; 1_000_000];
    assert_eq!(
        check_signature(&junk),
        Err(SignatureError::SignatureTooLong)
    );
    let ts = now_text();
    let long_id = check(&junk, ts.as_bytes(), good_signature().as_bytes(), BODY);
    assert_eq!(long_id, Err(SignatureError::IdTooLong));
    let long_ts = check(ID.as_bytes(), &junk, good_signature().as_bytes(), BODY);
    assert_eq!(long_ts, Err(SignatureError::TimestampTooLong));
}

#[test]
fn another_encoding_or_scheme_has_its_own_reason() {
    let tag = STANDARD
        .decode(good_signature().strip_prefix("v1,").unwrap())
        .unwrap();
    let hex: String = tag
        .iter()
        .fold(String::new(), |text, b| text + &format!("{b:02x}"));
    let is_hex = Err(SignatureError::SignatureIsHex);
    assert_eq!(check_signature(format!("v1,{hex}").as_bytes()), is_hex);
    assert_eq!(
        check_signature(format!("v1,{}", hex.to_uppercase()).as_bytes()),
        is_hex
    );
    let bare = STANDARD.encode(&tag);
    assert_eq!(
        check_signature(bare.as_bytes()),
        Err(SignatureError::NoKnownVersion)
    );
    let asymmetric = format!("v1a,{bare}");
    assert_eq!(
        check_signature(asymmetric.as_bytes()),
        Err(SignatureError::NoKnownVersion)
    );
    let unpadded = format!("v1,{}", bare.trim_end_matches('='));
    assert_eq!(
        check_signature(unpadded.as_bytes()),
        Err(SignatureError::SignatureNotBase64)
    );
    // A multibyte character: its length in bytes and in characters differ.
    let accented = "v1,éééé".as_bytes();
    assert_eq!(
        check_signature(accented),
        Err(SignatureError::SignatureNotBase64)
    );
    let url_safe = format!("v1,{}", URL_SAFE.encode([0xff; 32]));
    assert_eq!(
        check_signature(url_safe.as_bytes()),
        Err(SignatureError::SignatureNotBase64)
    );
}

#[test]
fn a_timestamp_is_plain_digits_even_when_signed() {
    for odd in [
        "+5",
        "-5",
        "0",
        "00",
        "01700000000",
        "9223372036854775808",
        "-9223372036854775808",
        "1e9",
        "1700000000.0",
        "17000000000000",
        " 1700000000",
        "٣",
    ] {
        assert_eq!(
            check_signed_timestamp(odd),
            Err(SignatureError::TimestampFormat),
            "{odd}"
        );
    }
    let millis = Err(SignatureError::TimestampInMilliseconds);
    assert_eq!(check_signed_timestamp("1700000000000"), millis);
}

#[test]
fn another_text_of_the_same_number_does_not_hold() {
    let signature = good_signature();
    for text in ["+1700000000", "01700000000", "1700000000 "] {
        let result = check(ID.as_bytes(), text.as_bytes(), signature.as_bytes(), BODY);
        assert_eq!(result, Err(SignatureError::Mismatch), "{text}");
    }
}

#[test]
fn the_window_is_300_seconds_on_both_sides() {
    let at = |offset: i64| check_signed_timestamp(&(NOW + offset).to_string());
    assert!(at(-300).is_ok());
    assert!(at(300).is_ok());
    assert_eq!(at(-301), Err(SignatureError::TooOld { seconds: 301 }));
    assert_eq!(at(301), Err(SignatureError::TooNew { seconds: 301 }));
    assert!(matches!(
        check_signed_timestamp("1"),
        Err(SignatureError::TooOld { .. })
    ));
    let far = check_signed_timestamp("999999999999");
    assert!(matches!(far, Err(SignatureError::TooNew { .. })));
}

#[test]
fn an_absurd_clock_refuses_and_does_not_overflow() {
    let (ts, signature, ring) = (now_text(), good_signature(), ring());
    let headers = SignedHeaders {
        id: Some(ID.as_bytes()),
        timestamp: Some(ts.as_bytes()),
        signature: Some(signature.as_bytes()),
    };
    for now in [i64::MIN, i64::MAX, 0, -1] {
        assert!(verify(&headers, BODY, now, &ring).is_err());
    }
}

#[test]
fn a_repeated_id_or_timestamp_is_refused_even_when_signed() {
    let twice = format!("{ID},{ID}");
    let ts = now_text();
    let signature = sign(&secret("n"), &twice, &ts, BODY);
    let result = check(twice.as_bytes(), ts.as_bytes(), signature.as_bytes(), BODY);
    assert_eq!(result, Err(SignatureError::RepeatedId));
    let result = check_signed_timestamp(&format!("{NOW},{NOW}"));
    assert_eq!(result, Err(SignatureError::RepeatedTimestamp));
}

#[test]
fn an_id_cannot_shift_the_parts_of_the_message() {
    // `a.1` + `2` and `a` + `1.2` are the same signed bytes; neither is acceptable.
    let ts = now_text();
    for id in ["a.1700000000", "a b", "é", "a/b", "a\n", "\u{0}"] {
        let signature = sign(&secret("n"), id, &ts, BODY);
        let result = check(id.as_bytes(), ts.as_bytes(), signature.as_bytes(), BODY);
        assert_eq!(result, Err(SignatureError::IdCharacters), "{id}");
    }
    assert!(is_webhook_id(&"a".repeat(200)));
    assert!(!is_webhook_id(&"a".repeat(201)));
    assert!(!is_webhook_id(""));
}

proptest! {
    #[test]
    fn what_is_signed_verifies(
        id in "[A-Za-z0-9_:-]{1,200}",
        offset in -300_i64..=300,
        body in prop::collection::vec(any::<u8>(), 0..2000),
        old: bool,
    ) {
        let (name, letter) = if old { ("old", "o") } else { ("new", "n") };
        let ts = (NOW + offset).to_string();
        let signature = sign(&secret(letter), &id, &ts, &body);
        let result = check(id.as_bytes(), ts.as_bytes(), signature.as_bytes(), &body);
        prop_assert_eq!(result, Ok(name.to_owned()));
    }

    #[test]
    fn any_changed_byte_in_id_timestamp_or_body_fails(
        part in 0..3_usize,
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let signature = good_signature();
        let mut parts = [ID.as_bytes().to_vec(), now_text().into_bytes(), BODY.to_vec()];
        let at = at.index(parts[part].len());
        parts[part][at] ^= flip;
        let result = check(&parts[0], &parts[1], signature.as_bytes(), &parts[2]);
        prop_assert!(result.is_err());
    }

    #[test]
    fn verify_is_total(
        id in prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
        timestamp in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        signature in prop::option::of(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "(v1,[A-Za-z0-9+/=]{0,50}[ ,]{0,2}){0,5}".prop_map(String::into_bytes),
        ]),
        body in prop::collection::vec(any::<u8>(), 0..100),
        now: i64,
    ) {
        let headers = SignedHeaders {
            id: id.as_deref(), timestamp: timestamp.as_deref(), signature: signature.as_deref(),
        };
        prop_assert!(verify(&headers, &body, now, &ring()).is_err());
    }
}
