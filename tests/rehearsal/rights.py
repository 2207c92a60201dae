"""Step: what each role may do and what it may not, asked of the emulator by functions that have the role."""

import io
import json
import time
import zipfile
from pathlib import Path

from deploy import sam_deploy
from emulator import ACCOUNT, REGION, Emulator, unique
from processes import Failed, expect, until
from stage import STAGE, Stage

ROLES = {"intake": "IntakeRole", "side-effect": "SideEffectRole", "poller": "PollerRole", "schedule": "ScheduleRole"}
ALLOWED, DENIED = "done", "denied"
_DENIED = ("AccessDenied", "AccessDeniedException", "AuthorizationError")


class Roles:
    """The deployed roles, each with a function that acts under it."""

    def __init__(self, stage: Stage):
        self.emulator: Emulator = stage.emulator
        self.stack = f"sendtrail-{STAGE}"
        self.names = {who: self._physical(logical) for who, logical in ROLES.items()}
        self.iam = self.emulator.client("iam")
        for who, role in self.names.items():
            # Scheduler's role trusts Scheduler alone: a copy of it that trusts Lambda has the same rights.
            self._probe(who, self._copy(role) if who == "schedule" else self.arn(role))

    def _physical(self, logical: str) -> str:
        stacks = self.emulator.client("cloudformation")
        found = stacks.describe_stack_resource(StackName=self.stack, LogicalResourceId=logical)
        return found["StackResourceDetail"]["PhysicalResourceId"]

    def arn(self, role: str) -> str:
        return self.iam.get_role(RoleName=role)["Role"]["Arn"]

    def _copy(self, role: str) -> str:
        lambdas = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        trust = {"Version": "2012-10-17", "Statement": [lambdas]}
        name = "rehearsal-schedule-copy"
        made = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
        document = self.iam.get_role_policy(RoleName=role, PolicyName="own")["PolicyDocument"]
        self.iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps(document))
        return made["Role"]["Arn"]

    def _probe(self, who: str, role: str) -> None:
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.write(Path(__file__).with_name("probe.py"), "probe.py")
        self.emulator.client("lambda").create_function(
            FunctionName=f"rehearsal-probe-{who}",
            Role=role,
            Runtime="python3.11",
            Handler="probe.handler",
            Timeout=130,
            Code={"ZipFile": code.getvalue()},
        )

    def ask(self, who: str, service: str, call: str, **parameters) -> str:
        """What the emulator says to this call under this role."""
        event = {"service": service, "call": call, "parameters": parameters}
        said, failed = self.emulator.invoke(f"rehearsal-probe-{who}", event)
        if failed:
            raise Failed(f"the probe with the rights of {who} failed: {said}")
        return DENIED if said in _DENIED else said


def rights(stage: Stage) -> str:
    roles = Roles(stage)
    questions = list(_questions(stage, roles))
    for right, who, service, call, parameters in questions:
        if call == "invoke":
            stage.by_hand.append(time.time())
        said = roles.ask(who, service, call, **parameters)
        expect(said == right, f"{who}: {service} {call} {parameters} was {said}, not {right}")
    stage.roles = roles
    return f"{len(questions)} questions answered right"


def _parameter(function: str, name: str) -> str:
    return f"/sendtrail/{STAGE}/{function}/{name}"


def _questions(stage: Stage, roles: Roles):
    """Who does what, and whether it may: (right answer, who, service, call, parameters)."""
    functions = tuple(ROLES)[:3]
    for who in functions:
        for whose in functions:
            yield from _parameters_of(who, whose)
        own = {"Name": _parameter(who, "crm-client-secret")}
        yield DENIED, who, "ssm", "put_parameter", {**own, "Value": "x", "Type": "SecureString", "Overwrite": True}
        yield DENIED, who, "ssm", "delete_parameters", {"Names": [own["Name"]]}
        yield DENIED, who, "ssm", "get_parameters", {"Names": [f"/sendtrail/other/{who}/crm-client-secret"]}
        for target in functions:
            yield DENIED, who, "lambda", "invoke", {"FunctionName": stage.function(target), "Payload": "{}"}
        schedule = {"GroupName": roles.stack, "Name": stage.function("poller")}
        yield DENIED, who, "scheduler", "get_schedule", schedule
        yield DENIED, who, "scheduler", "delete_schedule", schedule
        # Wake is off.
        yield DENIED, who, "scheduler", "create_schedule", one_time(stage, roles, roles.stack)
    for whose in ("intake", "side-effect"):
        for who in functions:
            secret = {"SecretId": _parameter(whose, "seal-key")}
            yield ALLOWED if who == whose else DENIED, who, "secretsmanager", "get_secret_value", secret
    for target in functions:
        tick = {"FunctionName": stage.function(target), "Payload": '{"v":1,"kind":"tick"}', "InvocationType": "Event"}
        yield ALLOWED if target == "poller" else DENIED, "schedule", "lambda", "invoke", tick
        yield DENIED, "schedule", "ssm", "get_parameters", {"Names": [_parameter(target, "crm-client-secret")]}
    for queue, whose in (("ScheduleDeadLettersUrl", "schedule"), ("PollerFailuresUrl", "poller")):
        for who in ROLES:
            message = {"QueueUrl": stage.outputs[queue], "MessageBody": "rehearsal"}
            yield ALLOWED if who == whose else DENIED, who, "sqs", "send_message", message


