"""Reads output notebooks: their parameters and scraps, as scrapbook does."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from .program import call

if TYPE_CHECKING:
    import pandas
    from nbformat import NotebookNode

PathLike = Union[str, "os.PathLike[str]"]
NO_NAME = "/"  # a pattern that no scrap's name matches


@dataclass(frozen=True)
class Scrap:
    """A value that a notebook recorded. Of a picture or file, data is its digest."""

    name: str
    data: Any
    type: str
    step: str | None = None


@dataclass(frozen=True)
class Notebook:
    """An output notebook, of Markmill or papermill."""

    path: str
    status: str
    run_id: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    scraps: dict[str, Scrap] = field(default_factory=dict)

    @property
    def node(self) -> NotebookNode:
        """The notebook itself, where it is one of Jupyter (this needs nbformat)."""
        import nbformat

        return nbformat.read(self.path, as_version=4)


def read_notebook(path: PathLike) -> Notebook:
    """Reads an output notebook, Jupyter's or in Markdown."""
    (notebook,) = read_notebooks(path).values()
    return notebook


def read_notebooks(*paths: PathLike) -> dict[str, Notebook]:
    """Reads output notebooks, those of whole folders, and runs; by their paths in order."""
    out: dict[str, Notebook] = {}
    for row in _rows(paths, "--name", NO_NAME):
        path, status, run = row.pop("notebook"), row.pop("status"), row.pop("run", None)
        given = {name.removeprefix("params."): value for name, value in row.items() if value is not None}
        out[path] = Notebook(path, status, run, given)
    for row in _rows(paths, "--long", "--no-params"):
        scrap = Scrap(row["name"], row.get("value"), row["type"], row.get("step"))
        out[row["notebook"]].scraps[scrap.name] = scrap
    return out


def scraps_dataframe(*paths: PathLike) -> pandas.DataFrame:
    """Returns the table of markmill notebook scraps: a row for each notebook, with its values (this needs pandas)."""
    import pandas

    document = _scraps(paths)
    return pandas.DataFrame(document["rows"], columns=document["columns"])


def _rows(paths: tuple[PathLike, ...], *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _scraps(paths, *options)["rows"]
    return rows


def _scraps(paths: tuple[PathLike, ...], *options: str) -> dict[str, Any]:
    answer = call(["notebook", "scraps", "--json", *options, "--", *(os.fspath(path) for path in paths)])
    document = answer.document()
    answer.check()
    return document
