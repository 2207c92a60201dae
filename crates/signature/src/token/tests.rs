use super::*;
use proptest::prelude::*;

const NOW: i64 = 1_700_000_000;

fn key(letter: &str, stage: &str) -> TokenKey {
    TokenKey::new(Secret::parse(&letter.repeat(32)).unwrap(), stage)
}

fn claims(purpose: Purpose) -> Claims {
    Claims {
        purpose,
        history_id: "4876876000000624001".into(),
        rev: 7,
        input_sha256: "1a".repeat(32),
        document_sha256: (purpose == Purpose::Receipt).then(|| "ab".repeat(32)),
        expires_at: NOW + 60,
    }
}

fn expected(purpose: Purpose) -> Expected<'static> {
    Expected {
        purpose,
        history_id: "4876876000000624001",
        rev: Some(7),
        input_sha256: None,
        document_sha256: None,
    }
}

fn verify(token: &str, expected: &Expected<'_>) -> Result<Claims, TokenError> {
    key("t", "local").verify(token, expected, NOW * 1000)
}

#[test]
fn a_token_says_what_it_was_issued_with() {
    for purpose in [Purpose::Preview, Purpose::Confirm, Purpose::Receipt] {
        let token = key("t", "local").issue(&claims(purpose));
        assert_eq!(verify(&token, &expected(purpose)), Ok(claims(purpose)));
        assert!(token.len() < MAX_TOKEN_BYTES);
        assert!(
            token
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        );
    }
}

#[test]
fn a_token_of_another_purpose_is_named_as_such() {
    let all = [Purpose::Preview, Purpose::Confirm, Purpose::Receipt];
    for (made, used) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
        let token = key("t", "local").issue(&claims(made));
        let wanted = if made == used {
            Ok(claims(made))
        } else {
            Err(TokenError::OtherPurpose)
        };
        assert_eq!(
            verify(&token, &expected(used)),
            wanted,
            "{made:?} used as {used:?}"
        );
    }
}

#[test]
fn a_token_of_another_stage_key_record_or_rev_is_named_as_such() {
    let due = expected(Purpose::Preview);
    let stage = key("t", "prod").issue(&claims(Purpose::Preview));
    assert_eq!(verify(&stage, &due), Err(TokenError::OtherStage));
    let other_key = key("u", "local").issue(&claims(Purpose::Preview));
    assert_eq!(verify(&other_key, &due), Err(TokenError::BadMac));
    let token = key("t", "local").issue(&claims(Purpose::Preview));
    let record = Expected {
        history_id: "4876876000000624002",
        ..due
    };
    assert_eq!(verify(&token, &record), Err(TokenError::OtherRecord));
    for rev in [0, 6, 8, u64::MAX] {
        let other = Expected {
            rev: Some(rev),
            ..due
        };
        assert_eq!(verify(&token, &other), Err(TokenError::OtherRev));
    }
    assert!(verify(&token, &Expected { rev: None, ..due }).is_ok());
}

#[test]
fn a_token_of_any_purpose_is_for_its_input_only() {
    let (same, other) = ("1a".repeat(32), "1b".repeat(32));
    for purpose in [Purpose::Preview, Purpose::Confirm, Purpose::Receipt] {
        let token = key("t", "local").issue(&claims(purpose));
        let with = |sha| Expected {
            input_sha256: Some(sha),
            ..expected(purpose)
        };
        assert_eq!(verify(&token, &with(&same)), Ok(claims(purpose)));
        for wrong in [other.as_str(), &same[1..], &same.to_uppercase(), ""] {
            assert_eq!(verify(&token, &with(wrong)), Err(TokenError::OtherInput));
        }
    }
}

#[test]
fn a_token_without_the_inputs_hash_is_malformed() {
    let key = key("t", "local");
    for purpose in [Purpose::Preview, Purpose::Confirm, Purpose::Receipt] {
        let due = expected(purpose);
        let mut wire = json!({
            "purpose": purpose.as_str(), "stage": "local", "history_id": due.history_id, "rev": 7,
            "document_sha256": "ab".repeat(32), "expires_at": NOW + 60,
        });
        let sealed = |wire: &serde_json::Value| {
            let payload = URL_SAFE_NO_PAD.encode(wire.to_string());
            let tag = key.mac(purpose, "local", &payload).tag();
            format!("{payload}.{}", URL_SAFE_NO_PAD.encode(tag))
        };
        assert_eq!(
            verify(&sealed(&wire), &due),
            Err(TokenError::Malformed),
            "{purpose:?}"
        );
        wire["input_sha256"] = json!("1a".repeat(32));
        assert!(verify(&sealed(&wire), &due).is_ok(), "{purpose:?}");
    }
}

