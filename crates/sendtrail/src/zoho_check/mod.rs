//! `sendtrail zoho check`: can this CRM keep the promises?

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Metered as _, Random as _, Usage};
use sendtrail_startup::OsRandom;
use sendtrail_zoho::check::{Options, Point, Report, Verdict, check};
use serde_json::json;

use crate::failure::Failure;
use crate::help;
use crate::output::{Cell, Paint, Screen, json_line, plain, table};
use crate::setup::{Process, environment, open_crm, settings};

#[derive(Debug, Args)]
pub(crate) struct ZohoArgs {
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, global = true)]
    config: Option<std::path::PathBuf>,
    #[command(subcommand)]
    command: ZohoCommand,
}

#[derive(Debug, Subcommand)]
enum ZohoCommand {
    /// Try out on records of its own whether the CRM can keep every promise.
    #[command(after_help = help::ZOHO_CHECK)]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Pairs of writes to send at once on one version, 0 to 200; about two seconds each.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=200))]
    race: u32,
    /// Leave the records of the check in the CRM, to look at them.
    #[arg(long)]
    keep: bool,
}

/// Runs `zoho`; gives what is to be printed and the exit code.
pub(crate) async fn run(
    args: &ZohoArgs,
    screen: Screen,
    process: &Process,
) -> Result<(String, ExitCode), Failure> {
    let ZohoCommand::Check(asked) = &args.command;
    let env = environment(process, args.config.as_deref())?;
    let settings = settings(&env)?;
    let crm = open_crm(&settings, process).await?;
    let options = Options {
        race: asked.race,
        keep: asked.keep,
        list_lag: settings.poller.list_lag,
        unique: format!("{:032x}", OsRandom.bits()),
    };
    let bar = progress(screen);
    let report = check(&crm, &options, &mut |point| tell(&bar, screen, point)).await;
    bar.finish_and_clear();
    let code = if report.failures().next().is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    let text = if screen.json {
        json(&report, &crm.usage())
    } else {
        text(&report, &crm.usage(), screen)
    };
    Ok((text, code))
}

/// A line on standard error for a point that is done.
fn tell(bar: &ProgressBar, screen: Screen, point: &Point) {
    if screen.json {
        return;
    }
    let (_, word) = word(point.verdict);
    let name = point.name;
    bar.suspend(|| {
        // The result tells every point again, so that a line which cannot be written is no loss.
        let _ = writeln!(io::stderr().lock(), "{word:<9}  {name}");
    });
}

/// Tells on standard error, where that is a terminal, that it is still at work.
fn progress(screen: Screen) -> ProgressBar {
    if screen.json {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn json(report: &Report, usage: &Usage) -> String {
    let left: Vec<&str> = report.left.iter().map(HistoryId::as_str).collect();
    json_line(&json!({
        "ok": report.failures().next().is_none(),
        "points": report.points,
        "left": left,
        "calls": usage.calls,
        "credits": usage.credits,
    }))
}

fn word(verdict: Verdict) -> (Paint, &'static str) {
    match verdict {
        Verdict::Pass => (Paint::Good, "pass"),
        Verdict::Fail => (Paint::Bad, "FAIL"),
        Verdict::NotKnown => (Paint::Attention, "not known"),
    }
}

fn text(report: &Report, usage: &Usage, screen: Screen) -> String {
    let row = |point: &Point| {
        let (paint, word) = word(point.verdict);
        vec![
            Cell(paint, word.to_owned()),
            Cell::of(point.name),
            Cell::of(&point.found),
        ]
    };
    let rows: Vec<_> = report.points.iter().map(row).collect();
    let mut text = table(screen, &["RESULT", "POINT", "WHAT THE CRM DID"], &rows);
    for point in &report.points {
        if point.verdict != Verdict::Pass {
            let (paint, word) = word(point.verdict);
            let word = screen.paint(paint, word);
            let _ = writeln!(text, "\n{word}  {}", point.name);
            for line in wrapped(&plain(&point.means), 96) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text.push_str(&summary(report, usage));
    text
}

fn summary(report: &Report, usage: &Usage) -> String {
    let failed: Vec<&str> = report.failures().map(|point| point.name).collect();
    let unknown = report
        .points
        .iter()
        .filter(|point| point.verdict == Verdict::NotKnown);
    let unknown = unknown.count();
    let verdict = match (failed.len(), unknown) {
        (0, 0) => "This CRM can keep every promise.".to_owned(),
        (0, _) => format!("Nothing speaks against this CRM; {unknown} point(s) are not known."),
        (_, _) => format!(
            "Do not run Sendtrail on this CRM as it is: {}.",
            failed.join(", ")
        ),
    };
    let left: Vec<&str> = report.left.iter().map(HistoryId::as_str).collect();
    let left = if left.is_empty() {
        String::new()
    } else {
        format!(
            "Records of the check that are still there: {}\n",
            left.join(", ")
        )
    };
    format!(
        "\n{verdict}\n{left}{} calls, {} credits\n",
        usage.calls, usage.credits
    )
}

/// Lines of at most this many characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdict: Verdict) -> Report {
        Report {
            points: vec![Point {
                name: "guard_past",
                verdict,
                found: "a write \u{1b}[31m is applied".to_owned(),
                means: "edits get lost ".repeat(20),
            }],
            left: vec![HistoryId::parse("57").unwrap()],
        }
    }

    #[test]
    fn a_failure_is_told_with_what_it_means_and_what_to_do() {
        let screen = Screen {
            json: false,
            colour: false,
        };
        let text = text(&report(Verdict::Fail), &Usage::default(), screen);
        assert!(text.contains("FAIL    guard_past"), "{text}");
        assert!(text.contains("Do not run Sendtrail on this CRM as it is: guard_past."));
        assert!(text.contains("still there: 57"));
        assert!(!text.contains('\u{1b}'));
        assert!(text.lines().all(|line| line.chars().count() <= 98));
        let fine = summary(&report(Verdict::Pass), &Usage::default());
        assert!(fine.contains("can keep every promise"));
        let unknown = summary(&report(Verdict::NotKnown), &Usage::default());
        assert!(unknown.contains("1 point(s) are not known"));
    }

    #[test]
    fn no_word_is_lost_when_lines_are_wrapped() {
        let text = "one two three four";
        assert_eq!(wrapped(text, 9), ["one two", "three", "four"]);
        assert_eq!(wrapped(text, 1).concat(), "onetwothreefour");
        assert!(wrapped("", 9).is_empty());
    }
}
