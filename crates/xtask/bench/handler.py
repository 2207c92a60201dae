"""What a plain function in Python does at a door: check an HMAC over the raw body, and nothing else."""

import base64
import hashlib
import hmac
import os

KEY = os.environ["SIGNING_KEY"].encode()


def handler(event, _context):
    headers = event.get("headers", {})
    body = event.get("body", "")
    raw = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()
    message = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + raw
    due = base64.b64encode(hmac.new(KEY, message, hashlib.sha256).digest()).decode()
    is_signed = hmac.compare_digest(f"v1,{due}", headers.get("webhook-signature", ""))
    return {"statusCode": 200 if is_signed else 401}
