"""Runs Markdown and Jupyter notebooks with Markmill, in papermill's and scrapbook's words.

import markmill

markmill.execute_notebook("in.ipynb", "out.ipynb", parameters={"alpha": 0.6})  # as papermill's
run = markmill.run("task.md", parameters={"threshold": 0.5})
run.status, run.scraps["loss"], run.steps, run.outputs["train"]
markmill.read_notebooks("out/")
"""

from __future__ import annotations

from .exceptions import (
    MarkmillError,
    PapermillException,
    PapermillExecutionError,
    PapermillMissingParameterException,
)
from .execute import Run, execute_notebook, inspect_notebook, run
from .notebooks import Notebook, Scrap, read_notebook, read_notebooks, scraps_dataframe
from .program import find_program

__all__ = [
    "MarkmillError",
    "Notebook",
    "PapermillException",
    "PapermillExecutionError",
    "PapermillMissingParameterException",
    "Run",
    "Scrap",
    "execute_notebook",
    "find_program",
    "inspect_notebook",
    "read_notebook",
    "read_notebooks",
    "run",
    "scraps_dataframe",
]


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("markmill")
