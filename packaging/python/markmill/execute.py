"""Runs notebooks."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TextIO, Union

from .exceptions import MarkmillError, PapermillException, execution_error
from .program import Event, Line, call

if TYPE_CHECKING:
    from nbformat import NotebookNode

log = logging.getLogger("markmill")
PathLike = Union[str, "os.PathLike[str]"]
Parameters = Optional[Mapping[str, Any]]
MARKER = "papermill-error-cell-tag"


@dataclass(frozen=True)
class Run:
    """A run that came to an end, whatever its verdict."""

    document: dict[str, Any] = field(repr=False)  # docs/schemas/run.json
    exit_code: int
    stderr: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """Its id, which the commands of Markmill take."""
        return str(self.document["run_id"])

    @property
    def status(self) -> str:
        """One of pass, fail, blocked, partial and interrupted."""
        return str(self.document["status"])

    @property
    def folder(self) -> Path:
        """The folder of its record."""
        return Path(self.document["run_dir"])

    @property
    def parameters(self) -> dict[str, Any]:
        """The values that it ran with."""
        return {p["name"]: p["value"] for p in self.document["parameters"]}

    @property
    def scraps(self) -> dict[str, Any]:
        """The values that its steps recorded; of pictures and files the description."""
        return {s["name"]: s.get("value", s) for s in self.document["scraps"]}

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Its steps in order: id, status, exit_code, reason, …"""
        return list(self.document["steps"])

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells of its output notebook, as nbformat 4 has them, without the marks of an error."""
        cells = json.loads(self.notebook())["cells"]
        return [c for c in cells if MARKER not in c.get("metadata", {}).get("tags", ())]

    def notebook(self) -> str:
        """Returns its output notebook as the text of a Jupyter notebook."""
        with tempfile.TemporaryDirectory(prefix="markmill-") as folder:
            path = Path(folder, "output.ipynb")
            call(["convert", str(self.folder), str(path)]).check()
            return path.read_text(encoding="utf-8")

    @property
    def outputs(self) -> dict[str, list[dict[str, Any]]]:
        """The outputs of each step, as nbformat 4 has them."""
        code = (c for c in self.cells if c["cell_type"] == "code" and not added(c))
        return {step["id"]: cell["outputs"] for step, cell in zip(self.steps, code)}

    def raise_for_status(self) -> None:
        """Raises what papermill raises, if the run did not pass."""
        error: PapermillException
        if self.exit_code == 0:
            return
        for index, cell in enumerate(self.cells):
            if cell.get("metadata", {}).get("papermill", {}).get("exception") is True:
                error = execution_error(index, cell.get("execution_count"), text(cell["source"]), *self._error(cell))
                break
        else:
            cause = self.document.get("cause") or {"words": f"the run is {self.status}"}
            words = f"step {cause['step']}: {cause['words']}" if cause.get("step") else cause["words"]
            error = MarkmillError(f"{words} (record: {self.folder})", self.exit_code)
        error.run = self
        raise error

    def _error(self, cell: dict[str, Any]) -> tuple[str, str, list[str]]:
        """Returns name, value and traceback of a cell's error; a step without an exception has its exit code."""
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                return output["ename"], output["evalue"], output["traceback"]
        cause = self.document.get("cause") or {}
        return "CellExecutionError", cause.get("words", ""), cause.get("tail", "").splitlines()


def run(
    notebook: PathLike,
    output: PathLike | None = None,
    parameters: Parameters = None,
    *,
    line: Line | None = None,
    event: Event | None = None,
    **options: Any,
) -> Run:
    """Runs a notebook, and returns the run whether it passed or not.

    Every option of markmill run is an argument: in_place=True, execution_timeout=60, only=["a", "b"]. What Markmill
    prints is passed to line, line by line, and each event of the run to event. Raises MarkmillError where no run began.
    """
    arguments = command(notebook, output, parameters, {**options, "json": True})
    answer = call(arguments, values(parameters), line, event)
    return Run(answer.document(), answer.exit_code, answer.stderr)


