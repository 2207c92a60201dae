//! The CRM, where a configuration and the operator's credentials are at hand.

use std::path::Path;

use jiff::Timestamp;
use sendtrail_core::ports::{ListHistory as _, Random as _};
use sendtrail_startup::OsRandom;
use sendtrail_zoho::check::{Options, check};

use super::check::Check;
use crate::aws::Names;
use crate::setup::{Process, environment, open_crm, settings};

const REACHED: &str = "CRM answers";
const GUARD: &str = "CRM keeps the promises";

/// That it answers, and that it guards writes: what `sendtrail zoho check` tries, without writes at once.
pub(super) async fn checks(names: &Names, config: Option<&Path>, process: &Process) -> Vec<Check> {
    let skipped = |found: &str, advice: &str| {
        [REACHED, GUARD]
            .map(|name| Check::skipped(name, found, advice))
            .to_vec()
    };
    let settings = environment(process, config).and_then(|env| settings(&env));
    let Ok(settings) = settings else {
        let advice = "name a configuration with --config; `sendtrail config check` says what is wrong with one";
        return skipped("no configuration is at hand", advice);
    };
    if settings.stage != names.stage {
        let found = format!("the configuration is that of stage {}", settings.stage);
        return skipped(&found, "name the stack's own configuration with --config");
    }
    let crm = match open_crm(&settings, process).await {
        Ok(crm) => crm,
        Err(failure) => {
            let why = failure.message.lines().next().unwrap_or_default();
            return skipped("the operator's credentials are not at hand", why);
        }
    };
    let reached = match crm.count_due(Timestamp::now()).await {
        Ok(due) => Check::ok(REACHED, format!("{due} row(s) are due")),
        Err(error) => {
            let advice = "see crm.api_url, the token and its scopes";
            let refused = Check::failed(REACHED, error.to_string(), advice);
            let advice = "after the CRM answers";
            return vec![refused, Check::skipped(GUARD, "not tried", advice)];
        }
    };
    let options = Options {
        race: 0,
        keep: false,
        list_lag: settings.poller.list_lag,
        unique: format!("{:032x}", OsRandom.bits()),
    };
    let report = check(&crm, &options, &mut |_| {}).await;
    let failures: Vec<_> = report.failures().map(|point| point.name).collect();
    let guard = if failures.is_empty() {
        Check::ok(
            GUARD,
            format!("{} points, none failed", report.points.len()),
        )
    } else {
        let advice = "do not send; `sendtrail zoho check` tells more";
        Check::failed(GUARD, failures.join(", "), advice)
    };
    vec![reached, guard]
}
