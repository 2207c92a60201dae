//! What is printed. No line of a table is wider than [`WIDTH`].

use std::fmt::Write as _;
use std::time::Duration;

use sendtrail_model::config::Config;
use sendtrail_model::explore::{AN_END, Report, Verdict};
use sendtrail_model::rules::{Mark, Rule};

/// The most characters on a line.
const WIDTH: usize = 100;

/// What the short words of a table mean.
pub(crate) const LEGEND: &str = "\
states    different states that were met
edges     steps from one of them to another
depth     steps to the state that is farthest from the first, by the shortest way
flows     what users and persons start, each once, at any moment; \"at once\": most that run together
pollers   the most that run together, beside the flows; how often one starts is not bounded
deaths    functions that die between two steps
writes    writes to the CRM whose reply is lost, or that arrive late or never
reads     reads, lists, look-ups and searches that fail
429s      calls that the CRM refuses because there are too many
submits   submits whose reply is lost, or that arrive late or never
slow      calls during which time passes
edits     edits by hand
";

/// Words, with commas, in lines of at most [`WIDTH`] characters: the first begins with `first`, the others
/// with as many blanks.
pub(crate) fn list<'a>(first: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    let words: Vec<_> = words.join(",\n").lines().map(str::to_owned).collect();
    wrapped(first, words.iter().map(String::as_str))
}

/// The same without commas.
pub(crate) fn wrapped<'a>(first: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let (mut text, mut line, mut empty) = (String::new(), first.to_owned(), true);
    for word in words {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(first.chars().count());
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text + &line
}

/// The bounds of a configuration, in one line.
pub(crate) fn bounds(config: &Config) -> String {
    let begin = format!("{:?}", config.begin).to_lowercase();
    let mut text = format!("{} from {begin}", count(config.records.into(), "record"));
    let flows = config.jobs.len();
    let _ = write!(text, ", {}", count(flows, "flow"));
    if flows > 1 {
        let _ = write!(text, " ({} at once)", config.together);
    }
    let _ = write!(text, ", {}", count(config.pollers.into(), "poller"));
    let budget = &config.budget;
    for (what, most) in [
        ("deaths", budget.deaths),
        ("writes", budget.writes),
        ("reads", budget.reads),
        ("429s", budget.limits),
        ("submits", budget.submits),
        ("slow", budget.slow),
        ("edits", budget.edits),
    ] {
        if most > 0 {
            let _ = write!(text, ", {what} {most}");
        }
    }
    text
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}

/// Every rule, by name.
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    Rule::ALL.iter().map(|rule| rule.name()).chain([AN_END])
}

/// What `--list` tells.
pub(crate) fn listed(configs: &[Config]) -> String {
    let mut text = String::new();
    for config in configs {
        let _ = writeln!(text, "{:<18} {}", config.name, config.about);
        let _ = writeln!(text, "    {}", bounds(config));
        let goals = config.must_reach.iter().map(|mark| mark.name());
        let _ = writeln!(text, "{}", list("    must come to: ", goals));
    }
    let _ = writeln!(text, "\nRules, judged in every state:");
    for rule in Rule::ALL {
        let second = needs_two(*rule).then_some("  (needs a second record)");
        let _ = writeln!(text, "  {}{}", rule.name(), second.unwrap_or_default());
    }
    let _ = writeln!(
        text,
        "and from every state with a send in flight:\n  {AN_END}\n"
    );
    text + LEGEND
}

/// Whether a rule is about two records.
pub(crate) fn needs_two(rule: Rule) -> bool {
    rule == Rule::OneTwin
}

pub(crate) fn head() -> String {
    format!(
        "{:<18} {:>10} {:>10} {:>6} {:>8}  result\n    bounds",
        "configuration", "states", "edges", "depth", "seconds"
    )
}

pub(crate) fn row(config: &Config, report: &Report) -> String {
    let result = match &report.verdict {
        Verdict::Holds => "holds",
        Verdict::Broken { .. } => "BROKEN",
        Verdict::Vacuous(_) => "VACUOUS",
        Verdict::Grown => "GREW PAST ITS BOUND",
    };
    format!(
        "{:<18} {:>10} {:>10} {:>6} {:>8.1}  {result}\n    {}",
        config.name,
        report.states,
        report.edges,
        report.depth,
        report.took.as_secs_f64(),
        bounds(config)
    )
}