def execute_notebook(
    input_path: PathLike | NotebookNode,
    output_path: PathLike | None,
    parameters: Parameters = None,
    engine_name: str | None = None,
    request_save_on_cell_execute: bool = True,
    prepare_only: bool = False,
    kernel_name: str | None = None,
    language: str | None = None,
    progress_bar: bool = True,
    log_output: bool = False,
    stdout_file: TextIO | None = None,
    stderr_file: TextIO | None = None,
    start_timeout: float = 60,
    report_mode: bool = False,
    cwd: PathLike | None = None,
    **engine_kwargs: Any,
) -> NotebookNode:
    """Does what papermill.execute_notebook does, and returns the output notebook (this needs nbformat).

    Further arguments are options of markmill run. Raises PapermillExecutionError for a cell that failed, MarkmillError
    for every other run that did not pass.
    """
    import nbformat

    if engine_name not in (None, "nbclient", "markmill"):
        raise MarkmillError(f"the engine {engine_name} is one of papermill's: use papermill.execute_notebook", 2)
    options = {k: v for k, v in engine_kwargs.items() if k != "autosave_cell_every"}
    if options.get("timeout"):  # nbclient's name
        options.setdefault("execution_timeout", options["timeout"])
    options.pop("timeout", None)
    options.update(kernel=kernel_name, language=language, cwd=cwd, start_timeout=start_timeout)
    options.update(log_output=log_output, report_mode=report_mode, prepare_only=prepare_only)
    options.update(allow_unknown_parameters=True, no_progress_bar=not progress_bar)

    with tempfile.TemporaryDirectory(prefix="markmill-") as folder:
        own = os.path.join(folder, "output.ipynb")
        if not isinstance(input_path, (str, os.PathLike)):
            node, input_path = input_path, os.path.join(folder, "input.ipynb")
            nbformat.write(node, input_path)
        output = own if output_path is None else os.fspath(output_path)

        held: list[str] = []  # what the program says before the first cell: where no run begins, the exception says it

        def show(text: str) -> None:
            if log_output:
                log.info(text)
            elif progress_bar:
                print(text, file=sys.stderr, flush=True)

        def line(text: str) -> None:
            if text.startswith("markmill: "):
                held.append(text)
                return
            while held:
                show(held.pop(0))
            show(text)

        if prepare_only:
            for path in {output: None, own: None}:  # OUTPUT may be at an address, or have parameters in its name
                call(command(input_path, path, parameters, options), values(parameters), line).check()
            return nbformat.read(own, as_version=4)
        done = run(input_path, output, parameters, line=line, **options)
        for text in held:
            show(text)
        write_streams(done.cells if stdout_file or stderr_file else [], stdout_file, stderr_file)
        done.raise_for_status()
        if output.endswith(".ipynb") and os.path.isfile(output):
            return nbformat.read(output, as_version=4)
        return nbformat.reads(done.notebook(), as_version=4)


def inspect_notebook(notebook_path: PathLike, parameters: Parameters = None) -> dict[str, dict[str, Any]]:
    """Returns the parameters of a notebook as papermill.inspect_notebook does: name, type, default and help."""
    path = os.fspath(notebook_path).format(**parameters) if parameters else os.fspath(notebook_path)
    document = call(["check", "--show", "--json", "--", path]).document()
    return {
        p["name"]: {
            "name": p["name"],
            "inferred_type_name": "None" if p["type"] == "any" else p["type"],
            "default": p.get("default_source", "" if p["required"] else json.dumps(p.get("default"))),
            "help": p.get("help", ""),
        }
        for p in document["parameters"]
    }


def command(
    notebook: PathLike, output: PathLike | None, parameters: Parameters, options: Mapping[str, Any]
) -> list[str]:
    """Returns the command line of a run. Values are given on standard input."""
    arguments = ["run"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, (list, tuple)) else [value]
            arguments += [f"{flag}={os.fspath(v) if isinstance(v, os.PathLike) else v}" for v in several]
    if parameters:
        arguments += ["-f", "-"]
    return [*arguments, "--", os.fspath(notebook), *([] if output is None else [os.fspath(output)])]


def values(parameters: Parameters) -> str | None:
    """Returns values as a text of YAML, None if there are none."""
    return None if not parameters else "".join(f"{yaml(str(k))}: {yaml(v)}\n" for k, v in parameters.items())


def yaml(value: Any) -> str:
    """Returns a value as YAML in one line, which is JSON but for what JSON has no word for."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml(k)}: {yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ", ".join(yaml(v) for v in value) + "]"
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):  # one of numpy's
        value = value.item()
    if isinstance(value, float):  # with a point and a sign of the exponent, without which it is a text
        mantissa, e, exponent = repr(value).partition("e")
        return mantissa + (".0" if e and "." not in mantissa else "") + e + exponent
    return json.dumps(value, default=str)


def write_streams(cells: list[dict[str, Any]], stdout: TextIO | None, stderr: TextIO | None) -> None:
    """Writes what cells printed to files, as papermill does."""
    for output in (o for cell in cells for o in cell.get("outputs", ()) if o["output_type"] == "stream"):
        file = stdout if output["name"] == "stdout" else stderr
        if file:
            file.write(text(output["text"]))


def added(cell: dict[str, Any]) -> bool:
    """Tells whether the run added this cell."""
    return bool(cell.get("metadata", {}).get("markmill", {}).get("added"))


def text(source: str | list[str]) -> str:
    """Returns a text of nbformat's, which may be a list of lines."""
    return source if isinstance(source, str) else "".join(source)
