from __future__ import annotations

import io
import json
import math
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import write

import markmill
from markmill.program import call

SHELL = "```bash {#build}\necho built\n```\n\n```bash {#check .test}\nexit 7\n```\n"


def test_run() -> None:
    write("in.ipynb", "a = 1", "print(a)\na + 1", "glue('loss', 0.25)")
    run = markmill.run("in.ipynb", parameters={"a": 5})
    assert (run.status, run.exit_code, run.parameters, run.scraps) == ("pass", 0, {"a": 5}, {"loss": 0.25})
    assert [s["status"] for s in run.steps] == ["pass"] * 3
    stream, result = run.outputs["cell-2"]
    assert (stream["text"], result["data"]) == (["5\n"], {"text/plain": ["6"]})
    assert (run.folder / "report.json").is_file() and run.folder.name == run.id
    run.raise_for_status()


def test_markdown() -> None:
    Path("task.md").write_text(SHELL, encoding="utf-8")
    run = markmill.run("task.md", "out.md")
    assert (run.status, run.exit_code, run.steps[1]["exit_code"]) == ("fail", 1, 7)
    assert run.outputs["build"][0]["text"] == ["built\n"]
    assert "exit 7" in Path("out.md").read_text(encoding="utf-8")
    with pytest.raises(markmill.PapermillExecutionError) as caught:
        run.raise_for_status()
    assert (caught.value.ename, caught.value.source.strip(), caught.value.run) == ("StepFailed", "exit 7", run)


VALUES: dict[str, Any] = {
    "text": "é'\"\\ \n: # {x}",
    "number": "007",
    "truth": True,
    "nothing": None,
    "integer": 12345678901234567890,
    "fraction": 1e-7,
    "infinite": -math.inf,
    "list": [1, [2.5, "b"], (), {"k": None}],
    "map": {"a b": {"c": "yes"}, "on": "no"},
}


def test_values() -> None:
    write("in.ipynb", "\n".join(f"{name} = ..." for name in VALUES), f"print([{', '.join(VALUES)}])")
    run = markmill.run("in.ipynb", parameters=VALUES)
    expected = [[1, [2.5, "b"], [], {"k": None}] if name == "list" else v for name, v in VALUES.items()]
    assert run.outputs["cell-2"][0]["text"] == [f"{expected}\n"]


def test_not_a_number() -> None:
    write("in.ipynb", "a = 0.5", "print(a != a)")
    assert markmill.run("in.ipynb", parameters={"a": math.nan}).outputs["cell-2"][0]["text"] == ["True\n"]


def test_error_of_a_cell() -> None:
    write("in.ipynb", "a = 1", "a", "raise ValueError('no %d' % a)", "a")
    with pytest.raises(markmill.PapermillExecutionError) as caught:
        markmill.run("in.ipynb", parameters={"a": 3}).raise_for_status()
    error = caught.value
    # The injected cell is one, the marks of the error are none.
    assert (error.cell_index, error.exec_count, error.source) == (3, 4, "raise ValueError('no %d' % a)")
    assert (error.ename, error.evalue) == ("ValueError", "no 3")
    assert "ValueError" in error.traceback[-1]
    assert 'Exception encountered at "In [4]"' in str(error) and "\x1b" not in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, markmill.PapermillExecutionError) and again.args == error.args


def test_version() -> None:
    import importlib.metadata

    assert markmill.__version__ == importlib.metadata.version("markmill")
    with pytest.raises(AttributeError):
        markmill.no_such_name  # noqa: B018


def test_no_notebook(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("nbformat")
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] No such file or directory: 'missing\.ipynb'$"):
        markmill.execute_notebook("missing.ipynb", "out.ipynb")
    assert capfd.readouterr().err == ""


def test_no_run() -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.ipynb"):
        markmill.run("missing.ipynb")
    write("in.ipynb", "a = 1")
    for options in ({"nonsense": 1}, {"kernel": "none"}, {"parameters": {"b": 1}}):
        with pytest.raises(markmill.MarkmillError) as caught:
            markmill.run("in.ipynb", **options)
        assert caught.value.exit_code == 2 and caught.value.errors[0]["kind"] in ("usage", "option", "parameter")
    assert not Path("store").exists()


def test_blocked() -> None:
    Path("task.md").write_text("---\nrequire: approval\n---\n\n```bash {#a}\ntrue\n```\n", encoding="utf-8")
    run = markmill.run("task.md")
    assert (run.status, run.exit_code) == ("blocked", 3)
    with pytest.raises(markmill.MarkmillError) as caught:
        run.raise_for_status()
    assert caught.value.exit_code == 3 and not isinstance(caught.value, markmill.PapermillExecutionError)


