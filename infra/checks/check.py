#!/usr/bin/env python3
"""Checks a SAM template: `check.py TEMPLATE`, and `check.py --self-test TEMPLATE` for the checks themselves."""

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Before our own modules are read: nothing is to be left in the checkout.
sys.dont_write_bytecode = True

import template as templates
import tools
import yaml

import alarms  # noqa: F401 (its rules register themselves)
import firing  # noqa: F401 (the same)
from rules import RULES, Deployment

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def deployments(sam: dict, expanded: dict, root: Path) -> dict[str, Deployment]:
    """The template with each set of parameters of deployments.yaml."""
    made = {}
    for name, parameters in yaml.safe_load((HERE / "deployments.yaml").read_text(encoding="utf-8")).items():
        other = templates.resolve(expanded, {**parameters, "Stage": "other"})
        made[name] = Deployment(sam, templates.resolve(expanded, parameters), parameters, root, other)
    return made


def python_rules(deployment: Deployment, name: str) -> list[tools.Finding]:
    """Our rules in Python on one deployment."""
    found = []
    for rule, check in RULES.items():
        try:
            found += [tools.Finding("own", rule, name, text) for text in check(deployment)]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            found.append(tools.Finding("own", rule, name, f"cannot tell: the template lacks {error}"))
    return found


def guard_data(deployment: Deployment) -> str:
    """What cfn-guard reads of a deployment: types and properties that its rules name, so that much that is broken
    elsewhere leaves it as it is."""
    named = (HERE / "rules.guard").read_text(encoding="utf-8")
    resources = {
        name: {**resource, "Properties": {k: v for k, v in resource["Properties"].items() if k in named}}
        for name, resource in deployment.resources.items()
        if resource["Type"] in named
    }
    return json.dumps({"Resources": resources})


def own_rules(sam: dict, expanded: dict, folder: Path) -> list[tools.Finding]:
    """Our rules, in Python and for cfn-guard, on every deployment."""
    found = []
    data = {}
    for name, deployment in deployments(sam, expanded, ROOT).items():
        found += python_rules(deployment, name)
        data[name] = guard_data(deployment)
    for name, findings in tools.cfn_guard(folder / "guard", data).items():
        found += [finding._replace(resource=name) for finding in findings]
    return found


def others_rules(sam_path: Path, expanded: dict, folder: Path, asked: str = "cfn-lint checkov") -> list[tools.Finding]:
    """cfn-lint on the SAM file, then cfn-lint and checkov on the expansion: each sees what the others do not."""
    path = folder / "expanded.json"
    path.write_text(json.dumps(expanded, indent=1), encoding="utf-8")
    lint = [("cfn-lint-sam", sam_path), ("cfn-lint", path)] if "cfn-lint" in asked else []
    found = [finding for tool, file in lint for finding in tools.cfn_lint(file, tool)]
    return found + (tools.checkov(path) if "checkov" in asked else [])


def check(path: Path, folder: Path) -> list[str]:
    sam = templates.load(path)
    expanded = templates.expand(sam)
    with ThreadPoolExecutor() as pool:
        others = pool.submit(others_rules, path, expanded, folder)
        said = [f"{f.rule} ({f.resource}): {f.text}" for f in own_rules(sam, expanded, folder)]
        # Plain CloudFormation, for GitHub; there are no rules of ours about it.
        for role in sorted((path.parent / "policies").glob("*.yaml")):
            said += [f"{role.name}: {f.rule} ({f.resource}): {f.text}" for f in tools.cfn_lint(role)]
        return said + tools.without_accepted(others.result())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("template", type=Path)
    parser.add_argument(
        "--self-test", action="store_true", help="break the template in every known way; each must be caught"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if arguments.self_test:
                import self_test

                said = self_test.run(arguments.template, Path(folder))
            else:
                said = check(arguments.template, Path(folder))
        except (tools.ToolFailed, templates.DoesNotExpand) as error:
            said = [str(error)]
    for line in said:
        print(line)
    if not said:
        rules = len(RULES) + len(tools.guard_rules())
        print(f"{arguments.template}: nothing to say ({rules} rules of our own, cfn-lint, checkov)")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
