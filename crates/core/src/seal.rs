//! The seal: what binds the confirmed bytes and the confirmed input to one record of one stage.

use crate::ids::{HistoryId, Sha256Hash};
use crate::ports::SealMac;

fn message(stage: &str, id: &HistoryId, document: &Sha256Hash, input: &Sha256Hash) -> Vec<u8> {
    format!("sendtrail/seal/v1\n{stage}\n{id}\n{document}\n{input}").into_bytes()
}

/// The seal of what was confirmed.
pub fn seal(
    mac: &impl SealMac,
    stage: &str,
    id: &HistoryId,
    document: &Sha256Hash,
    input: &Sha256Hash,
) -> String {
    mac.seal(&message(stage, id, document, input))
}

/// Whether `seal` is the seal of these. A cloned or edited record fails here.
pub fn seal_holds(
    mac: &impl SealMac,
    stage: &str,
    id: &HistoryId,
    document: &Sha256Hash,
    input: &Sha256Hash,
    seal: &str,
) -> bool {
    mac.check(&message(stage, id, document, input), seal)
}
