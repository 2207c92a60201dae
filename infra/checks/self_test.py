"""Tests the checks: the template is broken on purpose, and exactly the rule that should catch it must do so."""

from pathlib import Path

import check
import template as templates
import tools
import yaml
from rules import RULES

BROKEN = Path(__file__).parent / "broken"


def run(path: Path, folder: Path) -> list[str]:
    """What is wrong with the checks. Each file of broken/ is named after a rule; a rule without one is a failure."""
    sam = templates.load(path)
    said, cases, tested = [], 0, set()
    for file in sorted(BROKEN.glob("*.yaml")):
        for case in yaml.safe_load(file.read_text(encoding="utf-8")):
            cases += 1
            caught = _caught(case, sam, folder)
            expected = {file.stem, *case.get("also", [])}
            tested.add(file.stem)
            if caught != expected:
                missed, more = sorted(expected - caught), sorted(caught - expected)
                said.append(f"{file.name}, {case['case']}: not caught by {missed}, but by {more}")
    rules = {*RULES, *tools.guard_rules()}
    said += [f"rule {rule} has no broken template" for rule in sorted(rules - tested)]
    print(f"{cases} broken templates, {len(rules)} rules of our own")
    return said


def _caught(case: dict, sam: dict, folder: Path) -> set[str]:
    broken = templates.patched(sam, case["patch"])
    try:
        expanded = templates.expand(broken)
    except templates.DoesNotExpand:
        return {"the_transform"}
    if case.get("by") == "others":
        path = folder / "broken.yaml"
        path.write_text(yaml.safe_dump(broken, sort_keys=False), encoding="utf-8")
        accepted = tools.without_accepted(check.others_rules(path, expanded, folder))
        # The word after the tool is its rule; what the breakage removed from the accepted findings is no finding.
        return {"_".join(line.split()[:2]) for line in accepted if not line.startswith("accepted.yaml")}
    root = _sources(case, folder) if "sources" in case else check.ROOT
    return {finding.rule for finding in check.own_rules(broken, expanded, folder, root)}


def _sources(case: dict, folder: Path) -> Path:
    """A copy of what the rules read of the sources, with one text replaced."""
    root = folder / "sources"
    for pattern in ("README.md", "crates/*/README.md", "crates/*/src/**/*.rs", "infra/aws/METRICS-NEEDED"):
        for source in check.ROOT.glob(pattern):
            copy = root / source.relative_to(check.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    change = case["sources"]
    path = root / change["file"]
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if "append" in change:
        path.write_text(text + change["append"], encoding="utf-8")
    else:
        if change["old"] not in text:
            raise KeyError(f"{change['file']} does not hold {change['old']!r}")
        path.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")
    return root
