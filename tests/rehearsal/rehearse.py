#!/usr/bin/env python3
"""Rehearses a deployment without an AWS account. `cargo xtask rehearse` prepares what this needs and starts it."""

import argparse
import signal
import sys
import time
import traceback
from pathlib import Path

# Nothing is to be left in the checkout.
sys.dont_write_bytecode = True

import arm64
import crash
import operate
import path
import rights
import troubles
from build import build
from deploy import deploy
from processes import Failed
from stage import ROOT, Stage
from unreachable import unreachable

# In this order. Each names the steps whose work it stands on.
STEPS = {
    "build": (build, []),
    "arm64-build": (arm64.begin, ["build"]),
    "deploy": (deploy, ["build"]),
    "path": (path.whole_path, ["deploy"]),
    "unreachable": (unreachable, ["deploy"]),
    "rights": (rights.rights, ["deploy"]),
    "troubles": (troubles.troubles, ["deploy"]),
    "operate": (operate.operate, ["deploy"]),
    "waking": (rights.waking, ["rights"]),
    "crash": (crash.crashes, ["build"]),
    "woken": (rights.woken, ["waking"]),
    "periodic": (path.periodic, ["deploy"]),
    "arm64": (arm64.arm64, ["arm64-build"]),
}


def chosen(only: list[str]) -> list[str]:
    """The steps that were asked for and those they stand on, in order; all where none was asked for."""
    wanted: set[str] = set()

    def add(step: str) -> None:
        wanted.add(step)
        for before in STEPS[step][1]:
            add(before)

    for step in only or STEPS:
        add(step)
    return [step for step in STEPS if step in wanted]


def rehearse(stage: Stage, steps: list[str]) -> int:
    begun = time.monotonic()
    for step in steps:
        start = time.monotonic()
        try:
            said = STEPS[step][0](stage)
        except Exception as error:  # noqa: BLE001 (whatever it is, the step failed)
            print(f"FAILED  {step} after {time.monotonic() - start:.0f} s: {error}", flush=True)
            if not isinstance(error, Failed):
                traceback.print_exc()
            print(f"The logs are in {stage.logs}.", flush=True)
            return 1
        print(f"ok {time.monotonic() - start:5.0f} s  {step}: {said}", flush=True)
    print(f"The rehearsal took {time.monotonic() - begun:.0f} s.", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    only = f"this step and what it stands on; may be given more than once: {', '.join(STEPS)}"
    parser.add_argument("--only", action="append", default=[], choices=STEPS, metavar="STEP", help=only)
    parser.add_argument("--keep", action="store_true", help="leave everything running at the end, until Ctrl-C")
    parser.add_argument("--tools", type=Path, default=ROOT / "target/rehearsal/tools", help=argparse.SUPPRESS)
    parser.add_argument("--sendtrail", type=Path, default=ROOT / "target/debug/sendtrail", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # So that what was started is ended then too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        stage = Stage(ROOT / "target/rehearsal", arguments.tools, arguments.sendtrail)
    except Failed as error:
        print(error)
        return 1
    try:
        code = rehearse(stage, chosen(arguments.only))
        if arguments.keep:
            print(f"Still running: {stage.processes}. Ctrl-C ends them.", flush=True)
            while True:
                time.sleep(60)
    except KeyboardInterrupt:
        code = 130
    finally:
        stage.processes.end_all()
    return code


if __name__ == "__main__":
    sys.exit(main())