/// What the rows have in common: sums, the rules, what was reached, and each path to a broken rule.
pub(crate) fn foot(
    configs: &[Config],
    reports: &[Report],
    only: Option<&str>,
    took: Duration,
) -> String {
    let mut text = String::new();
    let states: usize = reports.iter().map(|report| report.states).sum();
    let edges: usize = reports.iter().map(|report| report.edges).sum();
    let _ = writeln!(
        text,
        "{:<18} {states:>10} {edges:>10} {:>6} {:>8.1}\n\n{LEGEND}",
        "all",
        "",
        took.as_secs_f64()
    );
    text += &judged(configs, reports, only);
    let reached = |mark: &&Mark| reports.iter().any(|report| report.reached.contains(mark));
    let marks = Mark::ALL.iter().filter(reached).map(|mark| mark.name());
    let _ = writeln!(text, "{}", list("Met on the way: ", marks));
    for (config, report) in configs.iter().zip(reports) {
        match &report.verdict {
            Verdict::Holds => {}
            Verdict::Grown => {
                let most = config.most_steps;
                let _ = writeln!(
                    text,
                    "\n{}: grew past its bound of {most} steps",
                    config.name
                );
            }
            Verdict::Broken { rule, path } => {
                let _ = writeln!(
                    text,
                    "\n{}: {rule} is broken, in {} steps:",
                    config.name,
                    path.len()
                );
                for line in path {
                    let _ = writeln!(text, "  {line}");
                }
            }
            Verdict::Vacuous(missing) => {
                let first = format!("{}: never came to: ", config.name);
                let _ = writeln!(text, "\n{}", list(&first, missing.iter().copied()));
            }
        }
    }
    text
}

/// The rules that were judged, and which of them were broken.
fn judged(configs: &[Config], reports: &[Report], only: Option<&str>) -> String {
    let two = configs.iter().any(|config| config.one_twin);
    let line = |rule: &str, can_break: bool| {
        let broken = configs.iter().zip(reports).filter(|(_, report)| {
            matches!(&report.verdict, Verdict::Broken { rule: broken, .. } if *broken == rule)
        });
        let broken: Vec<_> = broken.map(|(config, _)| config.name).collect();
        match (can_break, broken.is_empty()) {
            (false, _) => format!("  {rule}: not judged, no second record here\n"),
            (true, true) => format!("  {rule}\n"),
            (true, false) => format!("  {rule}: BROKEN in {}\n", broken.join(", ")),
        }
    };
    let mut text = String::new();
    let mut rules = Rule::ALL
        .iter()
        .filter(|rule| only.is_none_or(|only| only == rule.name()))
        .peekable();
    if rules.peek().is_some() {
        text += "Judged in every state that was met:\n";
    }
    for rule in rules {
        text += &line(rule.name(), two || !needs_two(*rule));
    }
    text += "Judged from every state with a send in flight:\n";
    text += &line(AN_END, true);
    if reports
        .iter()
        .any(|report| matches!(report.verdict, Verdict::Broken { .. }))
    {
        text += "A configuration in which a rule is broken ends there, and says nothing of the others.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_keeps_within_the_width() {
        for short in [true, false] {
            let text = listed(&sendtrail_model::config::all(short));
            let wide: Vec<_> = text
                .lines()
                .filter(|line| line.chars().count() > WIDTH)
                .collect();
            assert!(wide.is_empty(), "{wide:#?}");
        }
    }

    #[test]
    fn a_long_list_goes_on_below_its_first_word() {
        let words = ["w".repeat(60), "x".repeat(60), "y z".to_owned()];
        let text = list("ab: ", words.iter().map(String::as_str));
        let lines: Vec<_> = text.lines().collect();
        let [first, second] = lines[..] else {
            panic!("{text}");
        };
        assert_eq!(first, format!("ab: {},", words[0]));
        assert_eq!(second, format!("    {}, y z", words[1]));
    }

    #[test]
    fn a_rule_about_two_records_is_not_told_as_judged_where_there_is_one() {
        let all = sendtrail_model::config::all(true);
        let (two, one): (Vec<_>, Vec<_>) = all.into_iter().partition(|config| config.one_twin);
        let told = |configs: &[Config]| judged(configs, &[], None);
        let line = format!("  {}: not judged", Rule::OneTwin.name());
        assert!(told(&one).contains(&line));
        assert!(!two.is_empty() && !told(&two).contains(&line));
    }

    #[test]
    fn a_run_for_one_rule_tells_that_rule_and_the_end() {
        let all = sendtrail_model::config::all(true);
        let told = judged(&all, &[], Some(Rule::Grace.name()));
        let rules: Vec<_> = rules().filter(|rule| told.contains(rule)).collect();
        assert_eq!(rules, [Rule::Grace.name(), AN_END]);
    }
}
