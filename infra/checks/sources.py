"""What the code emits and reads, taken from its sources: metrics of the functions, keys of the configuration."""

import json
import re
from functools import lru_cache
from pathlib import Path

FUNCTIONS = {"Intake": "intake", "SideEffect": "side-effect", "Poller": "poller"}
_METRICS = re.compile(r"\nconst METRICS: \[&str; [0-9]+\] = \[(.*?)\];", re.DOTALL)
_NAME = re.compile(r'"([a-z0-9_]+)"')
_KEY_ROW = re.compile(r"^\| `([a-z0-9_.]+)` \|", re.MULTILINE)


@lru_cache
def declared(root: Path) -> set[tuple[str, str]]:
    """Every metric as (function, name): the numbers of its line that a function declares, and that are paid for."""
    found = set()
    for function in FUNCTIONS.values():
        for source in sorted((root / f"crates/{function}/src").rglob("*.rs")):
            for names in _METRICS.findall(source.read_text(encoding="utf-8")):
                found.update((function, name) for name in _NAME.findall(names))
    return found


@lru_cache
def lines(root: Path) -> dict[str, dict[str, dict]]:
    """The metrics lines by function and by what happened. Tests of the functions keep them equal to what they emit."""
    folder = root / "infra/checks/lines"
    return {f: json.loads((folder / f"{f}.json").read_text(encoding="utf-8")) for f in FUNCTIONS.values()}


@lru_cache
def numbers(root: Path) -> set[tuple[str, str]]:
    """Every number that any line holds, as (function, name): what can be asked for in the log."""
    return {
        (function, name)
        for function, of in lines(root).items()
        for line in of.values()
        for name, value in line.items()
        if isinstance(value, (int, float))
    }


@lru_cache
def keys(root: Path) -> set[str]:
    """Every key of the configuration, from the tables that the repository's tests keep equal to the code."""
    tables = ("README.md", "crates/startup/README.md")
    return {key for table in tables for key in _KEY_ROW.findall((root / table).read_text(encoding="utf-8"))}
