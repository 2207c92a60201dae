"""Step 1: the functions as they are deployed, and whether Lambda's C library is enough for them."""

import os
import re
import shutil
import struct
from pathlib import Path

from processes import Failed, expect
from stage import FUNCTIONS, ROOT, Stage

# What Amazon Linux 2023 has.
GLIBC = (2, 34)
_SYMBOL = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)")


def build(stage: Stage) -> str:
    """Builds by package.sh, as for a real deployment, but with the quicker profile."""
    checkout = stage.run / "checkout"
    shutil.copytree(ROOT / "infra/aws", stage.template_folder)
    env = {
        **os.environ,
        "PATH": stage.path(),
        # Of its own, for what is built for another target shares nothing, and nobody waits for its lock.
        "CARGO_TARGET_DIR": str(ROOT / "target/lambda"),
        "PROFILE": "rehearsal",
        "WAKE": "on",
        "WAKE": "on",
        "OUT": str(stage.aws),
    }
    command = [ROOT / "infra/aws/package.sh", stage.config, "x86_64"]
    stage.processes.run("package", command, cwd=checkout, env=env, timeout=1800)
    said = []
    for function in FUNCTIONS:
        bootstrap = stage.aws / function / "bootstrap"
        needs = needed_glibc(bootstrap, "x86_64")
        expect(needs <= GLIBC, f"{function} needs glibc {needs[0]}.{needs[1]}; Amazon Linux 2023 has {GLIBC[0]}.{GLIBC[1]}")
        said.append(f"{function} {bootstrap.stat().st_size / 1e6:.1f} MB, glibc {needs[0]}.{needs[1]}")
    return "; ".join(said)


def needed_glibc(binary: Path, machine: str) -> tuple[int, int]:
    """The newest version of glibc that the dynamic linker will ask for: the names in `.gnu.version_r`, which stand in
    `.dynstr`."""
    data = binary.read_bytes()
    expect(data[:6] == b"\x7fELF\x02\x01", f"{binary} is no 64-bit little-endian ELF file")
    (found,) = struct.unpack_from("<H", data, 18)
    expect(found == {"x86_64": 62, "arm64": 183}[machine], f"{binary} is built for machine {found}, not {machine}")
    names = _dynstr(data)
    versions = [(int(major), int(minor)) for major, minor in _SYMBOL.findall(names)]
    expect(versions, f"{binary} names no version of glibc: is it linked in another way?")
    return max(versions)


def _dynstr(data: bytes) -> bytes:
    """The section with the names that the dynamic linker reads."""
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + number * size) for number in range(count)]
    names = headers[names_at]
    for name, _, _, _, at, length in headers:
        start = names[4] + name
        if data[start : data.index(b"\0", start)] == b".dynstr":
            return data[at : at + length]
    raise Failed("the binary has no dynamic names: it is linked statically")
