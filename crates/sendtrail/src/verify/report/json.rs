//! What was found, as JSON.

use serde_json::{Value, json};

use super::{key_label, notes, refusal_words, shown};
use crate::verify::arrival::Comparison;
use crate::verify::change::Change;
use crate::verify::diagnose::{Clock, Diagnosis, Source, mac_holds};
use crate::verify::input::Signed;
use crate::verify::mac::sha256;
use crate::verify::reasons;
use crate::verify::refusal::Refusal;
use crate::verify::search::Explanation;

fn changes_json(changes: &[Change]) -> Value {
    let one = |change: &Change| {
        json!({
            "name": change.name,
            "place": change.place.word(),
            "what": change.signed(),
            "fix": change.fix,
        })
    };
    changes.iter().map(one).collect()
}

pub(super) fn request_json(signed: &Signed, diagnosis: &Diagnosis) -> Value {
    let error = diagnosis.plain.as_ref().err();
    let words = error.and_then(|error| reasons::of(error.reason()));
    let labels: Vec<_> = signed
        .keys
        .iter()
        .filter(|key| key.is_due)
        .map(|key| &key.label)
        .collect();
    let explanation = |one: &Explanation| {
        json!({
            "changes": changes_json(&one.changes),
            "key": key_label(one, signed),
            "signed_body": {"bytes": one.body_bytes, "sha256": one.body_sha256},
        })
    };
    let found = diagnosis.found.as_ref();
    let explanations: Vec<_> = found
        .map(|f| f.explanations.iter().map(explanation).collect())
        .unwrap_or_default();
    json!({
        "key": diagnosis.plain.as_ref().ok(),
        "reason": error.map(sendtrail_signature::SignatureError::reason),
        "meaning": error.map(ToString::to_string),
        "fix": words.map(|words| words.fix),
        "mac_holds": mac_holds(&diagnosis.plain),
        "keys": labels,
        "id": signed.request.id.as_deref().map(|id| shown(Some(id))),
        "timestamp": signed.request.timestamp.as_deref().map(|time| shown(Some(time))),
        "body": {"bytes": diagnosis.body_bytes, "sha256": diagnosis.body_sha256},
        "clock": diagnosis.clock.as_ref().map(clock_json),
        "explanations": explanations,
        "tried": found.map_or(0, |found| found.tried),
        "tried_all": found.is_none_or(|found| found.is_complete),
    })
}

fn clock_json(clock: &Clock) -> Value {
    json!({
        "delta_s": clock.delta_s,
        "inside": clock.is_inside(),
        "arrival": match clock.source {
            Source::Given => "given",
            Source::Event => "event",
            Source::Log => "log",
            Source::Now => "now",
        },
    })
}

pub(super) fn refusal_json(refusal: &Refusal) -> Value {
    let (meaning, fix) = refusal_words(refusal);
    let body = refusal.body.as_ref();
    json!({
        "request_id": refusal.request_id,
        "code": refusal.code,
        "reason": refusal.reason,
        "meaning": meaning,
        "fix": fix,
        "body": body.map(|body| json!({"bytes": body.bytes, "sha256": body.sha256})),
        "clock_delta_s": refusal.clock_delta_s,
        "notes": notes(refusal),
    })
}

pub(super) fn comparison_json(comparison: &Comparison, body: &[u8]) -> Value {
    let own = json!({"bytes": body.len(), "sha256": sha256(body)});
    let (same, by, tried) = match comparison {
        Comparison::Same => (true, Vec::new(), 0),
        Comparison::Changed { by, tried } => {
            let lists = by.iter().map(|changes| changes_json(changes));
            (false, lists.collect(), *tried)
        }
        Comparison::Other { tried } => (false, Vec::new(), *tried),
    };
    json!({"file": own, "same": same, "changes": by, "tried": tried})
}
