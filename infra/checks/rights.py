"""What each role may do: all of it, statement by statement."""

import json


def _right(actions: str, resource: str, condition: dict | None = None) -> tuple[str, str, str, str]:
    return ("Allow", " ".join(sorted(actions.split())), resource, json.dumps(condition or {}, sort_keys=True))


def _own(logical: str, function: str):
    def rights(d) -> set[tuple[str, str, str, str]]:
        parameter = f"arn:aws:ssm:us-east-1:111122223333:parameter/sendtrail/{d.parameters['Stage']}/{function}/"
        secret = f"arn:aws:secretsmanager:us-east-1:111122223333:secret:/sendtrail/{d.parameters['Stage']}/{function}/"
        rights = {
            _right("logs:CreateLogStream logs:PutLogEvents", f"<{logical}Logs.Arn>"),
            _right("ssm:GetParameters", parameter + "*"),
            _right("secretsmanager:GetSecretValue", secret + "*"),
            _right("ssm:PutParameter", parameter + "crm-token"),
            _right(
                "ssm:PutParameter",
                parameter + "crm-token-lock-*",
                {"StringNotEquals": {"ssm:Overwrite": "true"}},
            ),
            _right("ssm:DeleteParameters", parameter + "crm-token-lock-*"),
        }
        if key := d.parameters.get("SecretsKeyArn"):
            via = ["ssm.us-east-1.amazonaws.com", "secretsmanager.us-east-1.amazonaws.com"]
            rights.add(
                _right("kms:Decrypt", key, {"StringEquals": {"kms:ViaService": via}})
            )
        return rights

    return rights


def _side_effect(d) -> set[tuple[str, str, str, str]]:
    rights = _own("SideEffect", "side-effect")(d)
    if d.parameters.get("Wake") == "on":
        group = "arn:aws:scheduler:us-east-1:111122223333:schedule/<WakeGroup>/*"
        rights.add(_right("scheduler:CreateSchedule", group))
        passed = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
        rights.add(_right("iam:PassRole", "<ScheduleRole.Arn>", passed))
    return rights


RIGHTS = {
    "IntakeRole": _own("Intake", "intake"),
    "SideEffectRole": _side_effect,
    "PollerRole": lambda d: _own("Poller", "poller")(d) | {_right("sqs:SendMessage", "<PollerFailures.Arn>")},
    # The only role that may invoke anything, and only the poller.
    "ScheduleRole": lambda _: {
        _right("lambda:InvokeFunction", "<Poller.Arn>"),
        _right("sqs:SendMessage", "<ScheduleDeadLetters.Arn>"),
    },
}
