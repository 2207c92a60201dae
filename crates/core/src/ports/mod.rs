//! What the flows need from outside. Every answer says what may be done next.

mod send;
mod source;
mod store;
mod usage;
mod world;

pub use send::{
    Capabilities, Evidence, Failure, FindAnswer, LookUp, LookUpAnswer, LookUpDrivers, NotSent,
    Order, Submit, SubmitDrivers, SubmitOutcome,
};
pub use source::{SourceFile, SourceFiles};
pub use store::{
    CreateHistory, CreateReply, DocumentChange, FindTwins, GuardedWrite, ListHistory, ListPage,
    ListQuery, ListStart, NewRecord, PublicFailure, ReadDocument, ReadHistory, StoreDocument,
    StoreError, Twin, UntouchedPage, UntouchedQuery, Write, WriteReply,
};
pub use usage::{Metered, Usage};
pub use world::{Clock, Random, SealMac, clock_deadline};
