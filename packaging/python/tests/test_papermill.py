"""The engine, under papermill itself."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import cell, write

import markmill

papermill = pytest.importorskip("papermill", reason="the engine is one of papermill's")


def engine(*arguments: Any, **options: Any) -> Any:
    return papermill.execute_notebook(*arguments, engine_name="markmill", progress_bar=False, **options)


def test_engine() -> None:
    write("in.ipynb", "a = 1", "print(a)", "a + 1")
    out = io.StringIO()
    node = engine("in.ipynb", "out.ipynb", {"a": 4}, stdout_file=out)
    assert [c.execution_count for c in node.cells] == [1, 2, 3, 4]
    assert node.cells[2].outputs[0].text == "4\n" and node.cells[3].outputs[0].data["text/plain"] == "5"
    assert {c.metadata.papermill.status for c in node.cells} == {"completed"} and out.getvalue() == "4\n"
    assert engine(node, None).metadata.markmill.status == "pass"
    record = Path("store/runs", node.metadata.markmill.run, "report.json")
    assert json.loads(record.read_text(encoding="utf-8"))["status"] == node.metadata.markmill.status == "pass"


def test_error() -> None:
    write("in.ipynb", "a = 1", "a.b", "a")
    with pytest.raises(papermill.PapermillExecutionError) as caught:
        engine("in.ipynb", "out.ipynb")
    assert (caught.value.cell_index, caught.value.ename, caught.value.exec_count) == (1, "AttributeError", 2)
    cells = json.loads(Path("out.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [c["metadata"]["papermill"]["status"] for c in cells if c["cell_type"] == "code"] == [
        "completed",
        "failed",
        "pending",
    ]


def test_no_run() -> None:
    write("in.ipynb", "a = 1")
    with pytest.raises(markmill.PapermillException, match="nonsense"):
        engine("in.ipynb", "out.ipynb", nonsense=1)


def test_own_errors_are_papermills() -> None:
    write("in.ipynb", "1 / 0")
    with pytest.raises(papermill.PapermillExecutionError):
        markmill.execute_notebook("in.ipynb", None, progress_bar=False)


def test_command() -> None:
    write("in.ipynb", cell("a = 1", "parameters"), cell("print(a)"))
    command = [sys.executable, "-m", "papermill", "in.ipynb", "out.ipynb", "-p", "a", "9"]
    subprocess.run([*command, "--engine", "markmill"], check=True)
    assert len(list(Path("store/runs").glob("*in-*"))) == 1
    assert '"9\\n"' in Path("out.ipynb").read_text(encoding="utf-8")
    # For programs that name no engine, or one of their own.
    subprocess.run(command, check=True, env={**os.environ, "MARKMILL_ENGINE": "always"})
    assert len(list(Path("store/runs").glob("*in-*"))) == 2


def test_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cells work where papermill's do: where it was started, or in its cwd, in a repository, too."""
    write("in.ipynb", "import os\nprint(os.listdir())")
    Path("sub/below").mkdir(parents=True)
    Path("sub/below/mark").touch()
    subprocess.run(["git", "init", "-q"], check=True)

    def listed(**options: str) -> str:
        node = engine(os.path.abspath("/".join([top, "in.ipynb"])), None, **options)
        return str(node.cells[0].outputs[0].text)

    top = os.getcwd()
    assert "sub" in listed()
    assert listed(cwd="sub") == "['below']\n" and listed(cwd=top + "/sub/below") == "['mark']\n"
    monkeypatch.chdir("sub")
    assert listed() == "['below']\n" and listed(cwd="below") == "['mark']\n"
