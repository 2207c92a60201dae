//! What every list must give.

use jiff::SignedDuration;

use super::{Subject, base, order, progress, saved, written};
use crate::flows::{Saved, save};
use crate::ids::{DriverId, ExternalId, FileId, HistoryId, Reference, RequestKey, Sha256Hash};
use crate::ports::{
    Clock as _, FindTwins as _, ListHistory as _, ListQuery, ListStart, UntouchedQuery,
    clock_deadline,
};
use crate::progress::{
    ConfirmedDocument, Progress, Submission, SubmissionOutcome, SubmitEvidence, Unknown,
    whole_seconds,
};
use crate::record::StateField;

/// Due rows come in the order of their next check, page by page, each once; rows not due never come.
pub async fn due_rows_are_listed_in_order_and_once(subject: &impl Subject) {
    let now = subject.world().now();
    let mut expected = Vec::new();
    // Two with an empty next check, three that are due, one that is not, one past its deadline.
    let plan = [
        None,
        Some(-30),
        Some(-10),
        None,
        Some(-20),
        Some(3_600),
        Some(7_200),
    ];
    for (index, due) in plan.into_iter().enumerate() {
        let id = saved(subject).await;
        written(subject, &id, |progress| {
            if index == 6 {
                progress.set_deadline(clock_deadline(now, SignedDuration::from_secs(-5)));
            }
            if let Some(seconds) = due {
                progress.check_at(clock_deadline(now, SignedDuration::from_secs(seconds)));
            }
        })
        .await;
        subject.type_state(&id, "accepted").await;
        if index != 5 {
            expected.push(id);
        }
    }
    let mut seen = Vec::new();
    let mut start = ListStart::First;
    let now = subject.world().now();
    for _ in 0..20 {
        let query = ListQuery {
            now,
            limit: 2,
            start,
        };
        let page = match subject.store().list_due(&query).await {
            Ok(page) => page,
            Err(error) => panic!("list: {error}"),
        };
        assert!(page.rows.len() <= 2);
        seen.extend(page.rows.into_iter().map(|row| row.record.id));
        match page.next {
            Some(cursor) => start = ListStart::After(cursor),
            None => break,
        }
        // A row that leaves the list between two pages hides no other.
        if seen.len() == 2 {
            subject.type_state(&seen[0], "succeeded").await;
        }
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), seen.len(), "a row came twice");
    expected.sort();
    assert_eq!(sorted, expected);
    // The first row left meanwhile; the others are still due.
    match subject.store().count_due(now).await {
        Ok(count) => assert_eq!(count, expected.len() as u64 - 1),
        Err(error) => panic!("count: {error}"),
    }
    for id in &expected {
        subject.type_state(id, "succeeded").await;
    }
}

/// The copies that a write makes of the progress read back, singly and from a list, filled and emptied.
pub async fn the_copies_of_a_write_read_back(subject: &impl Subject) {
    let id = saved(subject).await;
    let now = whole_seconds(subject.world().now());
    let (check, deadline) = (
        clock_deadline(now, SignedDuration::from_secs(-50)),
        clock_deadline(now, SignedDuration::from_secs(-40)),
    );
    written(subject, &id, |progress| {
        progress.set_deadline(deadline);
        progress.check_at(check);
        progress.submission = Some(submission());
    })
    .await;
    subject.type_state(&id, "accepted").await;
    let single = base(subject, &id).await.record().clone();
    let query = ListQuery {
        now: subject.world().now(),
        limit: 200,
        start: ListStart::First,
    };
    let page = match subject.store().list_due(&query).await {
        Ok(page) => page,
        Err(error) => panic!("list: {error}"),
    };
    let listed = page.rows.into_iter().find(|row| row.record.id == id);
    for record in [Some(single), listed.map(|row| row.record)] {
        let record = record.unwrap_or_else(|| panic!("the row is due and was not listed"));
        assert_eq!(record.next_check_at, Some(check));
        assert_eq!(record.deadline, Some(deadline));
        assert_eq!(record.external_id.as_deref(), Some("ltr_1"));
    }
    written(subject, &id, |progress| {
        progress.clear_schedule();
        progress.submission = None;
    })
    .await;
    let emptied = base(subject, &id).await.record().clone();
    assert_eq!((emptied.next_check_at, emptied.deadline), (None, None));
    assert_eq!(emptied.external_id, None);
    subject.type_state(&id, "succeeded").await;
}