def test_lines_and_events() -> None:
    write("in.ipynb", "a = 1", "print('hello')")
    lines: list[str] = []
    events: list[dict[str, Any]] = []
    markmill.run("in.ipynb", line=lines.append, event=events.append)
    assert any("cell-2" in line for line in lines)
    assert events[0]["type"] == "run.started" and events[-1]["type"] == "run.completed"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_interrupt(request: pytest.FixtureRequest) -> None:
    # A shell's background jobs ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    write("in.ipynb", "a = 1", "import time\ntime.sleep(60)", "a")

    def event(data: dict[str, Any]) -> None:
        if data["type"] == "step.started" and data["step"] == "cell-2":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        markmill.run("in.ipynb", "out.ipynb", event=event)
    # The run has ended, with its record and its output.
    (run,) = call(["list", "--json"]).document()["runs"]
    assert run["status"] == "interrupted"
    assert "time.sleep" in Path("out.ipynb").read_text(encoding="utf-8")


def test_this_python_runs_the_steps() -> None:
    write("in.ipynb", "import sys\nprint(sys.prefix)")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != os.path.dirname(sys.executable))
    code = "import markmill; print(markmill.run('in.ipynb').outputs['cell-1'][0]['text'][0])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == sys.prefix


def test_command() -> None:
    done = subprocess.run([sys.executable, "-m", "markmill", "version", "--json"], stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout)["schema"].startswith("markmill.version/")
    assert subprocess.run([sys.executable, "-m", "markmill", "nonsense"], stderr=subprocess.DEVNULL).returncode == 2


def test_inspect() -> None:
    write("in.ipynb", "msg = None\na: float = 2.25 # Variable a")
    assert markmill.inspect_notebook("in.ipynb") == {
        "msg": {"name": "msg", "inferred_type_name": "None", "default": "None", "help": ""},
        "a": {"name": "a", "inferred_type_name": "float", "default": "2.25", "help": "Variable a"},
    }
    assert list(markmill.inspect_notebook("{x}.ipynb", {"x": "in"})) == ["msg", "a"]


class TestExecuteNotebook:
    @pytest.fixture(autouse=True)
    def needs(self) -> None:
        pytest.importorskip("nbformat", reason="execute_notebook returns a notebook of nbformat's")

    def test_signature(self) -> None:
        papermill = pytest.importorskip("papermill", reason="papermill is compared with")
        import inspect

        ours, theirs = (inspect.signature(m.execute_notebook).parameters for m in (markmill, papermill))
        assert list(ours) == list(theirs)
        assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]
        assert [p.kind for p in ours.values()] == [p.kind for p in theirs.values()]

    def test_outputs(self, capfd: pytest.CaptureFixture[str]) -> None:
        write("in.ipynb", "a = 1", "import sys\nprint(a, b)\nprint('e', file=sys.stderr)")
        out, err = io.StringIO(), io.StringIO()
        node = markmill.execute_notebook(
            Path("in.ipynb"), "{a}.ipynb", {"a": 2, "b": "x"}, stdout_file=out, stderr_file=err, autosave_cell_every=5
        )
        assert node.cells[1].source == '# Parameters\na = 2\nb = "x"\n' and Path("2.ipynb").is_file()
        assert (out.getvalue(), err.getvalue()) == ("2 x\n", "e\n")
        assert "cell-2" in capfd.readouterr().err
        markmill.execute_notebook(node, None, {"b": 1}, progress_bar=False)
        assert capfd.readouterr().err == ""

    def test_prepare_only(self) -> None:
        write("in.ipynb", "a = 1", "1 / 0")
        node = markmill.execute_notebook("in.ipynb", "{a}.ipynb", {"a": 2}, prepare_only=True, report_mode=True)
        assert node.cells[1].source == "# Parameters\na = 2\n" and node.cells[2].metadata.jupyter.source_hidden
        assert Path("2.ipynb").is_file()
        assert not Path("store").exists()

    def test_error(self) -> None:
        write("in.ipynb", "1 / 0")
        with pytest.raises(markmill.PapermillExecutionError, match="ZeroDivisionError"):
            markmill.execute_notebook("in.ipynb", "out.ipynb", progress_bar=False)
        assert "papermill-error-cell" in Path("out.ipynb").read_text(encoding="utf-8")

    def test_time_limit(self) -> None:
        write("in.ipynb", "import time\ntime.sleep(60)")
        with pytest.raises(markmill.PapermillExecutionError) as caught:
            markmill.execute_notebook("in.ipynb", None, progress_bar=False, timeout=1)
        assert caught.value.run is not None and caught.value.run.status == "blocked"
