"""Step 3: a send from the first save to its end, through the deployed doors and the deployed schedule."""

import datetime
import time

import processes
from emulator import refused, unique
from processes import expect
from stage import FUNCTIONS, STAGE, Stage

INTERVAL = 120
# Seconds between the moment a schedule is due and the first line of the run, at most.
BESIDE = 15


def whole_path(stage: Stage) -> str:
    """Pressed three times, sent once, ended by the poller that a one-time schedule fires."""
    sender, outside = stage.sender, stage.simulator
    name = f"Ada {unique()} (delivered after 0)"
    confirmed = sender.confirmed(name)
    tampered = sender.press(confirmed, tamper=True)
    expect(tampered.status == 401, f"a tampered press answered {tampered.status}")
    answer = sender.press(confirmed, message_id="msg_rehearsal")
    expect(answer.status == 200, f"the press answered {answer.status}: {answer.body[:500]!r}")
    expect(answer.json()["outcome"] == "accepted", f"the press ended as {answer.json()}")
    again = sender.press(confirmed, message_id="msg_rehearsal")
    repeated = again.status == 200 and again.json().get("repeated")
    expect(repeated, f"the same press again answered {again.status} {again.body!r}")
    other = sender.press(confirmed)
    expect(other.status == 409, f"another press answered {other.status} {other.body!r}")

    fired_by = once(stage)
    processes.until(
        "the poller, fired by a one-time schedule, ends the send",
        60,
        lambda: outside.state(confirmed.history_id) == "succeeded",
    )
    events = [entry["event"] for entry in outside.progress(confirmed.history_id)["trail"]]
    expect(events[-2:] == ["accepted", "delivered"], f"the trail ends with {events}")
    expect(posts_to(stage, name) == 1, "the send API was not asked exactly once")
    return f"saved, seen, confirmed, pressed; {fired_by} ended it; one POST for three presses; {_shared_tokens(stage)}"


def _shared_tokens(stage: Stage) -> str:
    """Each function left the CRM's access token where its next instance finds it."""
    ssm = stage.emulator.client("ssm")
    for function in FUNCTIONS:
        name = f"/sendtrail/{STAGE}/{function}/crm-token"
        said = refused(ssm.get_parameter, Name=name, WithDecryption=True)
        expect(said is None, f"{function} left no token for others in {name}: {said}")
        expect(ssm.get_parameter(Name=name)["Parameter"]["Type"] == "SecureString", f"{name} is not encrypted")
    return "the CRM's tokens are shared"


def once(stage: Stage) -> str:
    """A one-time schedule in the periodic one's group, with its role and target."""
    scheduler = stage.emulator.client("scheduler")
    periodic = scheduler.get_schedule(GroupName=f"sendtrail-{STAGE}", Name=stage.function("poller"))
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)
    stage.by_hand.append(at.timestamp())
    scheduler.create_schedule(
        Name=f"rehearsal-{unique()}",
        GroupName=periodic["GroupName"],
        ScheduleExpression=at.strftime("at(%Y-%m-%dT%H:%M:%S)"),
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target=periodic["Target"],
    )
    return "a one-time schedule"


def posts_to(stage: Stage, recipient: str) -> int:
    """How many POSTs the send API received for a recipient, taken or not."""
    return sum(post["recipient"] == recipient for post in stage.simulator.posts()["posts"])


def made_at(stage: Stage) -> float:
    """When the deployed schedule was made: its ticks come at whole intervals after that."""
    schedule = stage.emulator.client("scheduler").get_schedule(GroupName=f"sendtrail-{STAGE}", Name=stage.function("poller"))
    return schedule["CreationDate"].timestamp()


def quiet(stage: Stage, seconds: float) -> None:
    """Waits until the schedule will not fire for so long, so that whoever counts runs counts its own."""
    made = made_at(stage)

    def far() -> bool:
        since = (time.time() - made) % INTERVAL
        return BESIDE < since < INTERVAL - seconds

    processes.until("a while without a tick", INTERVAL, far)


def periodic(stage: Stage) -> str:
    """The deployed rate. Runs late, for the schedule takes its two minutes while other steps are at work."""
    made = made_at(stage)

    def fired():
        """The seconds after its making at which the schedule fired; runs that a step started by hand do not count."""
        for run in stage.emulator.runs(stage.function("poller")):
            after = run - made
            by_hand = any(abs(run - other) < BESIDE for other in stage.by_hand)
            if after > INTERVAL - 1 and after % INTERVAL < BESIDE and not by_hand:
                return after
        return None

    after = processes.until("a run of the poller at the deployed rate", 2 * INTERVAL + 60, fired, every=1)
    return f"a run {after:.0f} s after the schedule was made, by rate(2 minutes)"