def _parameters_of(who: str, whose: str):
    """One function at another's, or its own, parameters: secrets, the CRM's token, and the lock for it."""
    right = ALLOWED if who == whose else DENIED
    secret, token = _parameter(whose, "crm-client-secret"), _parameter(whose, "crm-token")
    lock = {"Name": _parameter(whose, "crm-token-lock-1"), "Value": who, "Type": "String"}
    # The functions read by the other call alone.
    yield DENIED, who, "ssm", "get_parameter", {"Name": secret, "WithDecryption": True}
    yield right, who, "ssm", "get_parameters", {"Names": [secret], "WithDecryption": True}
    if who != whose:
        # One of its own does not open the other's.
        both = [_parameter(who, "crm-client-secret"), secret]
        yield DENIED, who, "ssm", "get_parameters", {"Names": both, "WithDecryption": True}
    yield right, who, "ssm", "put_parameter", {"Name": token, "Value": "{}", "Type": "SecureString", "Overwrite": True}
    yield right, who, "ssm", "put_parameter", lock
    # A lock can be made and dropped, and never be taken over.
    yield DENIED, who, "ssm", "put_parameter", {**lock, "Overwrite": True}
    yield right, who, "ssm", "delete_parameters", {"Names": [lock["Name"]]}


def waking(stage: Stage) -> str:
    """Deploys again with Wake=on: now side-effect may make one-time schedules, in one group and with one role."""
    roles = stage.roles
    sam_deploy(stage, stage.outputs["topic"], Wake="on")
    group = f"{roles.stack}-wake"
    for right, who, where in (
        (ALLOWED, "side-effect", group),
        (DENIED, "side-effect", roles.stack),
        (DENIED, "side-effect", "default"),
        (DENIED, "intake", group),
        (DENIED, "poller", group),
    ):
        said = roles.ask(who, "scheduler", "create_schedule", **one_time(stage, roles, where))
        expect(said == right, f"with Wake=on: {who} making a schedule in {where} was {said}, not {right}")
    other = one_time(stage, roles, group)
    other["Target"]["RoleArn"] = roles.arn(roles.names["poller"])
    said = roles.ask("side-effect", "scheduler", "create_schedule", **{**other, "Name": "rehearsal-other-role"})
    expect(said == DENIED, f"with Wake=on: side-effect passing the poller's role to a schedule was {said}")
    roles.emulator.client("scheduler").delete_schedule(GroupName=group, Name="rehearsal-never")
    made = _pressed(stage, group)
    return f"side-effect may wake the poller, in its group and with its role alone; nobody else may; {made}"


def _pressed(stage: Stage, group: str) -> str:
    """A press makes a wake-up; `woken` sees it fire."""
    confirmed = stage.sender.confirmed(f"Dora {unique()} (delivered after 0)")
    answer = stage.sender.press(confirmed)
    expect(answer.status == 200, f"with Wake=on the press answered {answer.status}: {answer.body[:500]!r}")
    scheduler = stage.emulator.client("scheduler")
    names = [schedule["Name"] for schedule in scheduler.list_schedules(GroupName=group)["Schedules"]]
    expect(len(names) == 1 and names[0].startswith("wake-"), f"after a press the wake-ups are {names}")
    made = scheduler.get_schedule(GroupName=group, Name=names[0])
    expect(made["ActionAfterCompletion"] == "DELETE", f"the wake-up stays: {made['ActionAfterCompletion']}")
    expect(made["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 0, "the wake-up is retried")
    stage.woken = (confirmed.history_id, group)
    return f"a press made {names[0]}"


def woken(stage: Stage) -> str:
    """The wake-up fired, is gone, and the send is at its end. Runs late: a wake-up comes at a whole minute."""
    history_id, group = stage.woken
    scheduler = stage.emulator.client("scheduler")

    def done() -> bool:
        left = scheduler.list_schedules(GroupName=group)["Schedules"]
        return not left and stage.simulator.state(history_id) == "succeeded"

    until("the wake-up fires and ends its send", 180, done, every=1)
    return "the wake-up fired and is gone, the send is at its end"


def one_time(stage: Stage, roles: Roles, group: str) -> dict:
    """A schedule that never comes due in a rehearsal."""
    return {
        "Name": "rehearsal-never",
        "GroupName": group,
        "ScheduleExpression": "at(2099-01-01T00:00:00)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {
            "Arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{stage.function('poller')}",
            "RoleArn": roles.arn(roles.names["schedule"]),
            "Input": '{"v":1,"kind":"tick"}',
        },
    }
