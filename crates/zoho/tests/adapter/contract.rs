//! The contract every store must pass, under each answer the CRM may give.

use sendtrail_core::testing::contract;
use sendtrail_simulator::crm::{
    ConflictBody, CoqlNulls, CoqlText, DuplicateDetails, ExpiryUnit, FileField, InvalidToken,
    LimitBody, MissingRecord, Switches, UnknownField,
};

use crate::simulated::Simulated;

/// The likelier answer to every open point.
fn likelier() -> Switches {
    Switches::default()
}

/// The other answer to every open point, as far as the guard stays what it says.
fn other() -> Switches {
    Switches {
        conflict_body: ConflictBody::Flat,
        missing_record: MissingRecord::InvalidData,
        limit_body: LimitBody::Legacy,
        invalid_token: InvalidToken::AuthenticationFailure,
        scope_mismatch_status: 403,
        access_denied_status: 200,
        expiry_unit: ExpiryUnit::Milliseconds,
        file_field: FileField::Append,
        duplicate_details: DuplicateDetails::Id,
        unknown_field: UnknownField::Refused,
        coql_text: CoqlText::Exact,
        coql_nulls: CoqlNulls::Last,
        ..Switches::default()
    }
}

fn item_in_200() -> Switches {
    Switches {
        conflict_body: ConflictBody::ItemIn200,
        workflow_bump: true,
        attachment_bumps: true,
        ..other()
    }
}

macro_rules! contract {
    ($($rule:ident)*) => {$(
        #[tokio::test]
        async fn $rule() {
            contract::$rule(&Simulated::start(likelier()).await).await;
        }
    )*};
}

contract! {
    stale_revision_conflicts_and_writes_nothing
    an_edit_in_the_same_second_is_never_overwritten
    a_write_on_a_fresh_base_is_applied
    saved_input_reads_back_as_it_was_written
    update_of_a_missing_record_is_not_found
    a_write_applied_although_its_reply_was_lost_is_recognised
    a_write_applied_late_is_recognised
    an_unknown_state_text_is_read_and_left_alone
    create_twice_with_one_request_key_makes_one_record
    a_document_is_bound_by_the_guarded_write
    due_rows_are_listed_in_order_and_once
    the_copies_of_a_write_read_back
    twins_are_found_whatever_their_state
    rows_that_nobody_wrote_are_listed_whatever_their_dates
}

#[tokio::test]
async fn the_whole_contract_holds_with_every_other_answer() {
    contract::run_all(&Simulated::start(other()).await).await;
}

#[tokio::test]
async fn the_whole_contract_holds_with_conflicts_inside_a_success() {
    contract::run_all(&Simulated::start(item_in_200()).await).await;
}
