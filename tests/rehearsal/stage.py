"""What the steps share: folders, the simulator, the emulator, and what is deployed. Each is made when first asked for."""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from emulator import Emulator
from processes import Failed, Processes, expect
from sender import Sender
from simulator import Simulator

ROOT = Path(__file__).resolve().parents[2]
STAGE = "dev"
FUNCTIONS = ("intake", "side-effect", "poller")
# What is kept in Secrets Manager; everything else is in Parameter Store.
IN_SECRETS_MANAGER = ("seal-key", "side-effect-k1")


class Stage:
    """One rehearsal. Everything it leaves is in `folder`."""

    def __init__(self, folder: Path, tools: Path, sendtrail: Path):
        self.folder, self.tools, self.sendtrail = folder, tools, sendtrail
        folder.mkdir(parents=True, exist_ok=True)
        # Held as long as this process lives, however it ends.
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failed("another rehearsal is going on in this checkout") from error
        self.logs = folder / "logs"
        self.run = folder / "run"
        for fresh in (self.logs, self.run):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
        self.processes = Processes(self.logs)
        self.outputs: dict[str, str] = {}
        # The build for the other processor, or why there is none.
        self.arm64: subprocess.Popen | str = "not begun"
        # When a step had the poller run.
        self.by_hand: list[float] = []

    @functools.cached_property
    def simulator(self) -> Simulator:
        return Simulator(self.processes, self.sendtrail, self.run / "outside")

    @functools.cached_property
    def emulator(self) -> Emulator:
        return Emulator(self.processes, Path(sys.executable), self.run / "ministack")

    @functools.cached_property
    def sender(self) -> Sender:
        """A sender at the deployed doors."""

        def door(function, method, path, body, headers):
            return self.emulator.door(self.outputs[function], method, path, body, headers)

        return Sender(STAGE, self.simulator, door)

    @functools.cached_property
    def config(self) -> Path:
        """The folder with the configuration that is deployed: the simulator's own, for this stage, and with its secrets
        where AWS keeps them."""
        folder = self.run / "config"
        shutil.copytree(self.simulator.data / "drivers", folder / "drivers")
        text = (self.simulator.data / "sendtrail.toml").read_text(encoding="utf-8")
        text = _with(text, r'stage = ".*"', f'stage = "{STAGE}"')
        # Five seconds and more: this machine is doing other things too.
        text = _with(text, r'request_timeout = ".*"', 'request_timeout = "10s"')
        text = _with(text, r"token_cache = .*", 'token_cache = "ssm:/sendtrail/{stage}/{function}/crm-token"')
        text, places = re.subn(r'"file:secrets/(.*)"', _place, text)
        expect(places > 9, "the simulator's configuration has another shape than expected")
        (folder / "sendtrail.toml").write_text(text, encoding="utf-8")
        return folder

    @property
    def aws(self) -> Path:
        """The folders that are deployed. Beside a copy of `infra/aws`, so that the template finds them."""
        return self.run / "checkout/target/aws"

    @property
    def template_folder(self) -> Path:
        return self.run / "checkout/infra/aws"

    def path(self) -> str:
        """Where commands are looked for: the rehearsal's own tools first."""
        return f"{self.tools / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def function(self, name: str) -> str:
        return f"sendtrail-{STAGE}-{name}"


def _place(match: re.Match) -> str:
    name = match[1]
    kind = "secretsmanager" if name in IN_SECRETS_MANAGER else "ssm"
    return f'"{kind}:/sendtrail/{{stage}}/{{function}}/{name}"'


def _with(text: str, pattern: str, line: str) -> str:
    text, count = re.subn(rf"(?m)^{pattern}$", lambda _: line, text)
    expect(count == 1, f"the simulator's configuration has {count} lines like {pattern}")
    return text
