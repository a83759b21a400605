from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

pytest_plugins = ["pytester"]

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for each test, which keeps the records of its runs."""
    monkeypatch.setenv("MARKMILL_DIR", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cell(source: str, *tags: str, stdout: str | None = None) -> dict[str, Any]:
    outputs = [] if stdout is None else [{"output_type": "stream", "name": "stdout", "text": stdout}]
    count = None if stdout is None else 1
    return {
        "cell_type": "code",
        "metadata": {"tags": list(tags)},
        "source": source,
        "outputs": outputs,
        "execution_count": count,
    }


def write(path: str, *cells: str | dict[str, Any]) -> Path:
    """Writes a notebook of code cells; the first of texts holds the parameters."""
    listed: Sequence[dict[str, Any]] = [
        cell(c, *(["parameters"] if i == 0 else [])) if isinstance(c, str) else c for i, c in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": listed, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    Path(path).write_text(json.dumps(notebook), encoding="utf-8")
    return Path(path)
