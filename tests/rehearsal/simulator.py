"""The outside world: the simulated CRM and send API, as `sendtrail local --no-functions` starts them."""

import base64
import json
import urllib.parse
from pathlib import Path

import document
import web
from processes import Failed, Processes, until


class Simulator:
    """A running CRM and send API, with what a test may see and change in them."""

    def __init__(self, processes: Processes, sendtrail: Path, data: Path, name: str = "simulator"):
        data.mkdir(parents=True)
        endpoints = data / "endpoints.json"
        command = [sendtrail, "local", "--no-functions", "--quick", "--data", data, "--endpoints", endpoints]
        process = processes.start(name, command)

        def started():
            if process.poll() is not None:
                raise Failed(f"the simulator ended by itself; see logs/{name}.log")
            return endpoints.exists()

        until("the simulator", 30, started, every=0.05)
        said = json.loads(endpoints.read_text(encoding="utf-8"))
        self.data = data
        self.crm = said["crm_url"]
        self.api = said["send_api_url"]
        self.signing = {function.replace("_", "-"): key["secret"] for function, key in said["signing"].items()}

    def secrets(self) -> dict[str, str]:
        """Every secret by its name in `[secrets]`."""
        return {path.name: path.read_text(encoding="utf-8").strip() for path in sorted((self.data / "secrets").iterdir())}

    def _control(self, base: str, method: str, path: str, body=None):
        data = None if body is None else json.dumps(body).encode()
        answer = web.call(method, f"{base}/_sim/{path}", data, {"content-type": "application/json"}, timeout=10)
        if answer.status >= 300:
            raise Failed(f"the simulator answered {method} /_sim/{path} with {answer.status}: {answer.body[:200]!r}")
        return answer.json() if answer.body else None

    def new_source(self) -> dict:
        """A new record to send a document from: the same document from the same record twice is refused."""
        pdf = base64.b64encode(document.sample("Contract of a rehearsal")).decode()
        attached = [{"name": "contract.pdf", "base64": pdf}]
        deal = {"module": "Deals", "fields": {"Deal_Name": "Rehearsal"}, "attachments": attached}
        (made,) = self._control(self.crm, "POST", "seed", {"records": [deal]})["records"]
        return {"module": made["module"], "record_id": made["id"], "attachment_id": made["attachments"][0]}

    def record(self, history_id: str) -> dict:
        """The fields of a history record, as they are in the CRM."""
        return self._control(self.crm, "GET", f"records/Send_Histories/{history_id}")["fields"]

    def state(self, history_id: str) -> str:
        return self.record(history_id)["Delivery_State"]

    def progress(self, history_id: str) -> dict:
        return json.loads(self.record(history_id)["Progress_JSON"])

    def fault(self, **fault) -> None:
        self._control(self.crm, "POST", "faults", fault)

    def faults(self) -> list[dict]:
        """Every fault that was set, with how many requests it met."""
        return self._control(self.crm, "GET", "faults")["faults"]

    def clear_faults(self) -> None:
        self._control(self.crm, "DELETE", "faults")

    def posts(self, reference: str | None = None) -> dict:
        """How many POSTs the send API received, accepted and refused, of one reference or in all."""
        query = "" if reference is None else "?" + urllib.parse.urlencode({"reference": reference})
        return self._control(self.api, "GET", f"posts{query}")
