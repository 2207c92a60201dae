"""Starts MiniStack with five corrections, each as AWS documents it. Four are to how it asks for rights:

- `ssm:GetParameters` and `ssm:DeleteParameters` are checked on every parameter they name, not on `*`;
- `ssm:PutParameter` has the condition key `ssm:Overwrite`;
- the resource of a schedule names its group, not always `default`;
- who makes a schedule must be allowed to pass its role: `iam:PassRole` with `iam:PassedToService`.

And what is configured for asynchronous invocations of `$LATEST` is what a function's name alone gives.

They hold for the pinned version; what they hook into is looked up by name, so another version that lacks it does not start.
"""

import json

from ministack.core import iam_actions, iam_evaluator
from ministack.services import lambda_svc

_resource_of = iam_actions.extract_resource_arn
_tags_of = iam_actions.request_tag_context
_enforce = iam_evaluator.enforce
_invoke_config = lambda_svc._get_event_invoke_config  # noqa: SLF001 (there is no other way in)
_ROLE = "rehearsal:schedule-role"


class _Several(str):
    """The first resource, with the others."""

    resources: tuple[str, ...] = ()


def _fields(body: bytes) -> dict:
    try:
        fields = json.loads(body or b"{}")
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _resource(service, method, path, headers, body, query, region, account):
    found = _resource_of(service, method, path, headers, body, query, region, account)
    if service == "ssm" and (names := _fields(body).get("Names")):
        arns = tuple(f"arn:aws:ssm:{region}:{account}:parameter/{str(name).lstrip('/')}" for name in names)
        found = _Several(arns[0])
        found.resources = arns
    if service == "scheduler" and ":schedule/default/" in found:
        group = _fields(body).get("GroupName") or query.get("groupName") or "default"
        group = group[0] if isinstance(group, list) else group
        found = found.replace(":schedule/default/", f":schedule/{group}/")
    return found


def _context(service, action, body, query):
    context = dict(_tags_of(service, action, body, query))
    if action == "ssm:PutParameter":
        context["ssm:Overwrite"] = str(bool(_fields(body).get("Overwrite"))).lower()
    if action in ("scheduler:CreateSchedule", "scheduler:UpdateSchedule"):
        context[_ROLE] = _fields(body).get("Target", {}).get("RoleArn", "")
    return context


def _check(access_key, action, service, region, resource_arn="*", service_context=None):
    context = dict(service_context or {})
    role = context.pop(_ROLE, None)
    for resource in getattr(resource_arn, "resources", ()) or (resource_arn,):
        refused = _enforce(access_key, action, service, region, resource_arn=resource, service_context=context)
        if refused is not None:
            return refused
    if role:
        passed = {"iam:PassedToService": "scheduler.amazonaws.com"}
        return _enforce(access_key, "iam:PassRole", "iam", region, resource_arn=role, service_context=passed)
    return None


def _latest(function, qualifier=None):
    return _invoke_config(function, qualifier or "$LATEST")


lambda_svc._get_event_invoke_config = _latest  # noqa: SLF001
iam_actions.extract_resource_arn = _resource
iam_actions.request_tag_context = _context
iam_evaluator.enforce = _check

if __name__ == "__main__":
    from ministack.app import main

    main()
