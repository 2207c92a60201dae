//! For fuzzing: what a save is read as, without a CRM.

use sendtrail_core::flows::SaveOrder;
use sendtrail_door::{HistoryIdIn, Refusal, Request};

use crate::{Settings, save};

/// Verifies and reads a save; `path_id` is the history id in the path, if it has one.
///
/// # Errors
/// As the function answers it.
pub fn save(
    settings: &Settings,
    request: &Request<'_>,
    path_id: Option<&str>,
) -> Result<SaveOrder, Refusal> {
    let history_id = path_id.map_or(HistoryIdIn::Nowhere, HistoryIdIn::Path);
    let signed = save::verified(settings, request, history_id)?;
    save::order_of(settings, &signed)
}
