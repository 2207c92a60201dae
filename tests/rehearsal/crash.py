"""Step: side-effect is ended by Lambda in each phase of a submit, and the next start goes on correctly.

The simulator is slow at one point, the function is stopped there (as an instance without any CPU would be), and Lambda's
own emulator ends it at its deadline. However the function guards its time, it cannot answer any more.
"""

import concurrent.futures
import signal
from typing import NamedTuple

from emulator import unique
from processes import Failed, expect, until
from rie import Killed, Rie, binary
from sender import Sender
from simulator import Simulator
from stage import Stage

# What `sendtrail local` calls its stage.
LOCAL = "local"
TIMEOUT = 10
VARIABLES = {
    "SENDTRAIL_SIDE_EFFECT__TIMEOUT": f"{TIMEOUT}s",
    "SENDTRAIL_SIDE_EFFECT__RECORD_RESERVE": "2s",
    "SENDTRAIL_SIDE_EFFECT__CLOCK_MARGIN": "1s",
}


STOPPED, CRASHED = signal.SIGSTOP, signal.SIGKILL


class Phase(NamedTuple):
    """One moment of a submit."""

    name: str
    # What the send API does with it.
    script: str
    # Which request of the function about this record the CRM is slow with, if any.
    fault: dict | None
    # How the function is lost there.
    how: signal.Signals
    # The state right after, and the one it ends in; how many POSTs the send API ever sees.
    left: str
    ends: str
    posts: int


def _slow(kind: str, method: str, state: str = "") -> dict:
    """A slow answer to a read, or to the write of a state (the probe of the guard that precedes a first write has none)."""
    match = {"method": method}
    if state:
        match["body_contains"] = f'"Delivery_State":"{state}"'
    return {"kind": kind, "match": match, "ms": 30_000}


PHASES = (
    Phase("before the claim", "delivered", _slow("delay_ms", "GET"), STOPPED, "confirmed", "accepted", 1),
    Phase("after the claim", "delivered", _slow("late_reply", "PUT", "sending"), STOPPED, "sending", "needs_review", 0),
    Phase("in the submit, taken", "hold 30s after", None, STOPPED, "sending", "accepted", 1),
    Phase("in the submit, crashed", "hold 30s after", None, CRASHED, "sending", "accepted", 1),
    Phase("before the record", "delivered", _slow("delay_ms", "PUT", "accepted"), STOPPED, "sending", "accepted", 1),
    Phase("after the record", "delivered", _slow("late_reply", "PUT", "accepted"), STOPPED, "accepted", "accepted", 1),
)
# An accepted send goes on to its end while others are still looked at.
AS_GOOD = {"accepted": ("accepted", "succeeded"), "needs_review": ("needs_review",)}


class Scene:
    """A simulator of its own, an intake and a poller, and the means to start a side-effect for each phase."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.outside = Simulator(stage.processes, stage.sendtrail, stage.run / "crash", "crash-simulator")
        self.intake = self.start("intake", "crash-intake")
        self.poller = self.start("poller", "crash-poller")

    def start(self, function: str, name: str) -> Rie:
        variables = {**VARIABLES, "SENDTRAIL_CONFIG": str(self.outside.data / "sendtrail.toml")}
        bootstrap = self.stage.aws / function / "bootstrap"
        # A copy of its own: so that its process can be told from others.
        own = self.stage.run / "crash" / name
        own.write_bytes(bootstrap.read_bytes())
        own.chmod(0o755)
        timeout = TIMEOUT if function == "side-effect" else 30
        return Rie(self.stage.processes, name, binary(self.stage.tools), own, timeout, variables)

    def sender(self, side_effect: Rie) -> Sender:
        def door(function, method, path, body, headers):
            rie = {"intake": self.intake, "side-effect": side_effect}[function]
            return rie.door(method, path, body, headers)

        return Sender(LOCAL, self.outside, door)

    def posts(self, recipient: str) -> int:
        return sum(post["recipient"] == recipient for post in self.outside.posts()["posts"])


def crashes(stage: Stage) -> str:
    scene = Scene(stage)
    sends = []
    for number, phase in enumerate(PHASES):
        side_effect = scene.start("side-effect", f"crash-side-effect-{number}")
        recipient = f"Cy {unique()} ({phase.script})"
        sends.append((phase, side_effect, recipient, scene.sender(side_effect).confirmed(recipient)))
    with concurrent.futures.ThreadPoolExecutor(len(sends)) as pool:
        lost = [pool.submit(_lose, scene, *send) for send in sends]
        for future in lost:
            future.result()
    _sweep(scene, sends)
    for phase, side_effect, recipient, confirmed in sends:
        late = scene.sender(side_effect).press(confirmed)
        expect(late.status == 409, f"{phase.name}: at the end another press answered {late.status} {late.body!r}")
        posts = scene.posts(recipient)
        expect(posts == phase.posts, f"{phase.name}: {posts} POSTs at the send API, not {phase.posts}")
    return f"lost at {len(PHASES)} moments of a submit; each went on to its end, with one POST at most"


def _lose(scene: Scene, phase: Phase, side_effect: Rie, recipient: str, confirmed) -> None:
    """Presses, loses the function in the middle, and presses again."""
    outside, sender = scene.outside, scene.sender(side_effect)
    path = f"*{confirmed.history_id}*"
    if phase.fault:
        outside.fault(**{**phase.fault, "match": {**phase.fault["match"], "path": path}})

    def reached() -> bool:
        if phase.fault:
            return any(listed["met"] and listed["fault"]["match"]["path"] == path for listed in outside.faults())
        return scene.posts(recipient) == 1

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        press = pool.submit(sender.press, confirmed)
        until(f"{phase.name}: the function gets there", TIMEOUT, lambda: press.done() or reached(), every=0.05)
        if press.done():
            raise Failed(f"{phase.name}: the function answered before it could be lost: {press.result()}")
        side_effect.signal(phase.how)
        try:
            answer = press.result(timeout=TIMEOUT + 10)
        except Killed as killed:
            _check_words(phase, str(killed))
        else:
            raise Failed(f"{phase.name}: the function was lost and answered all the same: {answer}")
    state = outside.state(confirmed.history_id)
    expect(state == phase.left, f"{phase.name}: the record was left {state}, not {phase.left}")
    again = sender.press(confirmed)
    right = 200 if phase.left == "confirmed" else 409
    expect(again.status == right, f"{phase.name}: the next start answered {again.status} {again.body!r}, not {right}")


def _check_words(phase: Phase, words: str) -> None:
    """Lambda says by itself how it lost the function: so it was lost in that way and in no other."""
    sign = "timed out" if phase.how == STOPPED else "Runtime.ExitError"
    expect(sign in words, f"{phase.name}: lost in another way: {words}")


def _sweep(scene: Scene, sends: list) -> None:
    """The poller runs until every record is where it belongs."""

    def ended() -> bool:
        scene.poller.invoke({"v": 1, "kind": "tick"})
        states = {phase.name: scene.outside.state(confirmed.history_id) for phase, _, _, confirmed in sends}
        return all(states[phase.name] in AS_GOOD[phase.ends] for phase, *_ in sends)

    try:
        until("the sweep", 90, ended, every=1)
    except Failed as error:
        states = [f"{phase.name}: {scene.outside.state(confirmed.history_id)}" for phase, _, _, confirmed in sends]
        raise Failed(f"{error}; {'; '.join(states)}") from error
