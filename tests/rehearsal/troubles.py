"""Step: a start that fails, an invocation that takes too long, a run that fails and is kept."""

import contextlib
import io
import json
import socket
import threading
import time
import zipfile

import processes
from emulator import unique
from path import quiet
from processes import expect
from stage import STAGE, Stage


def troubles(stage: Stage) -> str:
    return "; ".join([failed_start(stage), too_long(stage), dead_letter(stage)])


def _like_poller(stage: Stage, name: str, role: str, timeout: int, **variables: str) -> str:
    """A second function of the poller's code."""
    functions = stage.emulator.client("lambda")
    poller = functions.get_function_configuration(FunctionName=stage.function("poller"))
    given = poller["Environment"]["Variables"]
    made = f"rehearsal-{name}"
    functions.create_function(
        FunctionName=made,
        Role=role or poller["Role"],
        Runtime=poller["Runtime"],
        Handler=poller["Handler"],
        Timeout=timeout,
        Code={"ZipFile": zip_of(stage, "poller")},
        Environment={"Variables": {**given, **variables}},
    )
    return made


def zip_of(stage: Stage, function: str) -> bytes:
    data, folder = io.BytesIO(), stage.aws / function
    with zipfile.ZipFile(data, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return data.getvalue()


def failed_start(stage: Stage) -> str:
    """The poller's code with intake's role, which may not read the poller's secrets."""
    functions = stage.emulator.client("lambda")
    role = functions.get_function_configuration(FunctionName=stage.function("intake"))["Role"]
    name = _like_poller(stage, "wrong-role", role, 10)
    said, failed = stage.emulator.invoke(name, {"v": 1, "kind": "tick"})
    text = json.dumps(said) + "\n".join(stage.emulator.log(name))
    expect(failed, f"a poller that may not read its secrets answered {said}")
    for word in ("crm-client-secret", f"/sendtrail/{STAGE}/poller/"):
        expect(word in text, f"the failed start does not name {word}: {text[:1000]}")
    expect("ssm:GetParameters" in text, f"the failed start does not name the missing permission: {text[:1000]}")
    leaked = [name for name, value in stage.simulator.secrets().items() if value in text]
    expect(not leaked, f"the failed start tells the value of {leaked}")
    return "a start without its secrets fails and names them and the permission"


@contextlib.contextmanager
def silence():
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def hold():
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])

        threading.Thread(target=hold, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        for connection in held:
            connection.close()


def too_long(stage: Stage) -> str:
    """A CRM that hangs, and a deadline nearer than any time-out of a request."""
    with silence() as crm:
        name = _like_poller(stage, "hanging", "", 3, SENDTRAIL_CRM__ACCOUNTS_URL=crm, SENDTRAIL_CRM__API_URL=crm)
        start = time.monotonic()
        said, failed = stage.emulator.invoke(name, {"v": 1, "kind": "tick"})
        took = time.monotonic() - start
    expect(failed, f"a poller whose CRM hangs answered {said}")
    expect(took < 20, f"a poller with three seconds took {took:.0f} s")
    return f"a hanging CRM ends a run: {said.get('errorType')}"


def dead_letter(stage: Stage) -> str:
    """A run that fails after Lambda took it asynchronously, as from the schedule: once, and then it is kept."""
    outside, marker, poller = stage.simulator, unique(), stage.function("poller")
    quiet(stage, 30)
    before = len(stage.emulator.runs(poller))
    outside.fault(kind="status", match={"path": "/crm/v8/coql"}, count=0, status=503)
    try:
        stage.by_hand.append(time.time())
        event = json.dumps({"v": 1, "kind": "tick", "rehearsal": marker}).encode()
        stage.emulator.client("lambda").invoke(FunctionName=poller, InvocationType="Event", Payload=event)
        queue = stage.emulator.client("sqs")

        def kept():
            answer = queue.receive_message(QueueUrl=stage.outputs["PollerFailuresUrl"], MaxNumberOfMessages=10)
            return next((m["Body"] for m in answer.get("Messages", []) if marker in m["Body"]), None)

        body = json.loads(processes.until("the failed run in its queue", 60, kept))
    finally:
        outside.clear_faults()
    # What the emulator writes as the number of tries is a constant: count the runs.
    tries = len(stage.emulator.runs(poller)) - before
    expect(tries == 1, f"a failed run was tried {tries} times")
    return f"a failed run is tried once and kept ({body['responsePayload'].get('errorType')})"