#[test]
fn a_receipt_is_for_its_bytes_only_and_never_without() {
    let token = key("t", "local").issue(&claims(Purpose::Receipt));
    let due = expected(Purpose::Receipt);
    let (same, other) = ("ab".repeat(32), "cd".repeat(32));
    let with = |sha| Expected {
        document_sha256: Some(sha),
        ..due
    };
    assert!(verify(&token, &with(&same)).is_ok());
    assert_eq!(
        verify(&token, &with(&other)),
        Err(TokenError::OtherDocument)
    );
    let bare = Claims {
        document_sha256: None,
        ..claims(Purpose::Receipt)
    };
    let bare = key("t", "local").issue(&bare);
    assert_eq!(verify(&bare, &due), Err(TokenError::Malformed));
}

#[test]
fn a_token_ends_at_its_second() {
    let token = key("t", "local").issue(&claims(Purpose::Preview));
    let at = |now_ms| key("t", "local").verify(&token, &expected(Purpose::Preview), now_ms);
    assert!(at((NOW + 60) * 1000 - 1).is_ok());
    assert_eq!(at((NOW + 60) * 1000), Err(TokenError::Expired));
    assert_eq!(at(i64::MAX), Err(TokenError::Expired));
    assert!(at(i64::MIN).is_ok());
}

#[test]
fn no_part_of_a_token_passes() {
    let token = key("t", "local").issue(&claims(Purpose::Preview));
    let due = expected(Purpose::Preview);
    for cut in 0..token.len() {
        assert!(verify(&token[..cut], &due).is_err(), "prefix of {cut}");
        assert!(
            verify(&token[cut + 1..], &due).is_err(),
            "suffix after {cut}"
        );
    }
    for extra in ["=", ".", "A", " "] {
        assert!(verify(&format!("{token}{extra}"), &due).is_err());
    }
}

#[test]
fn purpose_and_stage_are_in_the_mac_and_not_only_in_the_claims() {
    let key = key("t", "local");
    let preview = key.mac(Purpose::Preview, "local", "payload").tag();
    assert_ne!(preview, key.mac(Purpose::Confirm, "local", "payload").tag());
    assert_ne!(preview, key.mac(Purpose::Preview, "prod", "payload").tag());
}

#[test]
fn a_long_token_is_refused_before_it_is_decoded() {
    let long = "A".repeat(1_000_000);
    assert_eq!(
        verify(&long, &expected(Purpose::Preview)),
        Err(TokenError::TooLong)
    );
    let longest = "A".repeat(MAX_TOKEN_BYTES);
    assert_eq!(
        verify(&longest, &expected(Purpose::Preview)),
        Err(TokenError::Malformed)
    );
}

#[test]
fn a_true_mac_over_something_else_is_malformed() {
    let key = key("t", "local");
    for payload in ["", "e30", "bnVsbA", "!!"] {
        let tag = key.mac(Purpose::Preview, "local", payload).tag();
        let token = format!("{payload}.{}", URL_SAFE_NO_PAD.encode(tag));
        let result = key.verify(&token, &expected(Purpose::Preview), NOW * 1000);
        assert_eq!(result, Err(TokenError::Malformed), "{payload}");
    }
}

proptest! {
    #[test]
    fn any_claims_survive(id in "[0-9A-Za-z_-]{1,64}", rev: u64, expires_at: i64, sha in "[0-9a-f]{64}", input in "[0-9a-f]{64}") {
        let claims = Claims {
            purpose: Purpose::Receipt, history_id: id.clone(), rev, input_sha256: input.clone(),
            document_sha256: Some(sha.clone()), expires_at,
        };
        let token = key("t", "local").issue(&claims);
        prop_assert!(token.len() <= MAX_TOKEN_BYTES);
        let due = Expected {
            purpose: Purpose::Receipt, history_id: &id, rev: Some(rev), input_sha256: Some(&input),
            document_sha256: Some(&sha),
        };
        let result = key("t", "local").verify(&token, &due, i64::MIN);
        // Only an expiry before all time can fail here.
        if expires_at > i64::MIN / 1000 {
            prop_assert_eq!(result, Ok(claims));
        }
    }

    #[test]
    fn any_changed_byte_fails(at in any::<prop::sample::Index>(), to in 0x21_u8..0x7f) {
        let token = key("t", "local").issue(&claims(Purpose::Confirm));
        let at = at.index(token.len());
        let mut bytes = token.clone().into_bytes();
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let changed = String::from_utf8(bytes).unwrap();
        prop_assert!(verify(&changed, &expected(Purpose::Confirm)).is_err());
    }

    #[test]
    fn verify_is_total(token in prop_oneof![".{0,200}", "[A-Za-z0-9_.-]{0,1200}"], now: i64) {
        let result = key("t", "local").verify(&token, &expected(Purpose::Preview), now);
        prop_assert!(result.is_err());
    }
}
