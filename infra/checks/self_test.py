"""Tests the checks: the template is broken on purpose, and exactly the rule that should catch it must do so."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import check
import template as templates
import tools
import yaml
from rules import RULES

BROKEN = Path(__file__).parent / "broken"
# The machines of the gate have two cores.
PROCESSES = 2

Case = tuple[str, dict]


def run(path: Path, folder: Path) -> list[str]:
    """What is wrong with the checks. Each file of broken/ is named after a rule; a rule without one is a failure."""
    sam = templates.load(path)
    files = sorted(BROKEN.glob("*.yaml"))
    cases = [(file.stem, case) for file in files for case in yaml.safe_load(file.read_text(encoding="utf-8"))]
    ours = [(rule, case) for rule, case in cases if case.get("by") != "others"]
    others = [(rule, case) for rule, case in cases if case.get("by") == "others"]
    with ProcessPoolExecutor(PROCESSES) as pool:
        # The slow ones first. The rest in as many parts as there are processes: cfn-guard is started once for each.
        slow = pool.map(partial(_by_others, sam, folder), range(len(others)), others)
        parts = [ours[n::PROCESSES] for n in range(PROCESSES)]
        quick = pool.map(partial(_by_us, sam, folder), range(PROCESSES), parts)
        said = [text for found in (*slow, *quick) for text in found]
    rules = {*RULES, *tools.guard_rules()}
    said += [f"rule {rule} has no broken template" for rule in sorted(rules - {rule for rule, _ in cases})]
    print(f"{len(cases)} broken templates, {len(rules)} rules of our own")
    return said


def _judged(rule: str, case: dict, caught: set[str]) -> list[str]:
    expected = {rule, *case.get("also", [])}
    if caught == expected:
        return []
    missed, more = sorted(expected - caught), sorted(caught - expected)
    return [f"{rule}.yaml, {case['case']}: not caught by {missed}, but by {more}"]


def _by_us(sam: dict, folder: Path, part: int, cases: list[Case]) -> list[str]:
    """Our rules in Python on every deployment; those for cfn-guard, which know no parameters, on the first."""
    data, caught = {}, {}
    for number, (_, case) in enumerate(cases):
        broken = templates.patched(sam, case["patch"])
        try:
            expanded = templates.expand(broken)
        except templates.DoesNotExpand:
            caught[number] = {"the_transform"}
            continue
        root = _sources(case["sources"], folder / f"sources-{part}-{number}") if "sources" in case else check.ROOT
        deployed = check.deployments(broken, expanded, root)
        caught[number] = {f.rule for name, d in deployed.items() for f in check.python_rules(d, name)}
        data[str(number)] = check.guard_data(next(iter(deployed.values())))
    for number, findings in tools.cfn_guard(folder / f"guard-{part}", data).items():
        caught[int(number)] |= {finding.rule for finding in findings}
    return [text for number, (rule, case) in enumerate(cases) for text in _judged(rule, case, caught[number])]


def _by_others(sam: dict, folder: Path, number: int, case: Case) -> list[str]:
    """By the tool that the file is named after: it must say this and nothing else."""
    name, case = case
    folder = folder / f"others-{number}"
    folder.mkdir()
    broken, path = templates.patched(sam, case["patch"]), folder / "broken.yaml"
    path.write_text(yaml.safe_dump(broken, sort_keys=False), encoding="utf-8")
    found = check.others_rules(path, templates.expand(broken), folder, name.partition("_")[0])
    # What the breakage removed from the accepted findings is no finding.
    left = [line for line in tools.without_accepted(found) if not line.startswith("accepted.yaml")]
    return _judged(name, case, {"_".join(line.split()[:2]) for line in left})


def _sources(change: dict, root: Path) -> Path:
    """A copy of what the rules read of the repository, with one text replaced. In a folder of its own: what is read of
    one folder is kept."""
    for pattern in (
        "README.md",
        "crates/*/README.md",
        "crates/*/src/**/*.rs",
        "infra/checks/lines/*.json",
        "infra/aws/README.md",
    ):
        for source in check.ROOT.glob(pattern):
            copy = root / source.relative_to(check.ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    for name in change["files"]:
        text = (root / name).read_text(encoding="utf-8")
        if change["old"] not in text:
            raise KeyError(f"{name} does not hold {change['old']!r}")
        (root / name).write_text(text.replace(change["old"], change["new"]), encoding="utf-8")
    return root
