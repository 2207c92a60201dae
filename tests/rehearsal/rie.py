"""A function under AWS's own Runtime Interface Emulator: a real deadline, a real kill at it, a real new start."""

import base64
import json
import os
import signal
import sys
import time
import uuid
from pathlib import Path

import web
from processes import Failed, Processes, free_ports, until


class Rie:
    """One function in one emulator."""

    def __init__(self, processes: Processes, name: str, emulator: Path, bootstrap: Path, timeout: int, variables: dict):
        self.port, api = free_ports(2)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SENDTRAIL_"))}
        env = {**kept, **variables, "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout), "AWS_LAMBDA_FUNCTION_NAME": name}
        command = [
            emulator,
            "--runtime-interface-emulator-address",
            f"127.0.0.1:{self.port}",
            "--runtime-api-address",
            f"127.0.0.1:{api}",
            bootstrap,
        ]
        self.bootstrap = bootstrap
        self.process = processes.start(name, command, env)
        until(name, 10, self._listens, every=0.05)

    def _listens(self) -> bool:
        try:
            # Not a route: it answers 404 and starts nothing.
            web.call("GET", f"http://127.0.0.1:{self.port}/", timeout=1)
        except OSError:
            return False
        return True

    def invoke(self, event: object) -> web.Answer:
        """One invocation; the answer of Lambda's own API."""
        url = f"http://127.0.0.1:{self.port}/2015-03-31/functions/function/invocations"
        return web.call("POST", url, json.dumps(event).encode())

    def door(self, method: str, path: str, body: bytes | None, headers: dict) -> web.Answer:
        """A request through a Function URL, as Lambda would hand it to the function."""
        answer = self.invoke(url_event(method, path, body, headers))
        try:
            response = answer.json()
        except ValueError:
            # What it says of a function that timed out is no JSON, whatever the status.
            response = {}
        if "statusCode" not in response:
            raise Killed(f"{answer.status} {answer.body[:300].decode(errors='replace')}")
        text = response.get("body") or ""
        data = base64.b64decode(text) if response.get("isBase64Encoded") else text.encode()
        return web.Answer(response["statusCode"], {k.lower(): v for k, v in response.get("headers", {}).items()}, data)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the running function."""
        found = [int(pid) for pid in _children(self.process.pid) if _runs(pid, self.bootstrap)]
        if len(found) != 1:
            raise Failed(f"{len(found)} processes of {self.bootstrap} run, not one")
        os.kill(found[0], number)


class Killed(Exception):
    """The function was ended before it answered."""


def url_event(method: str, path: str, body: bytes | None, headers: dict) -> dict:
    now = time.time()
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "rehearsal",
            "domainName": "rehearsal.lambda-url.eu-central-1.on.aws",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "rehearsal",
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "timeEpoch": int(now * 1000),
        },
        # Lambda hands JSON over as text, and everything else in base64.
        **_body(body, headers),
    }


def _body(body: bytes | None, headers: dict) -> dict:
    if body is None:
        return {"isBase64Encoded": False}
    if headers.get("content-type") == "application/json":
        return {"body": body.decode(), "isBase64Encoded": False}
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def binary(tools: Path) -> Path:
    """It comes with the SAM CLI."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    path = tools / "lib" / version / "site-packages/samcli/local/rapid/aws-lambda-rie-x86_64"
    path.chmod(0o755)
    return path


def _children(pid: int) -> list[str]:
    """All below this process, from /proc."""
    parents: dict[str, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents.setdefault(stat.rpartition(")")[2].split()[1], []).append(entry.name)
    found, below = [], [str(pid)]
    while below:
        below = [child for parent in below for child in parents.get(parent, [])]
        found += below
    return found


def _runs(pid: str, program: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").resolve() == program.resolve()
    except OSError:
        return False
