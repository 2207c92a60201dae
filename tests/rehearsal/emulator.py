"""AWS on this machine: MiniStack, with its IAM checks on."""

import json
import os
import secrets
import uuid
from pathlib import Path

import boto3
import botocore.config
import botocore.exceptions
import web
from processes import Failed, Processes, free_ports, until

REGION = "eu-central-1"
# MiniStack's own, for its root.
ACCOUNT = "000000000000"


class Emulator:
    """A running MiniStack. Nothing of the machine's own AWS settings reaches it or what uses it."""

    def __init__(self, processes: Processes, python: Path, folder: Path):
        folder.mkdir(parents=True)
        (self.port,) = free_ports()
        self.url = f"http://127.0.0.1:{self.port}"
        self._credentials = {"AWS_ACCESS_KEY_ID": "root", "AWS_SECRET_ACCESS_KEY": secrets.token_hex(20)}
        env = {
            **self.environment(),
            "AUTH": "true",
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "IOT_MTLS_ENABLED": "0",
            "MINISTACK_REGION": REGION,
            "SFTP_ENABLED": "0",
            "TMPDIR": str(folder),
        }
        process = processes.start("ministack", [python, "-B", Path(__file__).with_name("ministack_corrected.py")], env)

        def healthy():
            if process.poll() is not None:
                raise Failed("MiniStack ended by itself; see logs/ministack.log")
            try:
                return web.call("GET", f"{self.url}/_ministack/health", timeout=2).status == 200
            except OSError:
                return False

        until("MiniStack", 60, healthy)

    def environment(self) -> dict[str, str]:
        """For a command that is to take MiniStack for AWS."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **kept,
            **self._credentials,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def client(self, service: str):
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=self._credentials["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self._credentials["AWS_SECRET_ACCESS_KEY"],
            config=botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=130),
        )

    def door(self, function_url: str, method: str, path: str, body: bytes | None, headers: dict) -> web.Answer:
        """A request to a Function URL. Its host tells the emulator which function is meant."""
        host = function_url.removeprefix("https://").strip("/")
        return web.call(method, f"{self.url}{path}", body, {**headers, "host": host})

    def invoke(self, function: str, event: object) -> tuple[object, str | None]:
        """Calls a function and waits: what it gave back, and the kind of error if it failed."""
        answer = self.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event).encode())
        return json.loads(answer["Payload"].read() or b"null"), answer.get("FunctionError")

    def log(self, function: str) -> list[str]:
        """Every line in the function's log group."""
        logs = self.client("logs")
        lines = []
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}"):
            lines += [event["message"] for event in page["events"]]
        return lines


    def runs(self, function: str) -> list[float]:
        """When each of its runs began."""
        logs = self.client("logs")
        begun = []
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}"):
            begun += [event["timestamp"] / 1000 for event in page["events"] if event["message"].startswith("START ")]
        return begun


def code_of(error: botocore.exceptions.ClientError) -> str:
    return error.response["Error"]["Code"]


def refused(call, **parameters) -> str | None:
    """The code of the error that a call ends with; `None` when it works."""
    try:
        call(**parameters)
    except botocore.exceptions.ClientError as error:
        return code_of(error)
    return None


def unique() -> str:
    return uuid.uuid4().hex[:12]
