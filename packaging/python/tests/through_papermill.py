"""Runs papermill's own tests through this package, for pytest -p through_papermill.

MARKMILL_THROUGH is api, for its execute_notebook and inspect_notebook in the place of papermill's, or engine, for
papermill's own over the engine of this package. A test that is expected to fail has a reason, and must fail.
"""

import os

import papermill
import papermill.execute
import papermill.inspection
import pytest
from papermill import engines

import markmill
from markmill.papermill import MarkmillEngine

THROUGH = os.environ["MARKMILL_THROUGH"]

CLIENT = "looks at the arguments of nbclient, which does not run here"
MARKS = "the cell at the top says how the run stopped in other words (docs/papermill.md)"
EXIT = "sys.exit() without an error lets the run go on (docs/papermill.md)"
TRACE = "a traceback of the built-in kernel has no warning of IPython's after it"
ONCE = "the notebook is not saved in the middle of a cell"
BOTH = {
    "test_execute.py::TestNotebookHelpers::test_start_timeout": CLIENT,
    "test_execute.py::TestNotebookHelpers::test_default_start_timeout": CLIENT,
    "test_execute.py::TestBrokenNotebook2::test": "its import fails with IPython 9, under papermill too",
    "test_execute.py::TestSysExit::test_sys_exit": EXIT,
    "test_execute.py::TestSysExit::test_sys_exit0": EXIT,
    "test_execute.py::TestSysExit::test_system_exit": EXIT,
    "test_execute.py::TestOutputFormatting::test_output_formatting": TRACE,
    "test_autosave.py::TestMidCellAutosave::test_end2end_autosave_slow_notebook": ONCE,
}
REASONS: dict[str, dict[str, str]] = {
    "engine": BOTH,
    "api": {
        **BOTH,
        "test_execute.py::TestBrokenNotebook1::test": MARKS,
        "test_execute.py::TestSysExit::test_sys_exit1": MARKS,
        "test_execute.py::TestSysExit::test_line_magic_error": MARKS,
        "test_execute.py::TestExecuteWithCustomEngine::test_custom_kernel_name_and_language": "papermill's engine",
        "test_inspect.py::test_inspect_notebook[name2-expected2]": "d = a == 3 is a parameter, too",
        "test_inspect.py::test_inspect_notebook[name3-expected3]": "the parameters of that language are read",
    },
}

if THROUGH == "api":
    papermill.execute.execute_notebook = papermill.execute_notebook = markmill.execute_notebook
    papermill.inspection.inspect_notebook = papermill.inspect_notebook = markmill.inspect_notebook
else:
    engines.papermill_engines.register(None, MarkmillEngine)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = dict(REASONS[THROUGH])
    for item in items:
        if reason := reasons.pop(item.nodeid.split("tests/", 1)[-1], None):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    assert not reasons, f"papermill has no such tests any more: {sorted(reasons)}"
