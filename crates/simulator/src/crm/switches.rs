//! A switch for every point on which the outside facts are not certain, and for every known vendor
//! misbehaviour the product must be safe under.

use serde::{Deserialize, Serialize};

/// How the answers that nobody could verify turn out. The default of each is the likelier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a point of its own and no part of a state"
)]
pub struct Switches {
    /// What `If-Unmodified-Since` does.
    pub guard: Guard,
    /// With a racy guard or unique check: milliseconds between the check and the write.
    pub guard_race_ms: u64,
    /// Whether a write on the very version of the record passes.
    pub guard_equal: GuardEqual,
    /// What a malformed `If-Unmodified-Since` leads to.
    pub malformed_guard: MalformedGuard,
    /// Where the 412 body keeps its item.
    pub conflict_body: ConflictBody,
    /// The answer to a single read of a record that is not there.
    pub missing_record: MissingRecord,
    /// Which body comes with a 429.
    pub limit_body: LimitBody,
    /// The code in a 401 body.
    pub invalid_token: InvalidToken,
    /// The status of a scope mismatch: 401 or 403.
    pub scope_mismatch_status: u16,
    /// The status of the token throttle's `Access Denied`: 400 or 200.
    pub access_denied_status: u16,
    /// The unit of `expires_in` in a token answer.
    pub expiry_unit: ExpiryUnit,
    /// Live access tokens per refresh token; one more ends the oldest.
    pub live_tokens: u32,
    /// Whether a workflow edits a record after a write whose `trigger` is not `[]`.
    pub workflow_bump: bool,
    /// Milliseconds from the write to that workflow's edit.
    pub workflow_delay_ms: u64,
    /// Whether the CRM edits a record by itself after every write, whatever its `trigger` (a roll-up, a
    /// formula), as late as a workflow.
    pub recalculation_bump: bool,
    /// Whether downloading a file of a file-upload field moves `Modified_Time` of its record.
    pub download_bumps: bool,
    /// Whether adding an attachment moves `Modified_Time` of its record.
    pub attachment_bumps: bool,
    /// What a new array in a file-upload field does to the files already there.
    pub file_field: FileField,
    /// Seconds after which an uploaded file that no record holds disappears.
    pub unbound_file_seconds: Option<u64>,
    /// Whether the unique check and the insert are one step.
    pub unique: Unique,
    /// Which details come with `DUPLICATE_DATA`.
    pub duplicate_details: DuplicateDetails,
    /// The unit in which text lengths are counted.
    pub length_unit: LengthUnit,
    /// What becomes of a text on its way into a record.
    pub text_storage: TextStorage,
    /// How an empty field reads back.
    pub empty_value: EmptyValue,
    /// How record ids are written.
    pub id_form: IdForm,
    /// How date-times are written.
    pub time_form: TimeForm,
    /// Whether answers carry a `Date`.
    pub date_header: DateHeader,
    /// Seconds by which `Date` is ahead of the clock that gives `Modified_Time`.
    pub date_ahead_seconds: i64,
    /// What a picklist does with a value it does not know.
    pub picklist: Picklist,
    /// What happens to a field name the module does not have.
    pub unknown_field: UnknownField,
    /// How COQL compares text with `=`, `in` and `like`.
    pub coql_text: CoqlText,
    /// How a quote is escaped inside a COQL text.
    pub coql_quote: CoqlQuote,
    /// Where empty values come in an ascending COQL order; descending is the reverse.
    pub coql_nulls: CoqlNulls,
    /// Whether COQL lets a large multi-line field be filtered.
    pub coql_filters_large_text: bool,
    /// What COQL does with `COUNT(id)`.
    pub coql_count: CoqlCount,
    /// Whether COQL compares ids with `<` and `>`.
    pub coql_id_range: CoqlIdRange,
    /// Seconds for which a list still serves the row as it was before a write.
    pub list_lag_seconds: u64,
    /// Characters at which a list cuts long text; absent: it does not.
    pub list_cuts_long_text: Option<u32>,
    /// Milliseconds every authorised call takes, inside the concurrency count.
    pub latency_ms: u64,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            guard: Guard::default(),
            guard_race_ms: 100,
            guard_equal: GuardEqual::default(),
            malformed_guard: MalformedGuard::default(),
            conflict_body: ConflictBody::default(),
            missing_record: MissingRecord::default(),
            limit_body: LimitBody::default(),
            invalid_token: InvalidToken::default(),
            scope_mismatch_status: 401,
            access_denied_status: 400,
            expiry_unit: ExpiryUnit::default(),
            live_tokens: 15,
            workflow_bump: false,
            workflow_delay_ms: 1000,
            recalculation_bump: false,
            download_bumps: false,
            attachment_bumps: false,
            file_field: FileField::default(),
            unbound_file_seconds: None,
            unique: Unique::default(),
            duplicate_details: DuplicateDetails::default(),
            length_unit: LengthUnit::default(),
            text_storage: TextStorage::default(),
            empty_value: EmptyValue::default(),
            id_form: IdForm::default(),
            time_form: TimeForm::default(),
            date_header: DateHeader::default(),
            date_ahead_seconds: 0,
            picklist: Picklist::default(),
            unknown_field: UnknownField::default(),
            coql_text: CoqlText::default(),
            coql_quote: CoqlQuote::default(),
            coql_nulls: CoqlNulls::default(),
            coql_filters_large_text: false,
            coql_count: CoqlCount::default(),
            coql_id_range: CoqlIdRange::default(),
            list_lag_seconds: 0,
            list_cuts_long_text: None,
            latency_ms: 0,
        }
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident $(, $(#[$other_doc:meta])* $other:ident)* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            #[default]
            $(#[$first_doc])*
            $first,
            $($(#[$other_doc])* $other,)*
        }
    };
}

choice! {
    /// What `If-Unmodified-Since` does.
    Guard {
        /// Check and write are one step.
        Atomic,
        /// The check is made, then others may write before this write lands.
        Racy,
        /// The header has no effect.
        Ignored,
    }
}
choice! {
    /// Whether a write on the very version of the record passes.
    GuardEqual {
        /// It passes, and so does a second write within the second of that version.
        Passes,
        /// It meets a conflict, as where versions are finer inside than in their text.
        Conflicts,
    }
}
choice! {
    /// What a malformed `If-Unmodified-Since` leads to.
    MalformedGuard {
        /// The write goes on unguarded.
        Ignored,
        /// 400 `INVALID_DATA`.
        Refused,
    }
}
choice! {
    /// Where a conflict keeps its item.
    ConflictBody {
        /// 412 with `{"data":[item]}`.
        Wrapped,
        /// 412 with the item itself.
        Flat,
        /// 200 with `{"data":[item]}`.
        ItemIn200,
    }
}
choice! {
    /// The answer to a single read of a record that is not there.
    MissingRecord {
        /// 204 without a body.
        NoContent,
        /// 400 `INVALID_DATA`.
        InvalidData,
    }
}
choice! {
    /// Which body comes with a 429.
    LimitBody {
        /// `code` is a text.
        Modern,
        /// `code` is the number 429.
        Legacy,
    }
}
choice! {
    /// The code in a 401 body.
    InvalidToken {
        /// `INVALID_TOKEN`.
        InvalidToken,
        /// `AUTHENTICATION_FAILURE`.
        AuthenticationFailure,
    }
}
choice! {
    /// The unit of `expires_in`.
    ExpiryUnit {
        /// Seconds.
        Seconds,
        /// Milliseconds, with `expires_in_sec` beside it.
        Milliseconds,
    }
}
choice! {
    /// What a new array in a file-upload field does.
    FileField {
        /// It takes the place of the old files.
        Replace,
        /// It adds to them.
        Append,
    }
}
choice! {
    /// Whether the unique check and the insert are one step.
    Unique {
        /// One step.
        Atomic,
        /// Two at once may both pass.
        Racy,
        /// The field is not unique at all.
        Ignored,
    }
}
choice! {
    /// Which details come with `DUPLICATE_DATA`.
    DuplicateDetails {
        /// `duplicate_record.id`.
        DuplicateRecord,
        /// `id`.
        Id,
    }
}
choice! {
    /// The unit in which text lengths are counted.
    LengthUnit {
        /// Characters.
        Characters,
        /// UTF-16 units.
        Utf16,
        /// UTF-8 bytes.
        Bytes,
    }
}
choice! {
    /// What becomes of a text on its way into a record.
    TextStorage {
        /// It is stored as it came.
        Verbatim,
        /// Characters of four bytes become question marks.
        NoFourByte,
        /// `&`, `<` and `>` become entities.
        HtmlEscaped,
    }
}
choice! {
    /// How an empty field reads back.
    EmptyValue {
        /// As `null`.
        Null,
        /// As `""`, and `[]` for files.
        EmptyText,
    }
}
choice! {
    /// How record ids are written.
    IdForm {
        /// As text.
        Text,
        /// As a number, of which many readers lose the last digits.
        Number,
    }
}
choice! {
    /// How date-times are written.
    TimeForm {
        /// With the offset of the user's zone.
        UserZone,
        /// In UTC, with `Z`.
        Utc,
        /// With an offset that changes from answer to answer, as around a change of the clocks.
        Flipping,
    }
}
choice! {
    /// Whether answers carry a `Date`.
    DateHeader {
        /// They do.
        Present,
        /// It is empty.
        Absent,
    }
}
choice! {
    /// What COQL does with `COUNT(id)`.
    CoqlCount {
        /// The answer names it as it was asked.
        AsAsked,
        /// The answer names it in lower case.
        LowerCase,
        /// 400 `INVALID_QUERY`.
        Refused,
    }
}
choice! {
    /// Whether COQL compares ids with `<` and `>`.
    CoqlIdRange {
        /// It does.
        Allowed,
        /// 400 `INVALID_QUERY`.
        Refused,
    }
}
choice! {
    /// What a picklist does with a value it does not know.
    Picklist {
        /// Stores it.
        AcceptsAny,
        /// 400 `INVALID_DATA`.
        Strict,
    }
}
choice! {
    /// What happens to a field name the module does not have.
    UnknownField {
        /// It is dropped without a word.
        Dropped,
        /// 400 `INVALID_DATA`.
        Refused,
    }
}
choice! {
    /// How COQL compares text.
    CoqlText {
        /// Without regard to case.
        AnyCase,
        /// Exactly.
        Exact,
    }
}
choice! {
    /// How a quote is escaped inside a COQL text.
    CoqlQuote {
        /// `''`.
        Doubled,
        /// `\'`.
        Backslash,
    }
}
choice! {
    /// Where empty values come in an ascending order.
    CoqlNulls {
        /// Before all others.
        First,
        /// After all others.
        Last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_switch_is_refused() {
        assert!(serde_json::from_str::<Switches>(r#"{"gaurd":"racy"}"#).is_err());
        assert!(serde_json::from_str::<Switches>(r#"{"guard":"sometimes"}"#).is_err());
    }

    #[test]
    fn switches_read_back_as_written() {
        let switches = Switches {
            guard: Guard::Racy,
            list_cuts_long_text: Some(500),
            ..Switches::default()
        };
        let text = serde_json::to_string(&switches).unwrap();
        assert_eq!(serde_json::from_str::<Switches>(&text).unwrap(), switches);
    }
}
