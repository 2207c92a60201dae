//! The command: runs seeds, the table of costs and the proof of fairness.

mod out;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use out::Out;
use sendtrail_simulation::actors::Demand;
use sendtrail_simulation::checker::Promise;
use sendtrail_simulation::cost;
use sendtrail_simulation::fairness::Load;
use sendtrail_simulation::many::run_many;
use sendtrail_simulation::run::{Plan, excused, run};
use sendtrail_simulation::sim::Sabotage;

/// Runs the real flows of Sendtrail in virtual time, with everything going wrong that can.
///
/// Each seed is one world: users, operators and people who edit by hand, a CRM, two send APIs, the schedule.
/// The same seed is the same run, event by event. A promise that does not hold is printed with its seed and
/// the event log of its world, and ends the command with 1.
#[derive(Debug, Parser)]
#[command(name = "sendtrail-simulation", args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  cargo xtask simulate                                  a minute's worth
  cargo xtask simulate --seeds 1 --from 77 --log        seed 77 again, with its event log
  cargo xtask simulate --seeds 2000 --sends 500 --hours 48 --jobs 2
                                                        a million sends
  cargo xtask simulate cost                             look-ups and credits, against every tick
  cargo xtask simulate fairness                         ten thousand rows in flight")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    seeds: Seeds,
}

/// More sends than this do not fit in the memory of one world.
const MOST_SENDS: u64 = 10_000_000;
/// Each is a thread.
const MOST_JOBS: u64 = 1_024;

