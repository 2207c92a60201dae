//! `sendtrail measure --starts`: from spawn to the first request for work, of each function and of a plain Python
//! one, in one run against one Runtime API.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use sendtrail_simulator::parameters::{
    ParameterKind, ParameterSwitches, Parameters, ParametersConfig, ParametersHandle,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

use super::measure::MeasureError;
use super::secrets;

const FUNCTIONS: [&str; 3] = ["intake", "side-effect", "poller"];
/// Lambda's own limit for a start.
const LONGEST: Duration = Duration::from_secs(10);
/// A function may take this part of what the Python one does.
const BUDGET: f64 = 1.0 / 3.0;

/// What is started.
struct Subject {
    name: &'static str,
    secrets: &'static str,
    binary: PathBuf,
    variables: BTreeMap<&'static str, String>,
    starts: Vec<f64>,
}

/// A Python with awslambdaric, and the folder of the handler.
pub(super) struct Python<'a> {
    pub(super) interpreter: &'a Path,
    pub(super) handler: &'a Path,
}

/// Starts everything `runs` times, in turn, so that what else the machine does meets all alike. Gives the table,
/// and whether the budget is kept.
pub(super) async fn measure(
    functions: &Path,
    configuration: &Path,
    python: Option<&Python<'_>>,
    runs: u8,
) -> Result<(String, bool), MeasureError> {
    let functions = std::path::absolute(functions)?;
    let services = services().await?;
    let folder = configuration.parent().unwrap_or(Path::new(""));
    let in_services = folder.join("from-parameters.toml");
    move_secrets(configuration, &in_services, &services)?;
    let mut subjects = Vec::new();
    for name in FUNCTIONS {
        for (secrets, file) in [("files", configuration), ("Parameter Store", &in_services)] {
            let variables = [
                ("SENDTRAIL_CONFIG", file.display().to_string()),
                ("AWS_ENDPOINT_URL", services.url().to_owned()),
            ];
            subjects.push(Subject {
                name,
                secrets,
                binary: functions.join(name),
                variables: variables.into(),
                starts: Vec::new(),
            });
        }
    }
    if let Some(python) = python {
        subjects.push(python_subject(folder, python)?);
    }
    // The first of each only warms the page cache.
    for run in 0..=runs {
        for subject in &mut subjects {
            let start = start(subject).await?;
            if run > 0 {
                subject.starts.push(start.as_secs_f64() * 1_000.0);
            }
        }
    }
    services.shutdown().await;
    Ok(table(subjects, python.is_some()))
}

async fn services() -> Result<ParametersHandle, MeasureError> {
    let config = ParametersConfig {
        port: 0,
        // More starts in a second than there ever are.
        switches: ParameterSwitches {
            gets_per_second: 0,
            ..ParameterSwitches::default()
        },
    };
    Ok(Parameters::start(config).await?)
}

/// Writes the configuration with every secret in Parameter Store, and the secrets there.
fn move_secrets(from: &Path, to: &Path, services: &ParametersHandle) -> Result<(), MeasureError> {
    let text = std::fs::read_to_string(from)?;
    let text = text.replace("\"file:secrets/", "\"ssm:/sendtrail/{stage}/{function}/");
    std::fs::write(to, text)?;
    let folder = from.parent().unwrap_or(Path::new("")).join("secrets");
    for name in secrets::NAMES {
        let value = std::fs::read_to_string(folder.join(name))?;
        for function in FUNCTIONS {
            let at = format!("/sendtrail/{}/{function}/{name}", super::config::STAGE);
            services.put(&at, &value, ParameterKind::SecureString);
        }
    }
    Ok(())
}

