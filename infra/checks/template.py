"""A SAM template as data: read, broken on purpose, expanded, and resolved to what would be deployed."""

import copy
import logging
import os
from pathlib import Path

import yaml

PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "sendtrail",
    "AWS::URLSuffix": "amazonaws.com",
}
_GONE = object()


class DoesNotExpand(Exception):
    """The SAM transform refuses the template."""


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms."""


def _short_form(loader, suffix, node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)


def load(path: Path) -> dict:
    """The template with every short form written out."""
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 (a safe loader)


def patched(template: dict, patch: list[dict]) -> dict:
    """A copy with changes: `{set: path, to: value}` or `{remove: path}`. A path that leads nowhere is a mistake of the
    patch: it would prove nothing."""
    template = copy.deepcopy(template)
    for change in patch:
        path = change.get("set") or change["remove"]
        at = template
        for step in path[:-1]:
            at = at[step]
        last = path[-1]
        if "remove" in change:
            del at[last]
        elif isinstance(at, list) and last == "+":
            at.append(copy.deepcopy(change["to"]))
        else:
            if not change.get("new") and (last not in at if isinstance(at, dict) else last >= len(at)):
                raise KeyError(f"{path} is not there; say `new: true` where that is meant")
            at[last] = copy.deepcopy(change["to"])
    return template


def expand(template: dict) -> dict:
    """Plain CloudFormation, as the SAM transform makes it. Works without a network."""
    os.environ.setdefault("AWS_DEFAULT_REGION", PSEUDO["AWS::Region"])
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.translator.transform import transform

    # It warns about its own statistics.
    logging.getLogger("samtranslator").setLevel(logging.ERROR)

    class NoManagedPolicies:
        def load(self):
            return {}

    template = copy.deepcopy(template)
    # Which folder holds the code is nothing to the transform, but it takes only S3 addresses.
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function" and "CodeUri" in resource["Properties"]:
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    # Parameters stay references: what they become is the business of `resolve`.
    try:
        return transform(template, {}, NoManagedPolicies())
    except InvalidDocumentException as error:
        raise DoesNotExpand("; ".join(cause.message for cause in error.causes)) from error


def resolve(expanded: dict, parameters: dict[str, str]) -> dict:
    """The resources as they would be deployed with these parameters: conditions decided, texts put together. A
    reference to a resource becomes `<Name>`, one to its attribute `<Name.Attribute>`."""
    known = dict(PSEUDO)
    for name, parameter in expanded.get("Parameters", {}).items():
        if name in parameters:
            known[name] = parameters[name]
        elif "Default" in parameter:
            known[name] = parameter["Default"]
        else:
            raise DoesNotExpand(f"parameter {name} has no default: give it a value in deployments.yaml")
    return _Resolver(expanded, known).resources()


class _Resolver:
    def __init__(self, expanded: dict, known: dict):
        self.expanded, self.known = expanded, known

    def resources(self) -> dict:
        found = {}
        for name, resource in self.expanded["Resources"].items():
            if "Condition" not in resource or self.holds(resource["Condition"]):
                found[name] = self.value(resource)
        return found

    def holds(self, condition) -> bool:
        if isinstance(condition, str):
            return self.holds(self.expanded["Conditions"][condition])
        ((how, parts),) = condition.items()
        if how == "Condition":
            return self.holds(parts)
        if how == "Fn::Equals":
            left, right = (self.value(part) for part in parts)
            return str(left) == str(right)
        if how == "Fn::Not":
            return not self.holds(parts[0])
        if how in ("Fn::And", "Fn::Or"):
            return (all if how == "Fn::And" else any)(self.holds(part) for part in parts)
        raise KeyError(f"unknown condition {how}")

    def value(self, value):
        if isinstance(value, list):
            return [made for part in value if (made := self.value(part)) is not _GONE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((how, parts),) = value.items()
            if how == "Ref":
                return _GONE if parts == "AWS::NoValue" else self.known.get(parts, f"<{parts}>")
            if how.startswith("Fn::"):
                return self.function(how, parts)
        return {key: made for key, part in value.items() if (made := self.value(part)) is not _GONE}

    def function(self, how: str, parts):
        if how == "Fn::If":
            return self.value(parts[1] if self.holds(parts[0]) else parts[2])
        if how == "Fn::GetAtt":
            return f"<{'.'.join(parts)}>"
        if how == "Fn::Join":
            return parts[0].join(str(part) for part in self.value(parts[1]))
        if how == "Fn::Sub" and isinstance(parts, str):
            return self.text(parts)
        raise KeyError(f"{how} is not understood here")

    def text(self, text: str) -> str:
        made, rest = "", text
        while "${" in rest:
            before, _, rest = rest.partition("${")
            name, _, rest = rest.partition("}")
            made += before + str(self.known.get(name, f"<{name}>"))
        return made + rest
