from __future__ import annotations

import pytest
from conftest import write

import markmill
from markmill import Scrap


def test_read() -> None:
    write("in.ipynb", "a = 1\nnotebook = 2", "glue('loss', a / 4)\nglue('a', 'text')")
    write("empty.ipynb", "b = 1")
    markmill.run("in.ipynb", "out/one.ipynb", {"a": 3})
    markmill.run("in.ipynb", "out/two.md")
    markmill.run("empty.ipynb", "out/zero.ipynb")
    one = markmill.read_notebook("out/one.ipynb")
    assert (one.status, one.parameters) == ("pass", {"a": 3, "notebook": 2})
    assert one.scraps["loss"] == Scrap("loss", 0.75, "json", one.scraps["loss"].step)
    assert one.scraps["a"].data == "text"
    all_of_them = markmill.read_notebooks("out")
    assert list(all_of_them) == ["out/one.ipynb", "out/two.md", "out/zero.ipynb"]
    assert all_of_them["out/two.md"].scraps["loss"].data == 0.25
    assert (all_of_them["out/zero.ipynb"].parameters, all_of_them["out/zero.ipynb"].scraps) == ({"b": 1}, {})


def test_not_readable() -> None:
    with pytest.raises((markmill.MarkmillError, FileNotFoundError)):
        markmill.read_notebook("missing.ipynb")


def test_node() -> None:
    pytest.importorskip("nbformat", reason="node is a notebook of nbformat's")
    write("in.ipynb", "a = 1")
    markmill.run("in.ipynb", "out.ipynb")
    assert markmill.read_notebook("out.ipynb").node.cells[0].source == "a = 1"


def test_dataframe() -> None:
    pytest.importorskip("pandas", reason="the table is one of pandas")
    write("in.ipynb", "a = 1", "glue('loss', a / 4)")
    for a in (1, 2):
        markmill.run("in.ipynb", f"out/{a}.ipynb", {"a": a})
    frame = markmill.scraps_dataframe("out")
    assert list(frame["loss"]) == [0.25, 0.5] and list(frame["a"]) == [1, 2]
