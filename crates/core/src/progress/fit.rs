//! Keeps the encoded progress inside its bound.

use super::{MAX_ENCODED, Progress, REPLACED, Unknown, encode_wire};
use crate::text::harmless;

/// Encodes, giving up what matters least until it fits. The steps are in the order of what is lost.
pub(super) fn encode(progress: &Progress) -> String {
    let text = encode_wire(progress);
    if text.len() <= MAX_ENCODED {
        return text;
    }
    let mut cut = progress.clone();
    for step in [
        keep_newest_trail::<16>,
        cut_details::<120>,
        keep_newest_trail::<4>,
        cut_details::<0>,
        drop_unknown,
        keep_newest_trail::<1>,
        cut_names,
    ] {
        step(&mut cut);
        let text = encode_wire(&cut);
        if text.len() <= MAX_ENCODED {
            return text;
        }
    }
    // Every text that is left is bounded when it is read, so this is reached by no value; it still holds
    // the bound, and the claim and submission that decide what may be done.
    cut.trail.clear();
    cut.last_error = None;
    encode_wire(&cut)
}

fn keep_newest_trail<const N: usize>(progress: &mut Progress) {
    let excess = progress.trail.len().saturating_sub(N);
    progress.trail.drain(..excess);
}

fn cut_details<const N: usize>(progress: &mut Progress) {
    if let Some(error) = &mut progress.last_error {
        error.detail = harmless(&error.detail, N);
    }
    if let Some(submission) = &mut progress.submission {
        submission.evidence.detail = harmless(&submission.evidence.detail, N);
    }
    for entry in &mut progress.trail {
        entry.reason = entry
            .reason
            .take()
            .map(|reason| harmless(&reason, N.max(100)));
    }
}

fn drop_unknown(progress: &mut Progress) {
    let drop = |unknown: &mut Unknown| unknown.0.clear();
    let replaced = progress.was_replaced();
    drop(&mut progress.unknown);
    if replaced {
        progress.unknown.keep(REPLACED, "");
    }
    if let Some(error) = &mut progress.last_error {
        drop(&mut error.unknown);
    }
    if let Some(request) = &mut progress.request {
        drop(&mut request.unknown);
        drop(&mut request.actor.unknown);
    }
    if let Some(document) = &mut progress.document {
        drop(&mut document.unknown);
    }
    if let Some(claim) = &mut progress.claim {
        drop(&mut claim.unknown);
    }
    if let Some(submission) = &mut progress.submission {
        drop(&mut submission.unknown);
        drop(&mut submission.evidence.unknown);
    }
    for entry in &mut progress.trail {
        drop(&mut entry.unknown);
    }
}

fn cut_names(progress: &mut Progress) {
    if let Some(request) = &mut progress.request {
        request.actor.id = harmless(&request.actor.id, 100);
        request.actor.name = harmless(&request.actor.name, 100);
    }
    if let Some(submission) = &mut progress.submission {
        submission.evidence.found.truncate(5);
    }
    if let Some(error) = &mut progress.last_error {
        error.kind = harmless(&error.kind, 64);
    }
    for entry in &mut progress.trail {
        entry.by = entry.by.take().map(|by| harmless(&by, 100));
    }
}
