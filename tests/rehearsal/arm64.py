"""Step: the functions for Lambda's other processor, as far as this machine can make and start them."""

import os
import shutil
import subprocess

import processes
from build import GLIBC, needed_glibc
from processes import expect
from stage import ROOT, Stage

TARGET = "aarch64-unknown-linux-gnu"
# An emulator of the processor, and the C library that the binary is linked with.
PACKAGES = ("qemu-user-static", "libc6-arm64-cross", "libgcc-s1-arm64-cross")
LIBRARIES = "/usr/aarch64-linux-gnu"


def begin(stage: Stage) -> str:
    """Starts the build of one function, for the three differ in nothing that a processor sees. It goes on beside the other
    steps, and gives way to them."""
    missing = _target()
    if missing:
        stage.arm64 = missing
        return f"skipped: {missing}"
    env = {**os.environ, "PATH": stage.path(), "CARGO_TARGET_DIR": str(ROOT / "target/lambda")}
    command = ["nice", "-n", "19", "cargo", "lambda", "build", "--profile", "rehearsal", "--locked", "--arm64"]
    command += ["--manifest-path", ROOT / "Cargo.toml", "--package", "sendtrail-poller", "--bin", "poller"]
    stage.arm64 = stage.processes.start("arm64", command, env)
    return "the build goes on beside the other steps"


def arm64(stage: Stage) -> str:
    """Waits for the build, and starts the function under qemu with a configuration that is not there."""
    if isinstance(stage.arm64, str):
        return f"skipped: {stage.arm64}"
    processes.until("the build for arm64", 1800, lambda: stage.arm64.poll() is not None, every=1)
    expect(stage.arm64.returncode == 0, "the build for arm64 failed; see logs/arm64.log")
    bootstrap = ROOT / "target/lambda/lambda/poller/bootstrap"
    needs = needed_glibc(bootstrap, "arm64")
    expect(needs <= GLIBC, f"the arm64 binary needs glibc {needs}")
    return f"built, glibc {needs[0]}.{needs[1]}; {_started(bootstrap)}"


def _target() -> str | None:
    """Why it cannot be built here, if so."""
    rustup = shutil.which("rustup")
    if rustup is None:
        return "no rustup here to ask for the target with"
    try:
        if TARGET in _output(rustup, "target", "list", "--installed").stdout.split():
            return None
        added = _output(rustup, "target", "add", TARGET)
    except subprocess.TimeoutExpired:
        return f"`rustup target add {TARGET}` does not come to an end"
    if added.returncode == 0:
        return None
    return f"`rustup target add {TARGET}` says: {' '.join(added.stderr.split())[-200:]}"


def _output(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    # The toolchain is that of the repository.
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)  # noqa: S603


def _started(bootstrap) -> str:
    qemu = shutil.which("qemu-aarch64-static") or _installed()
    if qemu is None:
        return f"not started: needs the Debian packages {' '.join(PACKAGES)}, and root to install them"
    env = {"SENDTRAIL_CONFIG": "/nowhere/sendtrail.toml", "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"}
    done = _output(qemu, "-L", LIBRARIES, str(bootstrap), env=env)
    said = done.stdout + done.stderr
    expect("Start.ConfigUnreadable" in said, f"under qemu it ended with {done.returncode}: {said[-500:]}")
    return "starts under qemu, and says what it lacks"


def _installed() -> str | None:
    """Installs the emulator of the processor, where this runs as root on Debian."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return None
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        subprocess.run([apt, "--quiet", *command], env=env, capture_output=True, check=False, timeout=300)  # noqa: S603
    return shutil.which("qemu-aarch64-static")
