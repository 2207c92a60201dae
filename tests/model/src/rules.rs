//! The rules, by name, and what a model must come to so that it shows something.

/// A set of one-bit things.
macro_rules! named_bits {
    ($(#[$doc:meta])* $kind:ident { $($(#[$item:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$item])* $name,)* }

        impl $kind {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Its place in a set.
            pub const fn bit(self) -> u32 {
                1 << self as u32
            }
        }
    };
}

named_bits! {
    /// A rule that holds in every state.
    Rule {
        /// The API accepts at most one submit of a history record.
        AtMostOne = "at_most_one_accepted_submit",
        /// `succeeded` and `failed` are left by no write of ours.
        FinalStays = "a_final_state_is_never_left_by_a_machine",
        /// A write of ours never takes back what a person wrote.
        EditStays = "a_persons_edit_is_never_overwritten",
        /// An id the function was told is in the record, or reported as not recorded; and it stays there.
        IdStays = "an_accepted_id_is_never_lost",
        /// What is submitted is a document a user saw, with the input it was made from.
        SeenIsSent = "only_what_was_confirmed_is_submitted",
        /// A submit is made under a claim that stands on the record.
        Claimed = "a_submit_has_a_standing_claim",
        /// The function that submits has read its own claim on the record.
        ClaimProved = "a_submit_follows_a_read_of_its_claim",
        /// A key submits at most once, whatever is repeated.
        OnePress = "one_press_one_submit",
        /// All submits of one record and document carry one reference, and no other submit carries it.
        Reference = "a_reference_names_the_document",
        /// A send whose time is up was looked up at or after its deadline.
        LastLookUp = "given_up_only_after_a_last_look_up",
        /// A search that finds nothing ends in review only after the grace.
        Grace = "review_only_after_the_grace",
        /// A claim is made on a confirmed record that was never sent.
        ClaimFresh = "a_claim_is_made_only_on_what_was_never_sent",
        /// No claim is swept while its function lives.
        LivingNotSwept = "a_living_function_is_not_swept",
        /// A claim is said to have sent nothing only when the API will never accept its submit.
        NotSentProved = "not_sent_is_said_only_when_proved",
        /// What a flow says it wrote was written.
        ToldWritten = "what_is_said_to_be_written_is_written",
        /// A write of ours changes no state that is none of the states: it is a person's.
        ForeignStays = "a_word_that_is_no_state_is_left_alone",
        /// A result is written only when the API told it.
        ResultTold = "a_result_is_written_only_when_told",
        /// Of two records of one document that are pressed at once, at most one is sent.
        OneTwin = "of_two_records_of_a_document_one_is_sent",
    }
}

named_bits! {
    /// What a configuration must come to: otherwise its rules hold because nothing happens.
    Mark {
        /// A submit was accepted, and recorded.
        Accepted = "accepted",
        /// A submit was refused.
        Rejected = "rejected",
        /// A submit was proved not sent, and recorded.
        NotSent = "not sent",
        /// A press after one that was proved not sent was accepted, and recorded.
        PressedAgain = "pressed again after not sent",
        /// A submit was found by its reference.
        Found = "found",
        /// A result was written.
        Result = "result",
        /// A send was given up.
        GaveUp = "gave up",
        /// A claim went to review.
        Review = "review",
        /// A write met another revision.
        Conflict = "conflict",
        /// A write arrived late and was applied.
        LateWrite = "late write applied",
        /// A write arrived late and met another revision.
        LateConflict = "late write refused",
        /// A submit arrived late and was accepted.
        LateSubmit = "late submit accepted",
        /// An invocation died.
        Died = "death",
        /// An invocation was killed at its end.
        Killed = "killed at its end",
        /// A person edited a record in the second of its version.
        SameSecond = "edit in the second of a version",
        /// A person edited a record while a flow worked on it.
        EditBeside = "edit beside a flow",
        /// An outcome was noted beside a person's state.
        Beside = "outcome beside a person",
        /// An outcome could not be written, and that was told.
        Unrecorded = "outcome not recorded",
        /// The same press again was told so.
        SamePress = "same press",
        /// A press was refused because of the record's state or an earlier submit.
        NotSendable = "not sendable",
        /// A press was refused because the record was changed.
        Changed = "record changed",
        /// A press was refused because of a twin.
        Twin = "twin",
        /// A document was confirmed.
        Confirmed = "confirmed",
        /// A confirm was stale.
        Stale = "confirm stale",
        /// A person's command was carried out.
        Operated = "command done",
        /// Two pollers ran at once.
        TwoPollers = "two pollers at once",
        /// Time passed while a call was under way.
        Slow = "slow call",
        /// A write of which a caller learnt nothing had been applied.
        LostReply = "reply of a write lost",
    }
}