/// A file that Python runs as Lambda's image runs a handler, without a shell in between.
fn python_subject(folder: &Path, python: &Python<'_>) -> Result<Subject, MeasureError> {
    let bootstrap = folder.join("bootstrap-python");
    let interpreter = std::path::absolute(python.interpreter)?;
    let text = format!(
        "#!{}\nfrom awslambdaric.__main__ import main\nmain(['bootstrap', 'handler.handler'])\n",
        interpreter.display()
    );
    std::fs::write(&bootstrap, text)?;
    std::fs::set_permissions(&bootstrap, std::fs::Permissions::from_mode(0o755))?;
    let handler = std::path::absolute(python.handler)?.display().to_string();
    let key = std::fs::read_to_string(folder.join("secrets/intake-k1"))?;
    let variables = [
        ("LAMBDA_TASK_ROOT", handler.clone()),
        ("PYTHONPATH", handler),
        ("SIGNING_KEY", key),
    ];
    Ok(Subject {
        name: "Python 3.11",
        secrets: "a variable",
        binary: bootstrap,
        variables: variables.into(),
        starts: Vec::new(),
    })
}

/// Starts a process and waits until it asks for work; then it is killed.
async fn start(subject: &Subject) -> Result<Duration, MeasureError> {
    let api = TcpListener::bind("127.0.0.1:0").await?;
    let address = api.local_addr()?.to_string();
    let folder = subject.binary.parent().unwrap_or(Path::new("/"));
    let mut command = Command::new(&subject.binary);
    command
        .env_clear()
        .current_dir(folder)
        .env("_HANDLER", "handler.handler")
        .env("AWS_LAMBDA_RUNTIME_API", &address)
        .env("AWS_LAMBDA_FUNCTION_NAME", "measured")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "measured")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "measured")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "AKIDLOCAL")
        .env("AWS_SECRET_ACCESS_KEY", "local")
        .env("LAMBDA_TASK_ROOT", folder)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs(&subject.variables)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let failed = |what: String| MeasureError::Function(subject.name, what);
    let begun = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("{}: {error}", subject.binary.display())))?;
    let asked = async {
        tokio::select! {
            asked = first_request(&api) => asked.map_err(MeasureError::Folder),
            ended = child.wait() => Err(failed(format!("it ended at its start: {ended:?}"))),
        }
    };
    let asked = tokio::time::timeout(LONGEST, asked).await;
    let asked = asked.map_err(|_| failed("it asked for no work in ten seconds".to_owned()))??;
    let took = begun.elapsed();
    child.kill().await?;
    if asked.contains("/invocation/next") {
        Ok(took)
    } else {
        Err(failed(format!("it asked for {asked}")))
    }
}

/// The request line of the first request.
async fn first_request(api: &TcpListener) -> std::io::Result<String> {
    let (mut stream, _) = api.accept().await?;
    let mut read = Vec::new();
    while !read.contains(&b'\n') {
        let mut part = [0; 512];
        let bytes = stream.read(&mut part).await?;
        if bytes == 0 {
            break;
        }
        read.extend_from_slice(&part[..bytes]);
    }
    let text = String::from_utf8_lossy(&read);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn table(subjects: Vec<Subject>, has_python: bool) -> (String, bool) {
    let measured: Vec<_> = subjects
        .into_iter()
        .map(|subject| (subject.name, subject.secrets, median(subject.starts)))
        .collect();
    let python = measured.last().filter(|_| has_python).map(|last| last.2);
    let mut lines = vec![format!(
        "{:12}  {:15}  {:>22}  {:>9}",
        "function", "secrets from", "spawn to first /next", "to Python"
    )];
    let mut is_kept = true;
    for (name, secrets, start) in measured {
        let ratio = python.map(|python| start / python);
        let is_ours = FUNCTIONS.contains(&name);
        is_kept &= !is_ours || ratio.is_none_or(|ratio| ratio < BUDGET);
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        lines.push(format!(
            "{name:12}  {secrets:15}  {start:>19.2} ms  {ratio:>9}"
        ));
    }
    (lines.join("\n"), is_kept)
}

/// The middle one.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
