"""What a browser and a CRM function do at the doors, with the stock Standard Webhooks library."""

import datetime
import hashlib
import json
import uuid
from typing import NamedTuple

from processes import expect
from simulator import Simulator
from standardwebhooks.webhooks import Webhook
from web import Answer

ACTOR = {"id": "1", "name": "Rita Rehearsal"}


class Confirmed(NamedTuple):
    """A confirmed send, and what a press of it says."""

    history_id: str
    press: dict


class Sender:
    """Saves, looks, confirms and presses. `door` carries a request to a function, whatever that takes."""

    def __init__(self, stage: str, outside: Simulator, door):
        self.stage, self.outside, self.door = stage, outside, door

    def signed(self, function: str, path: str, body: dict, *, message_id: str | None = None, tamper: bool = False) -> Answer:
        text = json.dumps(body)
        now = datetime.datetime.now(datetime.timezone.utc)
        message_id = message_id or f"msg_{uuid.uuid4().hex}"
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(self.outside.signing[function]).sign(message_id, now, text),
        }
        sent = text.replace(ACTOR["name"], "Eve") if tamper else text
        return self.door(function, "POST", path, sent.encode(), headers)

    def confirmed(self, recipient: str) -> Confirmed:
        """Saves, previews and confirms. The recipient's name holds the script of what the send API does with it."""
        answer = self.signed(
            "intake",
            "/v1/histories",
            {
                "aud": f"{self.stage}/intake",
                "op": "save",
                "driver": "lob-letter",
                "source": self.outside.new_source(),
                "to": {
                    "name": recipient,
                    "address_line1": "1 Main Street",
                    "address_city": "Springfield",
                    "address_state": "IL",
                    "address_zip": "62701",
                },
                "fields": {"from_address": "adr_local"},
                "actor": ACTOR,
            },
        )
        expect(answer.status == 201, f"save answered {answer.status}: {answer.body[:500]!r}")
        saved = answer.json()
        path = f"/v1/histories/{saved['history_id']}"

        preview = self.door("intake", "GET", f"{path}/preview", None, {"authorization": f"Bearer {saved['preview_token']}"})
        digest = hashlib.sha256(preview.body).hexdigest()
        expect(preview.status == 200, f"preview answered {preview.status}: {preview.body[:500]!r}")
        expect(preview.body.startswith(b"%PDF-"), "the preview is no PDF")
        expect(preview.headers["sendtrail-document-sha256"] == digest, "the preview's hash is not that of its bytes")

        headers = {
            "authorization": f"Bearer {saved['confirm_ticket']}",
            "sendtrail-receipt": preview.headers["sendtrail-receipt"],
            "content-type": "application/pdf",
        }
        answer = self.door("intake", "PUT", f"{path}/document", preview.body, headers)
        expect(answer.status == 200, f"confirm answered {answer.status}: {answer.body[:500]!r}")
        press = {
            "aud": f"{self.stage}/side-effect",
            "op": "send",
            "history_id": saved["history_id"],
            "document_sha256": digest,
            "actor": ACTOR,
        }
        return Confirmed(saved["history_id"], press)

    def press(self, confirmed: Confirmed, **how) -> Answer:
        return self.signed("side-effect", "/v1/sends", confirmed.press, **how)
