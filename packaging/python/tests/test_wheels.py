from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("tomllib", reason="wheels are built with Python 3.11 or newer")
HERE = Path(__file__).parent.parent
sys.path.append(str(HERE))
import wheels  # noqa: E402

SYSTEMS = {"linux": ("manylinux", "musllinux"), "darwin": ("macosx",), "windows": ("win_",)}


@pytest.mark.parametrize("target", wheels.PLATFORMS)
def test_wheel(target: str, folder: Path) -> None:
    ending = ".exe" if "windows" in target else ""
    binaries = {f"markmill{ending}": b"program", f"markmill-server{ending}": b"server"}
    path = wheels.write(folder / "one", target, binaries)
    assert path.read_bytes() == wheels.write(folder / "two", target, binaries).read_bytes()
    assert all(tag in path.name for tag in SYSTEMS[target.split("/")[0]])
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        stem = f"markmill-{wheels.version()}"
        for name, binary in binaries.items():
            program = f"{stem}.data/scripts/{name}"
            assert wheel.read(program) == binary and wheel.getinfo(program).external_attr >> 16 == 0o100755
        record = wheel.read(f"{stem}.dist-info/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        for line in record[:-1]:
            name, digest, size = line.split(",")
            content = wheel.read(name)
            actual = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={actual}", str(len(content)))
        modules = {f"markmill/{f.name}" for f in (HERE / "markmill").iterdir() if f.is_file()}
        assert modules <= set(names) and "markmill/py.typed" in modules
        tags = [t for t in wheel.read(f"{stem}.dist-info/WHEEL").decode().splitlines() if t.startswith("Tag: ")]
        assert len(tags) == len(wheels.PLATFORMS[target].split("."))
        points = wheel.read(f"{stem}.dist-info/entry_points.txt").decode()
        assert "[papermill.engine]\nmarkmill = " in points and "[pytest11]\nmarkmill = " in points


def test_command_line(folder: Path) -> None:
    done = subprocess.run([sys.executable, str(HERE / "wheels.py"), str(folder), "plan9/arm"], capture_output=True)
    assert done.returncode == 1 and b"linux/amd64" in done.stderr and os.listdir(folder) == []


def test_says_what_it_does(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    monkeypatch.setattr("subprocess.run", lambda *args, **named: said.append(capsys.readouterr().err))
    path = wheels.write(folder, "linux/arm64", wheels.programs("linux/arm64"))
    assert "Building ./cmd/markmill and ./cmd/markmill-server for linux/arm64" in said[0]
    assert path.name in capsys.readouterr().err
