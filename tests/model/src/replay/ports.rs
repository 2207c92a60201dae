//! The ports of a flow that is replayed.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{
    CrmName, DriverId, ExternalId, FileId, HistoryId, Reference, Revision, Sha256Hash,
};
use sendtrail_core::input::input_sha256;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{
    Capabilities, Clock, FindAnswer, FindTwins, GuardedWrite, ListHistory, ListPage, ListQuery,
    LookUp, LookUpAnswer, LookUpDrivers, NotSent, Order, Random, ReadDocument, ReadHistory,
    StoreDocument, StoreError, Submit, SubmitDrivers, SubmitOutcome, Twin, UntouchedPage,
    UntouchedQuery, Write, WriteReply, clock_deadline,
};
use sendtrail_core::record::{HistoryRecord, Read};
use sendtrail_core::testing::Cursor;

use super::{Answer, Call, Request, Shared};

/// Store, clock and randomness of one flow.
#[derive(Debug, Clone)]
pub struct Ports(pub(super) Arc<Shared>);

impl Ports {
    fn call(&self, request: Request) -> Call {
        Call {
            shared: Arc::clone(&self.0),
            number: None,
            request,
        }
    }

    fn crm_clock(&self) -> Option<Timestamp> {
        self.0.lock().crm_clock
    }
}

/// Unwraps the answer that belongs to the request; any other is a fault of the model itself.
macro_rules! told {
    ($call:expr, $answer:ident) => {{
        let Answer::$answer(told) = $call.await else {
            unreachable!("another answer than was asked for")
        };
        told
    }};
}

impl Clock for Ports {
    fn now(&self) -> Timestamp {
        self.0.lock().now
    }

    async fn sleep(&self, duration: SignedDuration) {
        let until = clock_deadline(self.now(), duration);
        self.call(Request::Sleep { until }).await;
    }
}

impl Random for Ports {
    /// Unlike those of any other flow that writes. The lower half is a constant in the middle of the range
    /// of the jitter: times are then the same whatever was drawn, which keeps the model small.
    fn bits(&self) -> u128 {
        let mut inner = self.0.lock();
        inner.drawn += 1;
        let mixed = inner
            .seed
            .wrapping_mul(1 << 16)
            .wrapping_add(inner.drawn)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (u128::from(mixed) << 64) + 1_000
    }
}

impl ReadHistory for Ports {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        let request = Request::Read {
            id: id.clone(),
            before: self.crm_clock(),
        };
        told!(self.call(request), Read)
    }
}

impl GuardedWrite for Ports {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        let request = Request::Write {
            id: id.clone(),
            revision: revision.clone(),
            write: Box::new(write.clone()),
        };
        told!(self.call(request), Written)
    }
}

impl ListHistory for Ports {
    type Cursor = Cursor;

    async fn list_due(&self, query: &ListQuery<Cursor>) -> Result<ListPage<Cursor>, StoreError> {
        let request = Request::ListDue {
            query: Box::new(query.clone()),
            before: self.crm_clock(),
        };
        told!(self.call(request), Listed)
    }

    async fn count_due(&self, _: Timestamp) -> Result<u64, StoreError> {
        unreachable!("every page of the model is the last one")
    }

    async fn list_untouched(&self, _: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        unreachable!("no tick of the model is the first of an hour")
    }

    async fn count_untouched(&self, _: Timestamp) -> Result<u64, StoreError> {
        unreachable!("no tick of the model is the first of an hour")
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        unreachable!("no tick of the model is the first of a day")
    }
}

impl FindTwins for Ports {
    async fn twins(
        &self,
        module: &CrmName,
        record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        let request = Request::Twins {
            module: module.clone(),
            record: record.clone(),
            document: *document,
        };
        told!(self.call(request), Twins)
    }
}

impl ReadDocument for Ports {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        let request = Request::Download {
            record: Box::new(record.clone()),
            max_bytes,
        };
        told!(self.call(request), Downloaded)
    }
}

impl StoreDocument for Ports {
    async fn upload(&self, _: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        told!(self.call(Request::Upload { bytes }), Uploaded)
    }
}

/// The driver of one flow.
#[derive(Debug)]
pub struct Driver {
    /// Where its calls go.
    pub ports: Ports,
    /// Whether it can find.
    pub can_find: bool,
    /// Its pacing.
    pub pacing: Pacing,
}

impl Driver {
    fn what_it_can(&self) -> Capabilities {
        Capabilities {
            can_find: self.can_find,
            max_document_bytes: 1_000,
        }
    }
}

impl Submit for Driver {
    type Prepared = ();

    fn capabilities(&self) -> Capabilities {
        self.what_it_can()
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn prepare(&self, _: &Order) -> Result<(), NotSent> {
        told!(self.ports.call(Request::Prepare), Prepared)
    }

    fn draft_id((): &()) -> Option<&str> {
        None
    }

    async fn submit(&self, order: &Order, (): (), _: SignedDuration) -> SubmitOutcome {
        let input = order.input.to_stored().unwrap_or_default();
        let request = Request::Submit {
            id: order.history_id.clone(),
            reference: order.reference.clone(),
            document: Sha256Hash::of(&order.document),
            input: input_sha256(&input),
        };
        told!(self.ports.call(request), Submitted)
    }
}

impl LookUp for Driver {
    fn capabilities(&self) -> Capabilities {
        self.what_it_can()
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn look_up(&self, id: &ExternalId) -> LookUpAnswer {
        told!(
            self.ports.call(Request::LookUp { id: id.clone() }),
            LookedUp
        )
    }

    async fn find(&self, reference: &Reference, _: Option<&str>) -> FindAnswer {
        let reference = reference.clone();
        told!(self.ports.call(Request::Find { reference }), Found)
    }
}

/// One driver, whatever its name.
#[derive(Debug)]
pub struct Drivers(pub Driver);

impl SubmitDrivers for Drivers {
    type Driver = Driver;

    fn driver(&self, _: &DriverId) -> Option<&Driver> {
        Some(&self.0)
    }
}

impl LookUpDrivers for Drivers {
    type Driver = Driver;

    fn driver(&self, _: &DriverId) -> Option<&Driver> {
        Some(&self.0)
    }
}
