//! What has to be told is told in time, also where the store or the send API hangs.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{self, Outcome, Recorded, Refused, Sent, SubmitPorts, record_outcome};
use sendtrail_core::ids::{
    ClaimToken, CrmName, DriverId, HistoryId, Reference, Revision, Sha256Hash, derive_reference,
};
use sendtrail_core::ports::{
    FindTwins, GuardedWrite, ListHistory, ListPage, ListQuery, ReadDocument, ReadHistory,
    StoreError, SubmitOutcome, Twin, UntouchedPage, UntouchedQuery, Write, WriteReply,
};
use sendtrail_core::record::{HistoryRecord, Read};
use sendtrail_core::testing::{MemoryStore, pacing};

use crate::common::{Bench, PDF, accepted, later, press};

/// A store that answers nothing any more once it hangs, and whose writes may hang from the start.
struct Hanging<'a> {
    store: &'a MemoryStore,
    writes_hang: bool,
    hangs: AtomicBool,
}

impl<'a> Hanging<'a> {
    fn new(store: &'a MemoryStore, hangs: bool) -> Self {
        let hangs = AtomicBool::new(hangs);
        let writes_hang = false;
        Self {
            store,
            writes_hang,
            hangs,
        }
    }

    async fn maybe_hang(&self) {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl ReadHistory for Hanging<'_> {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.maybe_hang().await;
        self.store.read(id).await
    }
}

impl GuardedWrite for Hanging<'_> {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        self.maybe_hang().await;
        if self.writes_hang {
            std::future::pending::<()>().await;
        }
        self.store.write(id, revision, write).await
    }
}

impl ReadDocument for Hanging<'_> {
    async fn download(&self, record: &HistoryRecord, max: u64) -> Result<Bytes, StoreError> {
        self.maybe_hang().await;
        self.store.download(record, max).await
    }
}

impl FindTwins for Hanging<'_> {
    async fn twins(
        &self,
        module: &CrmName,
        record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        // The last call before the claim.
        self.hangs.store(true, Ordering::Relaxed);
        self.store.twins(module, record, document).await
    }
}

impl ListHistory for Hanging<'_> {
    type Cursor = <MemoryStore as ListHistory>::Cursor;
    async fn list_due(
        &self,
        query: &ListQuery<Self::Cursor>,
    ) -> Result<ListPage<Self::Cursor>, StoreError> {
        self.store.list_due(query).await
    }
    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.store.count_due(now).await
    }
    async fn list_untouched(&self, query: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        self.store.list_untouched(query).await
    }
    async fn count_untouched(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.store.count_untouched(before).await
    }
    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        self.store.count_foreign_states().await
    }
}

async fn send(bench: &Bench, store: &Hanging<'_>, id: &HistoryId, until: Timestamp) -> Sent {
    let ports = SubmitPorts {
        store,
        drivers: &bench.drivers,
        world: &*bench.world,
        mac: &bench.mac,
        policy: &bench.policy,
    };
    flows::send(&ports, &press(id, "press_1"), until).await
}

fn outcome(reference: Reference, submitted: SubmitOutcome) -> Outcome {
    Outcome {
        claim: ClaimToken::parse("claim").unwrap(),
        driver: DriverId::parse("letter").unwrap(),
        reference,
        submitted,
        started_at: None,
        pacing: pacing(),
        can_find: true,
    }
}

#[tokio::test(start_paused = true)]
async fn recording_ends_in_time_although_the_store_hangs() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let store = Hanging::new(&bench.store, true);
    let reference = derive_reference("local", &id, &Sha256Hash::of(PDF));
    let outcome = outcome(reference, accepted("ltr_1"));
    for seconds in [-5, 0, 1, 20] {
        let until = bench.world.after(seconds);
        let begin = bench.now();
        let recorded = record_outcome(&store, &*bench.world, None, &id, &outcome, until).await;
        assert!(
            matches!(recorded, Recorded::Unrecorded { .. }),
            "{recorded:?}"
        );
        assert!(bench.now() <= until.max(begin), "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_precedes_the_submit_leaves_the_time_to_record_although_the_store_hangs() {
    for hangs in [true, false] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        let writes = bench.store.writes();
        let until = bench.world.after(30);
        let store = Hanging::new(&bench.store, hangs);
        let sent = send(&bench, &store, &id, until).await;
        assert!(bench.driver().submits().is_empty());
        assert_eq!(bench.store.writes(), writes);
        if hangs {
            // Not even the record could be read.
            assert!(matches!(sent, Sent::Failed(StoreError::Transient { .. })));
            assert!(bench.now() <= later(until, -5));
        } else {
            // The claim may stand, and that it was not used cannot be recorded.
            let Sent::Done { outcome, recorded } = sent else {
                panic!("{sent:?}")
            };
            assert!(matches!(outcome, SubmitOutcome::NotSent(_)), "{outcome:?}");
            assert!(matches!(recorded, Recorded::Unrecorded { .. }));
            assert!(bench.now() <= until);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_press_without_time_asks_nothing_and_a_record_that_does_not_settle_is_no_conflict() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let reads = bench.store.reads();
    let no_time = Sent::Refused(Refused::NoTime);
    let sent = bench
        .send(&press(&id, "press_1"), bench.world.after(5))
        .await;
    assert_eq!(sent, no_time);
    assert_eq!(bench.store.reads(), reads);
    // Changed in this second: no base before the time is up.
    bench.store.edit_by_hand(&id, |_| {});
    let sent = bench
        .send(&press(&id, "press_2"), later(bench.world.after(6), 0))
        .await;
    assert_eq!(sent, no_time);
    assert!(bench.driver().submits().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slow_row_that_is_started_late_does_not_outlive_the_invocation() {
    let mut bench = Bench::new();
    bench.polling.row_timeout = SignedDuration::from_secs(100);
    let ids = bench.due(3).await;
    bench.driver().takes(SignedDuration::from_secs(1_000));
    let until = bench.world.after(16);
    let report = bench.run_until(until).await;
    assert!(bench.now() < until);
    assert_eq!((report.timed_out, report.written), (3, 3), "{report}");
    for id in &ids {
        // It is written too: a row whose API never answers must end.
        assert_eq!(bench.state(id), "accepted");
        assert_eq!(bench.progress(id).attempts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_whose_write_hangs_does_not_outlive_the_invocation() {
    let mut bench = Bench::new();
    bench.polling.row_timeout = SignedDuration::from_secs(100);
    bench.due(3).await;
    let mut store = Hanging::new(&bench.store, false);
    store.writes_hang = true;
    let until = bench.world.after(16);
    let (drivers, world) = (&bench.drivers, &*bench.world);
    let run = flows::run(&store, drivers, world, &bench.polling, until);
    let report = run.await.unwrap();
    assert!(bench.now() < until);
    assert_eq!((report.timed_out, report.written), (3, 0), "{report}");
}
