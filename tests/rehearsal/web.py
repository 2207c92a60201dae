"""Plain HTTP to addresses on this machine."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments):
        return None


# Whatever proxy the machine has: nothing here leaves it.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def call(method: str, url: str, body: bytes | None = None, headers: dict | None = None, timeout: float = 70) -> Answer:
    """One request; an answer of any status. Another host than this machine is a mistake of ours."""
    if urllib.parse.urlsplit(url).hostname != "127.0.0.1":
        raise ValueError(f"{url} is not on this machine")
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})  # noqa: S310
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            return _answer(answer.status, answer)
    except urllib.error.HTTPError as error:
        return _answer(error.code, error)


def _answer(status: int, answer) -> Answer:
    return Answer(status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())