#[derive(Debug, Args)]
struct Seeds {
    /// How many seeds, one world each.
    #[arg(long = "seeds", value_name = "SEEDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Sends in each world.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MOST_SENDS))]
    sends: u64,
    /// Hours over which they are pressed; each world goes on for 30 hours more under faults, then in calm
    /// until all has ended.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    hours: i64,
    /// Print the event log; only with `--seeds 1`.
    #[arg(long)]
    log: bool,
    /// Clocks differ by up to ten minutes, far beyond the margin: what a sweep does beside a living submit is
    /// then not held against it. That documents go out at most once still is.
    #[arg(long)]
    far_clocks: bool,
    /// Worlds at once. Each is single-threaded whatever this is.
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_JOBS))]
    jobs: usize,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look-ups, CRM calls and credits for sends that take an hour, a day and a week: the shipped backoff
    /// against look-ups at every tick. Fails where the backoff costs more than half. Takes about 20 seconds.
    Cost,
    /// Ten thousand rows in flight, a third of which can never be written, arrivals and a rate limit: in how
    /// many runs is every due row visited. Fails beyond the stated bound. Takes about 80 seconds.
    Fairness,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        None => simulate(&cli.seeds),
        Some(Command::Cost) => cost(),
        Some(Command::Fairness) => fairness(),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(seeds: &Seeds) -> io::Result<ExitCode> {
    if seeds.log && seeds.count != 1 {
        let what = "--log prints the event log of one seed: add --seeds 1, and --from for which";
        Cli::command()
            .error(ErrorKind::ArgumentConflict, what)
            .exit();
    }
    if seeds.from.checked_add(seeds.count - 1).is_none() {
        let what = format!(
            "--from {} and --seeds {} go beyond the last seed, {}",
            seeds.from,
            seeds.count,
            u64::MAX
        );
        Cli::command()
            .error(ErrorKind::ValueValidation, what)
            .exit();
    }
    let plan = Plan {
        seed: seeds.from,
        demand: Demand {
            sends: seeds.sends,
            hours: seeds.hours,
        },
        keeps_log: false,
        sabotage: seeds.far_clocks.then_some(Sabotage::FarClocks),
    };
    let mut out = Out::new();
    let started = Instant::now();
    let mut told = started;
    let many = run_many(&plan, seeds.count, seeds.jobs, |done| {
        if told.elapsed().as_secs() >= 10 {
            told = Instant::now();
            let seconds = started.elapsed().as_secs();
            let _ = writeln!(
                io::stderr(),
                "{done} of {} seeds in {seconds} s",
                seeds.count
            );
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    match many {
        Ok(report) => {
            if seeds.log {
                write_log(&mut out, &plan)?;
            }
            write!(out, "{}", report.table())?;
            writeln!(out, "promises checked in every world, and held")?;
            let excused = excused(plan.sabotage);
            for promise in Promise::ALL.iter().filter(|one| !excused.contains(one)) {
                writeln!(out, "  {}", promise.label())?;
            }
            for promise in excused {
                writeln!(out, "  (not promised here: {})", promise.label())?;
            }
            writeln!(out, "wall time {seconds:.1} s; every promise held")?;
            let short = report.shortfalls();
            for one in &short {
                writeln!(out, "the worlds did not come to {one}")?;
            }
            Ok(if short.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Err(broke) => {
            let (seed, outcome) = *broke;
            write_log(&mut out, &Plan { seed, ..plan })?;
            if let Some(broken) = &outcome.broken {
                writeln!(out, "{broken}")?;
            }
            let Seeds { sends, hours, .. } = seeds;
            let far = if seeds.far_clocks {
                " --far-clocks"
            } else {
                ""
            };
            writeln!(
                out,
                "seed {seed}; again: cargo xtask simulate --seeds 1 --from {seed} --sends {sends} --hours {hours}{far} --log"
            )?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The log is not kept in a run of many: the same seed gives it again.
fn write_log(out: &mut Out, plan: &Plan) -> io::Result<()> {
    let keeps_log = true;
    out.write_all(run(&Plan { keeps_log, ..*plan }).log.as_bytes())
}

fn cost() -> io::Result<ExitCode> {
    let mut out = Out::new();
    let single = cost::single();
    writeln!(
        out,
        "One send, without the poller's lists:\n{}",
        cost::table(&single)
    )?;
    let dense = cost::dense();
    writeln!(
        out,
        "Many sends in one day, without the poller's lists:\n{}",
        cost::table(&dense)
    )?;
    writeln!(out, "The poller's lists, in credits:")?;
    for one in &dense {
        let (backoff, fixed) = (one.backoff.lists, one.fixed.lists);
        writeln!(
            out,
            "  {:<12} {backoff:>5} under backoff, {fixed:>5} under look-ups at every tick",
            one.driver
        )?;
    }
    let idle = cost::idle_day();
    writeln!(
        out,
        "  nothing to do: {} in a day: one for each of {} ticks, and {} extra lists",
        idle.runs + idle.extra,
        idle.runs,
        idle.extra
    )?;
    let all = || single.iter().chain(&dense);
    let dear: Vec<_> = all().filter(|one| !one.is_at_most_half()).collect();
    for one in &dear {
        writeln!(out, "MORE THAN HALF: {one:?}")?;
    }
    let is_true = [&single, &dense].map(|some| cost::calls_are_credits(some));
    if is_true.contains(&false) {
        writeln!(out, "CALLS ARE NOT CREDITS: the tables show credits only")?;
    }
    Ok(if dear.is_empty() && !is_true.contains(&false) {
        writeln!(out, "the backoff costs at most half")?;
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn fairness() -> io::Result<ExitCode> {
    let mut out = Out::new();
    writeln!(
        out,
        "\
pages    most rows    bound  worst wait  median wait              429s of the   wall time
in a run due at once  (runs)     (runs)       (runs)  visits         send API   (seconds)"
    )?;
    for (max_pages, runs) in [(5, 300), (2, 1_100)] {
        let load = Load {
            seed: 1,
            rows: 10_000,
            poisoned: 333_333,
            arrivals: 6,
            page_rows: 200,
            max_pages,
            rate_per_second: 20,
            spare: 5,
            runs,
            fires_each: 1,
        };
        let started = Instant::now();
        let seen = match load.watch() {
            Ok(seen) => seen,
            Err(why) => {
                writeln!(out, "UNFAIR with {max_pages} pages: {why}")?;
                return Ok(ExitCode::FAILURE);
            }
        };
        let seconds = started.elapsed().as_secs();
        writeln!(
            out,
            "{max_pages:>8} {:>11} {:>7} {:>11} {:>12} {:>7} {:>16} {seconds:>11}",
            seen.backlog, seen.bound, seen.worst, seen.median, seen.visits, seen.limited
        )?;
    }
    writeln!(out, "every due row was visited within the bound")?;
    Ok(ExitCode::SUCCESS)
}
