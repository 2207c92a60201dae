"""Drives a local stack with the stock Standard Webhooks library: saves, confirms, sends, waits for the end."""
import datetime
import hashlib
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

from standardwebhooks.webhooks import Webhook

with open(sys.argv[1], encoding="utf-8") as file:
    ENDPOINTS = json.load(file)
ACTOR = {"id": "1", "name": "Sam Seller"}


def call(method, url, body=None, headers=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def signed(url, key, body, tamper=False):
    text = json.dumps(body)
    now = datetime.datetime.now(datetime.timezone.utc)
    message_id = f"msg_{uuid.uuid4().hex}"
    signature = Webhook(key["secret"]).sign(message_id, now, text)
    headers = {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }
    sent = text.replace("Sam", "Eve") if tamper else text
    status, _, answer = call("POST", url, sent.encode(), headers)
    return status, json.loads(answer)


intake, side_effect = ENDPOINTS["intake_url"], ENDPOINTS["side_effect_url"]
keys, source = ENDPOINTS["signing"], ENDPOINTS["source"]

status, saved = signed(
    f"{intake}/v1/histories",
    keys["intake"],
    {
        "aud": f"{ENDPOINTS['stage']}/intake",
        "op": "save",
        "driver": "lob-letter",
        "source": source,
        "to": {
            "name": "Žofie (delivered after 1)",
            "address_line1": "1 Main Street",
            "address_city": "Springfield",
            "address_state": "IL",
            "address_zip": "62701",
        },
        "fields": {"from_address": "adr_local"},
        "actor": ACTOR,
    },
)
print("saved", status)
history = f"{intake}/v1/histories/{saved['history_id']}"

_, headers, pdf = call("GET", f"{history}/preview", None, {"authorization": f"Bearer {saved['preview_token']}"})
digest = hashlib.sha256(pdf).hexdigest()
assert pdf.startswith(b"%PDF-") and headers["sendtrail-document-sha256"] == digest

status, _, _ = call(
    "PUT",
    f"{history}/document",
    pdf,
    {
        "authorization": f"Bearer {saved['confirm_ticket']}",
        "sendtrail-receipt": headers["sendtrail-receipt"],
        "content-type": "application/pdf",
    },
)
print("confirmed", status)

press = {
    "aud": f"{ENDPOINTS['stage']}/side-effect",
    "op": "send",
    "history_id": saved["history_id"],
    "document_sha256": digest,
    "actor": ACTOR,
}
status, answer = signed(f"{side_effect}/v1/sends", keys["side_effect"], press)
print("sent", status, answer.get("outcome"))
status, _ = signed(f"{side_effect}/v1/sends", keys["side_effect"], press, tamper=True)
print("tampered", status)

record = f"{ENDPOINTS['crm_url']}/_sim/records/Send_Histories/{saved['history_id']}"
for _ in range(600):
    state = json.loads(call("GET", record)[2])["fields"]["Delivery_State"]
    if state == "succeeded":
        break
    time.sleep(0.2)
print("final", state)
