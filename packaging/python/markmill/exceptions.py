"""What is raised. The names and fields are papermill's.

Where papermill is loaded, an exception is also one of papermill's class of that name: code that catches
papermill.PapermillExecutionError catches it.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .execute import Run


class PapermillException(Exception):
    """A notebook could not be run."""

    run: Run | None = None  # where one began


class PapermillMissingParameterException(PapermillException):
    """A path names a parameter that has no value."""


class MarkmillError(PapermillException):
    """The run did not begin, was blocked by a gate, or did not pass without an error of a cell."""

    def __init__(self, message: str, exit_code: int = 1, errors: Any = ()) -> None:
        super().__init__(message, exit_code, errors)
        self.exit_code = exit_code  # 1 fail, 2 usage, 3 blocked, 128+n a signal
        self.errors: list[dict[str, Any]] = list(errors)  # as in docs/schemas/error.json

    def __str__(self) -> str:
        return str(self.args[0])


class PapermillExecutionError(PapermillException):
    """A cell raised an error, with papermill's fields."""

    def __init__(
        self,
        cell_index: int,
        exec_count: int | None,
        source: str,
        ename: str,
        evalue: str,
        traceback: list[str],
    ) -> None:
        super().__init__(cell_index, exec_count, source, ename, evalue, traceback)
        self.cell_index = cell_index
        self.exec_count = exec_count
        self.source = source
        self.ename = ename
        self.evalue = evalue
        self.traceback = traceback

    def __str__(self) -> str:
        trace = re.sub(r"\x1b\[(K|.*?m)", "", "\n".join(self.traceback))
        return f'\n{"-" * 75}\nException encountered at "In [{self.exec_count}]":\n{trace}\n'

    def __reduce__(self) -> tuple[Any, ...]:
        return execution_error, self.args


def execution_error(*fields: Any) -> PapermillExecutionError:
    """Returns an error of a cell, which is papermill's, too, where papermill is loaded."""
    theirs = getattr(sys.modules.get("papermill.exceptions"), "PapermillExecutionError", None)
    if theirs is None:
        return PapermillExecutionError(*fields)
    both = type("PapermillExecutionError", (PapermillExecutionError, theirs), {"__module__": __name__})
    error: PapermillExecutionError = both(*fields)
    return error
