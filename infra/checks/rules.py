"""Our own rules: what the template promises about several resources at once, or about the code."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import sources
from rights import RIGHTS

Found = Iterator[str]


@dataclass(frozen=True)
class Deployment:
    """The template as it would be deployed."""

    sam: dict
    resources: dict
    parameters: dict[str, str]
    root: Path
    # The same with another stage.
    other_stage: dict

    def of_type(self, kind: str) -> dict[str, dict]:
        return {name: r["Properties"] for name, r in self.resources.items() if r["Type"] == kind}

    def functions(self) -> dict[str, dict]:
        return self.of_type("AWS::Lambda::Function")


RULES: dict[str, Callable[[Deployment], Found]] = {}


def rule(check: Callable[[Deployment], Found]) -> Callable[[Deployment], Found]:
    RULES[check.__name__] = check
    return check


@rule
def three_functions_and_no_more(d: Deployment) -> Found:
    if set(d.functions()) != set(sources.FUNCTIONS):
        yield f"functions are {sorted(d.functions())}"


@rule
def both_public_permissions_on_each_door(d: Deployment) -> Found:
    url = {"Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionUrlAuthType": "NONE"}
    invoke = {"Action": "lambda:InvokeFunction", "Principal": "*", "InvokedViaFunctionUrl": True}
    permissions = list(d.of_type("AWS::Lambda::Permission").values())
    for door in ("Intake", "SideEffect"):
        of_door = [p for p in permissions if p["FunctionName"] == f"<{door}>"]
        for needed in (url, invoke):
            if {**needed, "FunctionName": f"<{door}>"} not in of_door:
                yield f"{door} lacks the permission {needed}"
        if len(of_door) > 2:
            yield f"{door} lets in others too"


@rule
def cors_is_for_the_widget_alone(d: Deployment) -> Found:
    sent = {f: _headers_sent(d.root, f) for f in sources.FUNCTIONS.values()}
    signed = {"content-type", "webhook-id", "webhook-timestamp", "webhook-signature"}
    tokens = {"authorization", "sendtrail-receipt"}
    expected = {
        "<Intake>": ({"GET", "POST", "PUT"}, signed | tokens, sent["intake"]),
        "<SideEffect>": ({"POST"}, signed, sent["side-effect"]),
    }
    for name, url in d.of_type("AWS::Lambda::Url").items():
        methods, allowed, exposed = expected.get(url["TargetFunctionArn"], (set(), set(), set()))
        cors = url.get("Cors", {})
        for key, wanted in (
            ("AllowOrigins", {d.parameters["WidgetOrigin"]}),
            ("AllowMethods", methods),
            ("AllowHeaders", allowed),
            ("ExposeHeaders", exposed | {"retry-after"}),
        ):
            if set(cors.get(key, [])) != wanted:
                yield f"{name}: {key} is {sorted(cors.get(key, []))} and should be {sorted(wanted)}"
        if cors.get("AllowCredentials"):
            yield f"{name}: nothing here works with cookies"


@lru_cache
def _headers_sent(root: Path, function: str) -> set[str]:
    text = "".join(p.read_text(encoding="utf-8") for p in (root / f"crates/{function}/src").rglob("*.rs"))
    return set(re.findall(r'with_header\(\s*"(sendtrail-[a-z0-9-]+)"', text))


@rule
def no_async_retry_is_left_to_default(d: Deployment) -> Found:
    with_config = {c["FunctionName"] for c in d.of_type("AWS::Lambda::EventInvokeConfig").values()}
    for function in d.functions():
        if f"<{function}>" not in with_config:
            yield f"{function} has Lambda's default of two retries"


@rule
def a_failed_run_is_kept(d: Deployment) -> Found:
    configs = d.of_type("AWS::Lambda::EventInvokeConfig").values()
    kept = [c.get("DestinationConfig", {}).get("OnFailure") for c in configs if c["FunctionName"] == "<Poller>"]
    if kept != [{"Destination": "<PollerFailures.Arn>"}]:
        yield "failed runs do not go to PollerFailures"


@rule
def the_rate_is_exact(d: Deployment) -> Found:
    minutes = d.parameters.get("PollIntervalMinutes", "2")
    for name, schedule in d.of_type("AWS::Scheduler::Schedule").items():
        if schedule["ScheduleExpression"] != f"rate({minutes} minutes)":
            yield f"{name} fires at {schedule['ScheduleExpression']}, not rate({minutes} minutes)"
    for name, function in d.functions().items():
        told = function["Environment"]["Variables"].get("SENDTRAIL_POLLER__INTERVAL")
        if told != f"{minutes}m":
            yield f"{name} is told an interval of {told}, not {minutes}m"


@rule
def the_schedule_ticks_the_poller(d: Deployment) -> Found:
    schedules = d.of_type("AWS::Scheduler::Schedule")
    if set(schedules) != {"PollerSchedule"}:
        yield f"schedules are {sorted(schedules)}"
    readme = (d.root / "crates/poller/README.md").read_text(encoding="utf-8")
    for name, schedule in schedules.items():
        target = schedule["Target"]
        if target["Arn"] != "<Poller.Arn>" or target["RoleArn"] != "<ScheduleRole.Arn>":
            yield f"{name} invokes {target['Arn']} as {target['RoleArn']}"
        if f"`{target.get('Input')}`" not in readme:
            yield f"{name}: the input {target.get('Input')} is not the tick of crates/poller/README.md"
        if schedule["GroupName"] != "<ScheduleGroup>":
            yield f"{name}: the alarm on its group would not see it"
        if schedule["State"] != d.parameters.get("Polling", "ENABLED"):
            yield f"{name} does not follow the parameter Polling"


@rule
def each_function_has_a_role_of_its_own(d: Deployment) -> Found:
    for name, function in d.functions().items():
        if function["Role"] != f"<{name}Role.Arn>":
            yield f"{name} runs as {function['Role']}"
    for name, role in d.of_type("AWS::IAM::Role").items():
        trusted = [s.get("Principal") for s in role["AssumeRolePolicyDocument"]["Statement"]]
        service = "scheduler" if name == "ScheduleRole" else "lambda"
        if trusted != [{"Service": f"{service}.amazonaws.com"}]:
            yield f"{name} trusts {trusted}"
        if role.get("ManagedPolicyArns"):
            yield f"{name} has managed policies: they change without us"


@rule
def only_our_groups_may_use_the_schedule_role(d: Deployment) -> Found:
    stage = d.parameters["Stage"]
    groups = "arn:aws:scheduler:us-east-1:111122223333:schedule-group/sendtrail-" + stage
    wanted = {
        "StringEquals": {"aws:SourceAccount": "111122223333"},
        "ArnEquals": {"aws:SourceArn": [groups, groups + "-wake"]},
    }
    for statement in d.of_type("AWS::IAM::Role")["ScheduleRole"]["AssumeRolePolicyDocument"]["Statement"]:
        if statement.get("Condition") != wanted:
            yield f"ScheduleRole can be used by {statement.get('Condition')}"


@rule
def roles_may_do_what_they_use_and_nothing_else(d: Deployment) -> Found:
    roles = d.of_type("AWS::IAM::Role")
    if set(roles) != set(RIGHTS):
        yield f"roles are {sorted(roles)}"
    for name, role in roles.items():
        given = {_right(s) for policy in role.get("Policies", []) for s in policy["PolicyDocument"]["Statement"]}
        wanted = RIGHTS.get(name, lambda _: set())(d)
        yield from (f"{name} may also {_said(right)}" for right in sorted(given - wanted))
        yield from (f"{name} may not {_said(right)}" for right in sorted(wanted - given))


def _right(statement: dict) -> tuple[str, str, str, str]:
    """A statement as effect, actions, resources and condition."""
    return (
        statement["Effect"],
        " ".join(sorted(_list(statement.get("Action", "NOT " + str(statement.get("NotAction")))))),
        " ".join(sorted(_list(statement.get("Resource", "NOT " + str(statement.get("NotResource")))))),
        json.dumps(statement.get("Condition", {}), sort_keys=True),
    )


def _said(right: tuple[str, str, str, str]) -> str:
    effect, actions, resources, condition = right
    return f"({effect}) {actions} on {resources}" + (f" where {condition}" if condition != "{}" else "")


@rule
def no_wildcard(d: Deployment) -> Found:
    for name, role in d.of_type("AWS::IAM::Role").items():
        for policy in role.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                for action in _list(statement.get("Action", "*")):
                    if "*" in action:
                        yield f"{name}: action {action}"
                for resource in _list(statement.get("Resource", "*")):
                    within = resource.startswith("<") or f"/sendtrail/{d.parameters['Stage']}/" in resource
                    within = within or resource.endswith(":schedule/<WakeGroup>/*")
                    if "*" in resource.removesuffix("*") or ("*" in resource and not within):
                        yield f"{name}: resource {resource}"


@rule
def no_secret_in_the_environment(d: Deployment) -> Found:
    plain = re.compile(r"[0-9]{1,6}[sm]?|true|<[A-Za-z.]+>|" + re.escape(d.parameters["Stage"]))
    for name, function in d.functions().items():
        for variable, value in function["Environment"]["Variables"].items():
            if re.search(r"secret|token|password|key|client", _key(variable)) or not plain.fullmatch(str(value)):
                yield f"{name}: {variable} may hold a secret, which belongs into SSM or Secrets Manager"


@rule
def environment_is_what_the_code_reads(d: Deployment) -> Found:
    known = sources.keys(d.root)
    for name, function in d.functions().items():
        variables = function["Environment"]["Variables"]
        for variable in variables:
            if not variable.startswith("SENDTRAIL_") or _key(variable) not in known:
                yield f"{name}: nothing reads {variable}"
        if variables.get("SENDTRAIL_STAGE") != d.parameters["Stage"]:
            yield f"{name} is not told its stage"


@rule
def timeouts_are_what_the_functions_are_told(d: Deployment) -> Found:
    functions = d.functions()
    for told, whose in (("SENDTRAIL_SIDE_EFFECT__TIMEOUT", "SideEffect"), ("SENDTRAIL_POLLER__TIMEOUT", "Poller")):
        timeout = functions[whose]["Timeout"]
        for name, function in functions.items():
            if function["Environment"]["Variables"].get(told) != f"{timeout}s":
                yield f"{name} is not told that {whose} ends after {timeout} s"
    interval = 60 * int(d.parameters.get("PollIntervalMinutes", "2"))
    if functions["Poller"]["Timeout"] >= interval:
        yield "a run may last into the next tick"


@rule
def concurrency_is_reserved(d: Deployment) -> Found:
    for name, function in d.functions().items():
        default = {"Intake": "10", "SideEffect": "5", "Poller": "1"}.get(name, "none")
        asked = d.parameters.get(f"{name}Concurrency", default)
        # A tick, and beside it as many wake-ups, one a minute, as fall into the time of one run: none is throttled.
        if name == "Poller" and d.parameters.get("Wake") == "on" and asked == "1":
            asked = str(1 + 1 + function["Timeout"] // 60)
        given = str(function.get("ReservedConcurrentExecutions", "none"))
        if given != asked:
            yield f"{name} has {given}, not {asked}"


@rule
def drain_and_wake_are_off_unless_asked_for(d: Deployment) -> Found:
    drain = d.parameters.get("Drain") == "on"
    wake = d.parameters.get("Wake") == "on"
    for name, function in d.functions().items():
        variables = function["Environment"]["Variables"]
        if ("SENDTRAIL_DRAIN" in variables) != (drain and name != "Poller"):
            yield f"{name}: Drain is {'on' if drain else 'off'}, and {variables}"
        if any("WAKE" in v for v in variables) != (wake and name == "SideEffect"):
            yield f"{name}: Wake is {'on' if wake else 'off'}, and {variables}"
    if ("WakeGroup" in d.resources) != wake:
        yield "the group of wake-ups does not follow the parameter Wake"


@rule
def two_stages_share_nothing(d: Deployment) -> Found:
    for name, resource in d.resources.items():
        if resource["Type"] in ("AWS::Lambda::Permission", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Url"):
            continue
        for key, value in resource["Properties"].items():
            if key.endswith("Name") and key not in ("MetricName", "GroupName"):
                if value == d.other_stage[name]["Properties"][key]:
                    yield f"{name}: {key} {value} is the same in two stages"


@rule
def what_must_be_told_has_no_default(d: Deployment) -> Found:
    for name in ("Stage", "WidgetOrigin", "AlarmTopicArn"):
        parameter = d.sam["Parameters"][name]
        if "Default" in parameter or "AllowedPattern" not in parameter:
            yield f"{name} must be given, and well formed"
    if not set(d.sam["Parameters"]["LogLevel"]["AllowedValues"]) <= {"DEBUG", "INFO"}:
        yield "LogLevel: above INFO Lambda drops the metrics line"


def _key(variable: str) -> str:
    return variable.removeprefix("SENDTRAIL_").lower().replace("__", ".")


def _list(value) -> list:
    return value if isinstance(value, list) else [value]
