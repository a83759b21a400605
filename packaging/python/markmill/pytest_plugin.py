"""The pytest plugin: pytest --markmill runs notebooks again and compares, a test for each step.

Compared is what markmill test compares, and nbval's markers mean what they mean there. A notebook runs once for all of
its steps; under xdist its steps stay together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .exceptions import MarkmillError
from .program import call

NOTEBOOKS = (".ipynb", ".out.md")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("markmill", "notebooks, run again and compared")
    group.addoption("--markmill", action="store_true", help="test notebooks: *.ipynb and *.out.md")
    group.addoption("--markmill-lax", action="store_true", help="compare only what NBVAL_CHECK_OUTPUT marks")
    group.addoption("--markmill-kernel", metavar="NAME", help="run them on this kernel")
    group.addoption("--markmill-sanitize-with", metavar="FILE", help="mask with the expressions of an nbval file")


def enabled(config: pytest.Config) -> bool:
    """Tells whether notebooks are tests."""
    return bool(config.getoption("markmill") or config.getoption("markmill_lax"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps the steps of a notebook on one worker of xdist, where nothing else is asked for."""
    if not enabled(config) or config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class NotebookScheduling(LoadScopeScheduling):
        """Gives a worker a notebook at a time, and other tests one by one."""

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return file if file.endswith(NOTEBOOKS) else nodeid

    return NotebookScheduling(config, log)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> NotebookFile | None:
    """Makes tests of a notebook."""
    if not enabled(parent.config) or not file_path.name.endswith(NOTEBOOKS):
        return None
    return NotebookFile.from_parent(parent, path=file_path)


class StepFailed(Exception):
    """A step failed, or left something else."""


class NotebookFile(pytest.File):
    """A notebook."""

    results: dict[str, dict[str, Any]] | MarkmillError | None = None

    def collect(self) -> Iterator[StepItem]:
        """Yields a test for each step, and one for the run as a whole."""
        try:
            steps = call(["check", "--show", "--json", "--", str(self.path)]).document()["steps"]
        except MarkmillError as error:
            raise self.CollectError(str(error)) from None
        for step in steps:
            yield StepItem.from_parent(self, name=step["id"], step=step)
        yield StepItem.from_parent(self, name="(run)", step=None)

    def result(self) -> dict[str, dict[str, Any]]:
        """Runs the notebook, if it has not run, and returns what became of each step."""
        if self.results is None:
            try:
                self.results = self._run()
            except MarkmillError as error:
                self.results = error
        if isinstance(self.results, MarkmillError):
            raise self.results
        return self.results

    def _run(self) -> dict[str, dict[str, Any]]:
        option = self.config.getoption
        arguments = ["test", "--json"]
        if option("markmill_lax") and not option("markmill"):
            arguments.append("--marked")
        if option("markmill_kernel"):
            arguments += ["--kernel", option("markmill_kernel")]
        if option("markmill_sanitize_with"):
            arguments += ["--sanitize-with", os.path.abspath(option("markmill_sanitize_with"))]
        answer = call([*arguments, "--", str(self.path)])
        (notebook,) = answer.document()["notebooks"]
        words = "\n".join(notebook.get("words") or ())
        whole = {"verdict": notebook["status"], "words": words or f"the run is {notebook['status']}"}
        return {"(run)": whole, **{s["step"]: s for s in notebook.get("steps") or ()}}


class StepItem(pytest.Item):
    """A step of a notebook, or its run as a whole."""

    parent: NotebookFile

    def __init__(self, *, step: dict[str, Any] | None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.step = step
        for tag in (step or {}).get("tags", ()):
            self.keywords[tag] = True

    def runtest(self) -> None:
        """Fails if the step failed or left something else."""
        results = self.parent.result()
        found = results.get(self.name)
        if self.step is None:
            others = [r for name, r in results.items() if name != self.name and r["verdict"] in ("failed", "different")]
            if found and found["verdict"] not in ("same", "updated", "skipped") and not others:
                raise StepFailed(found["words"])
            return
        if found is None and results["(run)"]["verdict"] in ("missing", "skipped"):
            pytest.skip(results["(run)"]["words"])
        if found is None:
            raise StepFailed(results["(run)"]["words"])
        if found["verdict"] == "skipped":
            pytest.skip(found.get("words") or "skipped")
        if found["verdict"] in ("failed", "different"):
            raise StepFailed("\n".join(part for part in (found.get("words"), found.get("diff")) if part))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Shows the difference without a traceback of this plugin."""
        if isinstance(excinfo.value, (StepFailed, MarkmillError)):
            return f"{self.path}: {self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Says where the step is: its line is that in a text, and of its cell in a Jupyter notebook."""
        text = self.step and self.path.suffix != ".ipynb"
        return self.path, self.step["line"] - 1 if text and self.step else None, f"{self.path.name}: {self.name}"
