"""Step: there is no way to the poller over HTTP."""

import json
import urllib.parse

import web
from emulator import REGION, refused
from processes import expect
from stage import Stage

PATHS = ("/", "/poller", "/tick", "/v1/tick", "/v1/poller")


def unreachable(stage: Stage) -> str:
    emulator, poller = stage.emulator, stage.function("poller")
    functions = emulator.client("lambda")
    said = refused(functions.get_function_url_config, FunctionName=poller)
    expect(said == "ResourceNotFoundException", f"asked for the poller's URL, AWS says {said}")
    expect(not functions.list_function_url_configs(FunctionName=poller)["FunctionUrlConfigs"], "the poller has a URL")
    policy = _policy(functions, poller)
    expect(not policy, f"the poller has a policy that lets somebody in: {policy}")
    for door in ("intake", "side-effect"):
        expect(len(_policy(functions, stage.function(door))) == 2, f"{door} has not the two public permissions")

    doors = [urllib.parse.urlsplit(stage.outputs[door]).hostname for door in ("intake", "side-effect")]
    suffix = doors[0].partition(".")[2]
    # The poller's name made to look like the address of a URL, as nothing else says what its own would be.
    would_be = f"{''.join(filter(str.isalnum, poller)):x<32}.{suffix}"
    invoke = f"/2015-03-31/functions/{poller}/invocations"
    tries = [(host, path) for host in (*doors, would_be) for path in (*PATHS, invoke)]
    # And Lambda's own address, without a signature.
    tries += [(f"127.0.0.1:{emulator.port}", invoke), (f"lambda.{REGION}.amazonaws.com", invoke)]
    for host, path in tries:
        for method, body in (("GET", None), ("POST", b'{"v":1,"kind":"tick"}')):
            answer = web.call(method, emulator.url + path, body, {"host": host, "content-type": "application/json"})
            expect(answer.status in (401, 403, 404, 405), f"{method} {host}{path} answered {answer.status}")
            expect(b"scanned" not in answer.body, f"{method} {host}{path} gave the report of a run")
    return f"no URL, no policy, and {2 * len(tries)} requests gave nothing"


def _policy(functions, function: str) -> list[dict]:
    """The statements of a function's own policy; AWS calls none an error, the emulator an empty policy."""
    if refused(functions.get_policy, FunctionName=function) == "ResourceNotFoundException":
        return []
    return json.loads(functions.get_policy(FunctionName=function)["Policy"])["Statement"]
