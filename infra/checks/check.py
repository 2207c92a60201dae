#!/usr/bin/env python3
"""Checks a SAM template: `check.py TEMPLATE`, and `check.py --self-test TEMPLATE` for the checks themselves."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

# Before our own modules are read: nothing is to be left in the checkout.
sys.dont_write_bytecode = True

import template as templates
import tools
import yaml

import alarms  # noqa: F401 (its rules register themselves)
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


def own_rules(sam: dict, expanded: dict, folder: Path, root: Path = ROOT) -> list[tools.Finding]:
    """Our rules, in Python and for cfn-guard, on every deployment."""
    found = []
    for name, deployment in deployments(sam, expanded, root).items():
        for rule, check in RULES.items():
            try:
                found += [tools.Finding("own", rule, name, text) for text in check(deployment)]
            except (KeyError, IndexError, TypeError) as error:
                found.append(tools.Finding("own", rule, name, f"cannot tell: the template lacks {error}"))
        path = folder / f"resolved-{name}.json"
        path.write_text(json.dumps({"Resources": deployment.resources}), encoding="utf-8")
        found += [finding._replace(resource=name) for finding in tools.cfn_guard(path)]
    return found


def others_rules(sam_path: Path, expanded: dict, folder: Path) -> list[tools.Finding]:
    """cfn-lint on the SAM file, then cfn-lint and checkov on the expansion: each sees what the others do not."""
    path = folder / "expanded.json"
    path.write_text(json.dumps(expanded, indent=1), encoding="utf-8")
    return tools.cfn_lint(sam_path, "cfn-lint-sam") + tools.cfn_lint(path) + tools.checkov(path)


def check(path: Path, folder: Path) -> list[str]:
    sam = templates.load(path)
    expanded = templates.expand(sam)
    said = [f"{f.rule} ({f.resource}): {f.text}" for f in own_rules(sam, expanded, folder)]
    return said + tools.without_accepted(others_rules(path, expanded, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("template", type=Path)
    parser.add_argument("--self-test", action="store_true", help="break the template in every known way; each must be caught")
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
