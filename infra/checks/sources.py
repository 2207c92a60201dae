"""What the code emits and reads, taken from its sources: metrics of the functions, keys of the configuration."""

import re
from pathlib import Path

FUNCTIONS = {"Intake": "intake", "SideEffect": "side-effect", "Poller": "poller"}
_METRIC = re.compile(r'\.(?:count|metric)\(\s*"([a-z0-9_]+)"')
_FIRST_OF_PAIR = re.compile(r'\(\s*"([a-z0-9_]+)",')
_KEY_ROW = re.compile(r"^\| `([a-z0-9_.]+)` \|", re.MULTILINE)
_REPORT_FIELD = re.compile(r"^ {4}([a-z0-9_]+),$", re.MULTILINE)


def emitted(root: Path) -> set[tuple[str, str]]:
    """Every metric as (function, name)."""
    shared = _section(root / "crates/startup/src/metrics.rs", "pub fn crm_usage", "\n    }\n")
    report = _section(root / "crates/core/src/flows/report.rs", "\nreport! {", "\n}\n")
    found = set()
    for function in FUNCTIONS.values():
        names = set(_FIRST_OF_PAIR.findall(shared))
        for source in sorted((root / f"crates/{function}/src").rglob("*.rs")):
            if "tests" not in source.relative_to(root).parts and source.name != "tests.rs":
                text = source.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
                names.update(_METRIC.findall(text))
        if function == "poller":
            names.update(_REPORT_FIELD.findall(report))
        found.update((function, name) for name in names)
    return found


def keys(root: Path) -> set[str]:
    """Every key of the configuration, from the table that the repository's tests keep equal to the code."""
    return set(_KEY_ROW.findall((root / "README.md").read_text(encoding="utf-8")))


class Needed:
    """What the template counts on and the code does not do yet: `infra/aws/METRICS-NEEDED`."""

    def __init__(self, root: Path):
        self.metrics: set[tuple[str, str]] = set()
        self.keys: set[str] = set()
        path = root / "infra/aws/METRICS-NEEDED"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in lines:
            kind, *words = line.split()[:3] or [""]
            if kind == "metric":
                self.metrics.add((words[1], words[0]))
            elif kind == "key":
                self.keys.add(words[0])

    def stale(self, root: Path) -> list[str]:
        """What stands there although the code does it by now."""
        done = {f"{name} of {function}" for function, name in self.metrics & emitted(root)}
        return sorted(done | self.keys & keys(root))


def _section(path: Path, start: str, end: str) -> str:
    text = path.read_text(encoding="utf-8")
    begin = text.index(start)
    return text[begin : text.index(end, begin)]