/// Records of one document from one source record are found, the newest first, whatever their state says,
/// with what tells whether they were sent. Those of another document, or of another source record, are not.
#[expect(clippy::expect_used, reason = "test code")]
pub async fn twins_are_found_whatever_their_state(subject: &impl Subject) {
    let shared = order(subject, b"body");
    let hash = Sha256Hash::of(subject.unique().as_bytes());
    let mut ids = Vec::new();
    for number in 0..4 {
        let mut order = order(subject, b"body");
        if number < 3 {
            order.input = shared.input.clone();
            order.stored.clone_from(&shared.stored);
        }
        order.key = RequestKey::parse(&format!("{}_{number}", order.key)).expect("a key");
        let Saved::Saved(record) = save(subject.store(), subject.world(), &order).await else {
            panic!("not saved");
        };
        let hash = if number == 2 {
            Sha256Hash::of(b"another")
        } else {
            hash
        };
        written(subject, &record.id, |progress| {
            progress.document = Some(document(hash));
            progress.submission = (number == 1).then(submission);
        })
        .await;
        ids.push(record.id);
    }
    subject.type_state(&ids[0], "almost done").await;
    subject.type_state(&ids[1], "confirmed").await;
    let source = &shared.input.source;
    let store = subject.store();
    let twins = match store.twins(&source.module, &source.record_id, &hash).await {
        Ok(twins) => twins,
        Err(error) => panic!("twins: {error}"),
    };
    let found: Vec<_> = twins.iter().map(|twin| twin.record.id.clone()).collect();
    assert_eq!(found, [ids[1].clone(), ids[0].clone()]);
    for (twin, id) in twins.iter().zip([&ids[1], &ids[0]]) {
        let single = base(subject, id).await;
        assert_eq!(twin.version_at, single.version_at());
        assert_eq!(twin.record.state, single.record().state);
        assert_eq!(twin.record.external_id, single.record().external_id);
        let listed = Progress::decode(twin.record.progress.as_deref());
        assert_eq!(listed, Ok(progress(&single)));
    }
    assert_eq!(
        twins[1].record.state,
        StateField::Unknown("almost done".to_owned())
    );
    assert_eq!(twins[0].record.external_id.as_deref(), Some("ltr_1"));
}

/// Rows in flight that have not been written since come page by page, the longest untouched first, whatever
/// their date fields say; younger rows and those in no flight do not.
pub async fn rows_that_nobody_wrote_are_listed_whatever_their_dates(subject: &impl Subject) {
    let mut ids: Vec<HistoryId> = Vec::new();
    for state in ["accepted", "sending", "succeeded", "accepted"] {
        let id = saved(subject).await;
        written(subject, &id, |progress| {
            let far = SignedDuration::from_hours(24 * 365);
            progress.check_at(clock_deadline(subject.world().now(), far));
        })
        .await;
        subject.type_state(&id, state).await;
        ids.push(id);
        subject.world().sleep(SignedDuration::from_secs(2)).await;
    }
    let before = base(subject, &ids[2]).await.version_at();
    let (mut seen, mut more) = (Vec::new(), true);
    while more {
        let query = UntouchedQuery {
            before,
            limit: 1,
            offset: seen.len() as u64,
        };
        let page = match subject.store().list_untouched(&query).await {
            Ok(page) => page,
            Err(error) => panic!("list: {error}"),
        };
        assert!(page.rows.len() <= 1 && seen.len() < 100);
        more = page.more;
        seen.extend(page.rows);
    }
    match subject.store().count_untouched(before).await {
        Ok(count) => assert_eq!(count, seen.len() as u64),
        Err(error) => panic!("count: {error}"),
    }
    assert!(seen.is_sorted_by_key(|row| row.stamp.version_at));
    let seen: Vec<_> = seen.into_iter().map(|row| row.record.id).collect();
    let ours: Vec<_> = seen.iter().filter(|id| ids.contains(id)).collect();
    assert_eq!(ours, [&ids[0], &ids[1]]);
    for id in &ids {
        subject.type_state(id, "succeeded").await;
    }
}

#[expect(clippy::expect_used, reason = "test code")]
fn submission() -> Submission {
    Submission {
        driver: DriverId::parse("letter").expect("a driver"),
        reference: Reference::parse("st_1").expect("a reference"),
        outcome: SubmissionOutcome::Accepted,
        external_id: ExternalId::parse("ltr_1").ok(),
        at: jiff::Timestamp::UNIX_EPOCH,
        evidence: SubmitEvidence::default(),
        unknown: Unknown::default(),
    }
}

#[expect(clippy::expect_used, reason = "test code")]
fn document(sha256: Sha256Hash) -> ConfirmedDocument {
    ConfirmedDocument {
        sha256,
        bytes: 1,
        file_id: FileId::parse("file_1").expect("a file"),
        confirmed_at: jiff::Timestamp::UNIX_EPOCH,
        input_sha256: sha256,
        seal: String::new(),
        unknown: Unknown::default(),
    }
}
