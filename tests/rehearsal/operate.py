"""Step: the commands that people run, against what is deployed."""

import json
import subprocess
import time

from processes import Failed, expect
from stage import STAGE, Stage


def operate(stage: Stage) -> str:
    return f"sendtrail schedule {', '.join(_schedule(stage))}; sendtrail smoke: {_smoke(stage)}"


def _sendtrail(stage: Stage, *arguments: str, code: int = 0):
    """Runs the command with `--json`; what it printed."""
    env = {**stage.emulator.environment(), "SENDTRAIL_CONFIG": str(stage.config / "sendtrail.toml")}
    done = subprocess.run(  # noqa: S603 (our own command)
        [stage.sendtrail, "--json", *arguments], env=env, capture_output=True, text=True, timeout=150, check=False
    )
    name = "-".join(["sendtrail", *arguments[:2]])
    (stage.logs / f"{name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != code:
        raise Failed(f"sendtrail {' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def _schedule(stage: Stage) -> list[str]:
    scheduler = stage.emulator.client("scheduler")

    def deployed() -> dict:
        found = scheduler.get_schedule(GroupName=f"sendtrail-{STAGE}", Name=stage.function("poller"))
        return {key: found[key] for key in ("State", "ScheduleExpression", "Description", "Target", "FlexibleTimeWindow")}

    before = deployed()
    def show() -> dict:
        return _sendtrail(stage, "schedule", "show", "--stage", STAGE)

    shown = show()
    expect(shown["enabled"] and shown["expression"] == "rate(2 minutes)", f"schedule show says {shown}")
    _sendtrail(stage, "schedule", "pause", "--stage", STAGE, "--reason", "rehearsal of a pause", "--by", "Rita")
    shown = show()
    expect(not shown["enabled"] and shown["paused"]["reason"] == "rehearsal of a pause", f"schedule show says {shown}")
    paused = deployed()
    expect(paused["State"] == "DISABLED", f"after the pause the schedule is {paused['State']}")
    expect("rehearsal of a pause" in paused["Description"], f"the reason is not kept: {paused['Description']}")
    expect(paused["Target"] == before["Target"], f"the pause changed the target: {paused['Target']}")
    resumed = _sendtrail(stage, "schedule", "resume", "--stage", STAGE)
    expect(resumed["overdue"] == 0, f"the resume, with the CRM at hand, counts {resumed['overdue']} overdue rows")
    expect(deployed() == before, f"after the resume the schedule is {deployed()}, not {before}")
    _sendtrail(stage, "schedule", "every", "5m", "--stage", STAGE)
    expect(deployed()["ScheduleExpression"] == "rate(5 minutes)", f"the rate is {deployed()['ScheduleExpression']}")
    _sendtrail(stage, "schedule", "every", "2m", "--stage", STAGE)
    expect(deployed() == before, f"after `every 2m` the schedule is {deployed()}, not {before}")
    stage.by_hand.append(time.time())
    ran = _sendtrail(stage, "schedule", "run-now", "--stage", STAGE)
    stage.by_hand.append(time.time())
    expect(ran["report"]["pages"] == 1, f"the run says {ran}")
    expect(show()["last_run"], "schedule show knows of no run")
    return ["show", "pause", "resume", "every", "run-now"]


def _smoke(stage: Stage) -> str:
    """Every check of a deployed stack; and one of them fails when its schedule is paused. The emulator stands in for the
    doors' addresses."""
    smoke = ("smoke", "--stack", f"sendtrail-{STAGE}", "--through", stage.emulator.url)
    checks = _sendtrail(stage, *smoke)["checks"]
    wrong = [check for check in checks if check["verdict"] != "ok"]
    expect(not wrong, f"not every check was made and is well: {wrong}")
    _sendtrail(stage, "schedule", "pause", "--stage", STAGE, "--reason", "rehearsal", "--by", "Rita")
    paused = _sendtrail(stage, *smoke, code=1)["checks"]
    _sendtrail(stage, "schedule", "resume", "--stage", STAGE)
    wrong = [check["name"] for check in paused if check["verdict"] != "ok"]
    expect(wrong == ["schedule ticks"], f"with a paused schedule these fail: {wrong}")
    return f"{len(checks)} checks, all well, and one that sees a pause"
