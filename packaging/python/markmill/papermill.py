"""Papermill's engine: papermill --engine markmill.

Papermill reads the notebook, sets the parameters and writes the output; Markmill runs the cells, in the folder where
papermill would run them, and keeps the record of the run.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, TextIO

import nbformat
from papermill.engines import Engine, papermill_engines
from papermill.log import logger

from .execute import Run, added, run, write_streams


class MarkmillEngine(Engine):
    """Runs the cells of a notebook with Markmill."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str | None,
        log_output: bool = False,
        stdout_file: TextIO | None = None,
        stderr_file: TextIO | None = None,
        start_timeout: float = 60,
        execution_timeout: float | None = None,
        **options: Any,
    ) -> None:
        """Runs the notebook of a manager of papermill's, and sets its outputs.

        Further options are those of markmill run. Those of nbclient that have no meaning here are left out.
        """
        cells = [c for c in nb_man.nb.cells if c.cell_type == "code"]
        steps: dict[str, int] = {}

        def event(data: dict[str, Any]) -> None:
            """Shows each cell as it begins and ends."""
            if data["type"] == "plan.updated" and not steps:
                steps.update((s["id"], s["index"]) for s in data["data"]["steps"])
            index = steps.get(data.get("step", ""), len(cells))
            if index >= len(cells):
                return
            if data["type"] == "step.started":
                nb_man.cell_start(cells[index], nb_man.nb.cells.index(cells[index]))
            elif data["type"] == "step.finished" and data["data"]["attempts"]:
                nb_man.cell_complete(cells[index], nb_man.nb.cells.index(cells[index]))

        given = options.pop("input_path", None)  # which may be a notebook itself
        name = Path(given).name if isinstance(given, str) else ""
        for unused in ("timeout", "startup_timeout", "kernel_manager_class", "nb_kernel_name"):
            value = options.pop(unused, None)
            if unused == "timeout" and not execution_timeout:
                execution_timeout = value
        options.setdefault("in_place", True)  # papermill's cells work where papermill was started, or in its --cwd
        options.setdefault("cwd", os.getcwd())
        with tempfile.TemporaryDirectory(prefix="markmill-") as folder:
            source = os.path.join(folder, name if name.endswith(".ipynb") else "notebook.ipynb")
            output = os.path.join(folder, "output", "notebook.ipynb")
            nbformat.write(nb_man.nb, source)
            options.update(kernel=kernel_name, log_output=log_output, no_progress_bar=not log_output)
            options.update(start_timeout=start_timeout, execution_timeout=execution_timeout)
            done = run(
                source,
                output,
                line=logger.info if log_output else None,
                event=event,
                **options,
            )
            cells = nbformat.read(output, as_version=4).cells
            write_streams(cells, stdout_file, stderr_file)
            cls._take(nb_man, done, cells)

    @staticmethod
    def _take(nb_man: Any, done: Run, cells: list[Any]) -> None:
        """Sets outputs, counts and errors of the cells as a run left them."""
        code = [(i, c) for i, c in enumerate(nb_man.nb.cells) if c.cell_type == "code"]
        failed = False
        for (index, cell), left in zip(code, (c for c in cells if c.cell_type == "code" and not added(c))):
            cell.outputs = left.outputs
            cell.execution_count = left.execution_count
            if left.metadata.get("papermill", {}).get("exception"):
                nb_man.cell_exception(cell, cell_index=index)
                failed = True
        nb_man.nb.metadata.markmill = {"run": done.id, "status": done.status}
        if not failed:
            done.raise_for_status()


def use_markmill() -> None:
    """Makes Markmill the engine of every papermill.execute_notebook in this process, whatever engine it names.

    MARKMILL_ENGINE=always does this when papermill is loaded, for programs that call papermill themselves.
    """
    papermill_engines.get_engine = lambda name=None: MarkmillEngine


if os.environ.get("MARKMILL_ENGINE") == "always":
    use_markmill()
