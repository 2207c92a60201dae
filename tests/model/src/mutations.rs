//! Breaks the product on purpose, in a copy of the tree: a rule that catches nothing proves nothing.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use clap::Args;
use sendtrail_model::mutation::Mutation;

use crate::table;

/// The command `mutations`.
#[derive(Args)]
pub(crate) struct Mutations {
    /// Only those that are marked `short: yes`.
    ///
    /// The bounds are those that each mutation names.
    #[arg(long)]
    short: bool,
    /// Only these; may be given several times.
    #[arg(long = "only", value_name = "NAME")]
    names: Vec<String>,
    /// Tell what there is, and build nothing.
    #[arg(long)]
    list: bool,
    /// The root of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

impl Mutations {
    pub(crate) fn run(&self) -> io::Result<bool> {
        let (root, all) = self.chosen()?;
        if self.list {
            let mut out = io::stdout().lock();
            for mutation in &all {
                let mark = if mutation.short { "short" } else { "" };
                let row = format!("{:<28} {:<44} {mark}", mutation.name, mutation.catcher);
                writeln!(out, "{}\n{}", row.trim_end(), what(mutation))?;
            }
            return Ok(true);
        }
        let mut survived = Vec::new();
        match judge_all(&root, &all, &mut survived) {
            // Nobody reads any more; what survived so far is still said by how this ends.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            told => told?,
        }
        Ok(survived.is_empty() && !all.is_empty())
    }

    /// The root, and the mutations that were asked for.
    fn chosen(&self) -> io::Result<(PathBuf, Vec<Mutation>)> {
        let folder = Path::new("tests").join("model").join("mutations");
        if !self.root.join(&folder).is_dir() {
            return Err(io::Error::other(format!(
                "no {} in {}; run it at the repository's root or give --root",
                folder.display(),
                self.root.display()
            )));
        }
        let root = self.root.canonicalize()?;
        let mut all = Mutation::all(&root)?;
        for name in &self.names {
            crate::known("mutation", name, all.iter().map(|m| m.name.as_str()))?;
        }
        all.retain(|m| self.names.is_empty() || self.names.contains(&m.name));
        if self.short {
            if let Some(long) = all.iter().find(|m| !m.short && !self.names.is_empty()) {
                return Err(io::Error::other(format!(
                    "{} is not marked `short: yes`; leave --short out",
                    long.name
                )));
            }
            all.retain(|mutation| mutation.short);
        }
        Ok((root, all))
    }
}

fn judge_all(root: &Path, all: &[Mutation], survived: &mut Vec<String>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<28} {:>9} {:>7}  caught by\n    in a configuration: what is broken",
        "mutation", "states", "seconds"
    )?;
    let copy = Copy::of(root)?;
    let start = Instant::now();
    for mutation in all {
        let _ = writeln!(io::stderr(), "{}", mutation.name);
        let begun = Instant::now();
        let (states, verdict) = match copy.judge(mutation)? {
            Judged::Caught { states } => (states, mutation.catcher.as_str()),
            Judged::Not { why } => {
                survived.push(format!("{}: {why}", mutation.name));
                ("-".to_owned(), "NOT CAUGHT")
            }
        };
        writeln!(
            out,
            "{:<28} {states:>9} {:>7.1}  {verdict}\n{}",
            mutation.name,
            begun.elapsed().as_secs_f64(),
            what(mutation)
        )?;
        out.flush()?;
    }
    let caught = all.len() - survived.len();
    writeln!(
        out,
        "{caught} of {} caught, {:.0} s",
        all.len(),
        start.elapsed().as_secs_f64()
    )?;
    for why in survived.iter() {
        writeln!(out, "\n{why}")?;
    }
    out.flush()
}

/// Where a mutation is looked for, and what it breaks.
fn what(mutation: &Mutation) -> String {
    let bounds = if mutation.full { "full" } else { "short" };
    let first = format!("    in {}, {bounds} bounds: ", mutation.config);
    table::wrapped(&first, mutation.rule.split_whitespace())
}

/// A copy of the tree, without what git does not know, that is gone at the end.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

enum Judged {
    Caught { states: String },
    Not { why: String },
}

impl Copy {
    fn of(root: &Path) -> io::Result<Self> {
        let tree = std::env::temp_dir().join(format!("sendtrail-mutations-{}", std::process::id()));
        // The target folder stays, so that a second start builds what changed alone.
        let target = root.join("target").join("mutations");
        let copy = Self { tree, target };
        let listed = run(Command::new("git").current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        for name in String::from_utf8_lossy(&listed.stdout)
            .split('\0')
            .filter(|name| !name.is_empty())
        {
            let (from, to) = (root.join(name), copy.tree.join(name));
            if from.is_file() {
                fs::create_dir_all(to.parent().unwrap_or(&copy.tree))?;
                fs::copy(from, to)?;
            }
        }
        Ok(copy)
    }

    /// Applies the mutation, builds, explores, and takes it back.
    fn judge(&self, mutation: &Mutation) -> io::Result<Judged> {
        let patch = |extra: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&self.tree)
                .arg("apply")
                .args(extra)
                .arg(&mutation.path)
                .output()
        };
        let applied = patch(&[])?;
        if !applied.status.success() {
            return Ok(not("the patch does not apply", &applied));
        }
        let judged = self.build_and_explore(mutation);
        let back = patch(&["--reverse"])?;
        if !back.status.success() {
            return Err(io::Error::other(format!(
                "{} cannot be taken back",
                mutation.name
            )));
        }
        judged
    }

    fn build_and_explore(&self, mutation: &Mutation) -> io::Result<Judged> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .args([
                "build",
                "--quiet",
                "--profile",
                "proof",
                "-p",
                "sendtrail-model",
            ])
            .output()?;
        if !built.status.success() {
            return Ok(not("it does not compile", &built));
        }
        let mut model = Command::new(self.target.join("proof").join("sendtrail-model"));
        if !mutation.full {
            model.arg("--short");
        }
        let explored = model
            .args(["--config", &mutation.config, "--rule", &mutation.catcher])
            .output()?;
        let text = String::from_utf8_lossy(&explored.stdout);
        let caught = format!("{}: {} is broken", mutation.config, mutation.catcher);
        if explored.status.code() != Some(1) || !text.contains(&caught) {
            return Ok(not("it survives: its rule is not broken", &explored));
        }
        let row = text.lines().find(|line| line.starts_with(&mutation.config));
        let states = row.and_then(|row| row.split_whitespace().nth(1));
        Ok(Judged::Caught {
            states: states.unwrap_or("-").to_owned(),
        })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.tree);
    }
}

fn not(what: &str, output: &Output) -> Judged {
    let mut why = format!("{what} ({})", output.status);
    for text in [&output.stdout, &output.stderr] {
        for line in String::from_utf8_lossy(text)
            .lines()
            .filter(|line| !line.is_empty())
            .take(60)
        {
            let _ = write!(why, "\n  {line}");
        }
    }
    Judged::Not { why }
}

fn run(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }
}
