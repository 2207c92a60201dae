//! The check of a CRM against the simulated one.

use jiff::SignedDuration;
use sendtrail_core::ports::Metered as _;
use sendtrail_simulator::crm::{Crm, CrmConfig, Guard, RefreshToken, Switches, Unique};
use sendtrail_zoho::check::{Options, Report, Verdict, check};

use crate::simulated::{MODULE, Simulated, client};

fn options() -> Options {
    Options {
        race: 2,
        keep: false,
        list_lag: SignedDuration::from_secs(60),
        unique: "t1".to_owned(),
    }
}

async fn checked(switches: Switches) -> (Simulated, Report) {
    let crm = Simulated::start(switches).await;
    let report = check(&crm.zoho, &options(), &mut |_| {}).await;
    (crm, report)
}

fn failed(report: &Report) -> Vec<&'static str> {
    report.failures().map(|point| point.name).collect()
}

#[tokio::test]
async fn a_crm_that_can_keep_the_promises_passes_every_point_and_nothing_is_left() {
    let (crm, report) = checked(Switches::default()).await;
    for point in &report.points {
        assert_eq!(point.verdict, Verdict::Pass, "{point:#?}");
        assert!(!point.found.is_empty() && !point.means.is_empty());
    }
    assert!(report.left.is_empty());
    let left = crm.crm.records(MODULE).unwrap();
    assert!(left.len() >= 3 && left.iter().all(|record| record.deleted));
    // One more than a few, one less than many: it is run by hand.
    let calls = crm.zoho.usage().calls;
    assert!((60..160).contains(&calls), "{calls} calls");
}

#[tokio::test]
async fn every_update_of_a_check_carries_a_guard_and_no_record_of_others_is_touched() {
    let crm = Simulated::start(Switches::default()).await;
    let ids = crm.seed(&[("accepted", None), ("saved", None)]);
    let before: Vec<_> = ids
        .iter()
        .map(|id| crm.crm.record(MODULE, id.as_str()).unwrap())
        .collect();
    check(&crm.zoho, &options(), &mut |_| {}).await;
    for (id, before) in ids.iter().zip(before) {
        assert_eq!(crm.crm.record(MODULE, id.as_str()).unwrap(), before);
    }
}

#[tokio::test]
async fn while_it_runs_no_record_of_it_is_due() {
    let crm = Simulated::start(Switches::default()).await;
    let watched = crm.crm.url().to_owned();
    let mut most = 0;
    let mut points = 0;
    let mut tell = |_: &_| {
        points += 1;
        let rows = crm.crm.records(MODULE).unwrap();
        let due = rows.iter().filter(|row| {
            let in_flight = ["sending", "accepted"];
            let text = |name: &str| row.fields[name].as_str().unwrap_or_default().to_owned();
            in_flight.contains(&text("Delivery_State").as_str())
                && !text("Next_Check_At").starts_with("2099")
        });
        most = most.max(due.count());
    };
    check(&crm.zoho, &options(), &mut tell).await;
    assert!(points > 15, "{watched}");
    assert_eq!(most, 0);
}

#[tokio::test]
async fn records_that_may_not_be_deleted_are_named_and_left() {
    let config = CrmConfig::default();
    let mut config = config;
    let read = ["READ", "CREATE", "UPDATE"].map(|what| format!("ZohoCRM.modules.{MODULE}.{what}"));
    let mut scopes = read.to_vec();
    scopes.extend(["ZohoCRM.coql.READ".into(), "ZohoCRM.files.CREATE".into()]);
    config.clients[0].refresh_tokens = vec![RefreshToken {
        token: "1000.refresh.intake".into(),
        scopes,
    }];
    let crm = Crm::start(config).await.unwrap();
    let report = check(&client(&crm), &options(), &mut |_| {}).await;
    assert_eq!(failed(&report), Vec::<&str>::new());
    assert!(report.left.len() >= 3);
    let last = report.points.last().unwrap();
    assert_eq!((last.name, last.verdict), ("clean_up", Verdict::NotKnown));
    assert!(last.found.contains("OAUTH_SCOPE_MISMATCH"), "{last:?}");
}

#[tokio::test]
async fn without_the_right_to_create_it_says_so_and_stops() {
    let mut config = CrmConfig::default();
    config.clients[0].refresh_tokens = vec![RefreshToken {
        token: "1000.refresh.intake".into(),
        scopes: vec![format!("ZohoCRM.modules.{MODULE}.READ")],
    }];
    let crm = Crm::start(config).await.unwrap();
    let report = check(&client(&crm), &options(), &mut |_| {}).await;
    assert_eq!(report.points.len(), 1);
    assert_eq!(failed(&report), ["create"]);
    assert!(report.points[0].means.contains("scopes"));
}

#[tokio::test]
async fn a_race_is_seen_only_when_it_is_run() {
    let two_steps = || Switches {
        guard: Guard::Racy,
        ..Switches::default()
    };
    let (_, report) = checked(two_steps()).await;
    assert_eq!(failed(&report), ["guard_race"]);
    let crm = Simulated::start(two_steps()).await;
    let without = Options {
        race: 0,
        ..options()
    };
    let report = check(&crm.zoho, &without, &mut |_| {}).await;
    assert_eq!(failed(&report), Vec::<&str>::new());
    let race = report.points.iter().find(|one| one.name == "guard_race");
    assert_eq!(race.unwrap().verdict, Verdict::NotKnown);
}

#[tokio::test]
async fn a_failure_says_which_promise_breaks_and_what_still_holds() {
    let (_, report) = checked(Switches {
        guard: Guard::Ignored,
        unique: Unique::Ignored,
        ..Switches::default()
    })
    .await;
    let means = |name: &str| {
        let point = report.failures().find(|point| point.name == name);
        point.map(|point| point.means.clone()).unwrap_or_default()
    };
    assert!(means("guard_past").contains("a document can go out twice"));
    assert!(means("guard_past").contains("The functions refuse to write"));
    assert!(means("unique").contains("The first is used"));
}
