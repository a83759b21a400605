"""Writes the wheels of the package: the Python files, and the program as Go builds it for each platform.

    python wheels.py FOLDER             a wheel for each platform
    python wheels.py FOLDER linux/arm64 those that are named

It is also the build backend (PEP 517) of this folder: pip install builds the wheel of this platform with Go. The same
commit and release of Go give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Platforms of Go, and the tags of their wheels. The program links no C library, so that it runs with any. Go says which
# release of macOS it needs.
PLATFORMS = {
    "linux/amd64": "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


def version() -> str:
    """Returns the release of the program as Python writes it: 0.1.0-dev is 0.1.0.dev0."""
    source = (ROOT / "cmd/internal/program/version.go").read_text(encoding="utf-8")
    found = re.search(r'^const Release = "([^"]+)"$', source, re.MULTILINE)
    if not found:
        raise SystemExit("cmd/internal/program/version.go has no constant Release")
    return found[1].replace("-dev", ".dev0")


def project() -> dict[str, Any]:
    """Returns the table project of pyproject.toml."""
    import tomllib  # Python 3.11

    table: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def metadata() -> str:
    """Returns the file METADATA of the wheel."""
    about = project()
    lines = ["Metadata-Version: 2.4", f"Name: {about['name']}", f"Version: {version()}"]
    lines += [f"Summary: {about['description']}", f"Keywords: {','.join(about['keywords'])}"]
    lines += [f"License-Expression: {about['license']}", "License-File: LICENSE"]
    lines += [f"Requires-Python: {about['requires-python']}"]
    for extra, needs in about["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / about["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def entry_points() -> str:
    """Returns the file entry_points.txt of the wheel."""
    groups = project()["entry-points"].items()
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in sorted(points.items()))
        for group, points in sorted(groups)
    )


def programs(target: str) -> dict[str, bytes]:
    """Builds the program, and the server that it starts, for a platform of Go's."""
    system, processor = target.split("/")
    with tempfile.TemporaryDirectory() as folder:
        env = {"GOFLAGS": "-trimpath", **os.environ, "GOOS": system, "GOARCH": processor, "CGO_ENABLED": "0"}
        packages = [f"./cmd/{name}" for name in ("markmill", "markmill-server")]
        command = ["go", "build", "-ldflags=-s -w", "-o", folder + os.sep, *packages]
        say(f"Building {' and '.join(packages)} for {target}; the first build takes minutes")
        subprocess.run(command, cwd=ROOT, env=env, check=True)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def say(words: str) -> None:
    """Prints progress, which pip shows with -v."""
    print(words, file=sys.stderr, flush=True)


def write(folder: Path, target: str, binaries: dict[str, bytes]) -> Path:
    """Writes the wheel of a platform into a folder, and returns its path."""
    stem = f"markmill-{version()}"
    tags = PLATFORMS[target]
    kinds = "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: markmill\nRoot-Is-Purelib: false\n{kinds}"
    files = {
        **{
            f"markmill/{file.name}": file.read_bytes()
            for file in sorted((HERE / "markmill").glob("*"))
            if file.is_file()
        },
        **{f"{stem}.data/scripts/{name}": binary for name, binary in binaries.items()},
        f"{stem}.dist-info/METADATA": metadata().encode(),
        f"{stem}.dist-info/WHEEL": wheel.encode(),
        f"{stem}.dist-info/entry_points.txt": entry_points().encode(),
        f"{stem}.dist-info/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = ""
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(content)}\n"
    files[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            info = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix, wherever it is built
            info.external_attr = (0o100755 if "/scripts/" in file else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content, compresslevel=9)
    say(f"Wrote {path.name}, {path.stat().st_size // 1_000_000} MB")
    return path


def this_platform() -> str:
    """Returns the platform of Go's that this is."""
    processor = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{platform.system().lower()}/{processor}"


def build_wheel(folder: str, config: dict[str, Any] | None = None, prepared: str | None = None) -> str:
    """Builds the wheel of this platform, as PEP 517 has it."""
    return write(Path(folder), this_platform(), programs(this_platform())).name


def main() -> None:
    """Builds what the command line names."""
    if len(sys.argv) < 2 or set(sys.argv[2:]) - set(PLATFORMS):
        raise SystemExit(f"{__doc__}\nplatforms: {' '.join(PLATFORMS)}")
    for target in sys.argv[2:] or PLATFORMS:
        print(write(Path(sys.argv[1]), target, programs(target)))


if __name__ == "__main__":
    main()
