"""What the rehearsal starts, it ends, by process id; and what it waits for has a bound."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path


class Failed(Exception):
    """A step found something wrong. The text is for people."""


class Processes:
    """The processes that run beside the rehearsal, each with its output in a file."""

    def __init__(self, logs: Path):
        self.logs = logs
        self._running: list[tuple[str, subprocess.Popen]] = []

    def start(self, name: str, command: list, env: dict | None = None, cwd: Path | None = None) -> subprocess.Popen:
        """Starts one in a group of its own, so that what it starts ends with it."""
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 (our own commands)
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        self._running.append((name, process))
        return process

    def run(self, name: str, command: list, *, cwd: Path, env: dict, timeout: float) -> None:
        """Runs a command to its end. A failure says which, and its last lines."""
        process, path = self.start(name, command, env, cwd), self.logs / f"{name}.log"
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{name} took longer than {timeout:.0f} s; see {path}") from error
        finally:
            if process.poll() is None:
                self.end(process)
        self._running.remove((name, process))
        if code != 0:
            last = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-15:]
            raise Failed("\n".join([f"{name} ended with {code}; the whole output is in {path}:", *last]))

    def end(self, process: subprocess.Popen) -> None:
        """Asks it to end; makes it, when it has not after ten seconds."""
        self._running = [(name, other) for name, other in self._running if other is not process]
        for how, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
            try:
                os.killpg(process.pid, how)
            except ProcessLookupError:
                pass
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
            break
        # Whatever is left of its group.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end_all(self) -> None:
        for _, process in reversed(self._running):
            self.end(process)

    def __str__(self) -> str:
        return ", ".join(f"{name} (process {process.pid})" for name, process in self._running)


def free_ports(count: int = 1) -> list[int]:
    """Ports that are free now, each another. Whoever is told of them takes them at once."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def until(what: str, seconds: float, look, every: float = 0.2):
    """Looks again and again until `look` gives something; what it gave."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)


def expect(condition: object, text: str) -> None:
    """Fails with this text unless the condition holds."""
    if not condition:
        raise Failed(text)
