from __future__ import annotations

from pathlib import Path

import pytest
from conftest import cell, write


@pytest.fixture(autouse=True)
def home(pytester: pytest.Pytester, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the folder of the tests from being the home folder, in which nothing runs."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder / "home"))


CELLS = [
    cell("print(1)", stdout="1\n"),
    cell("print(2)", stdout="3\n"),
    cell("# NBVAL_IGNORE_OUTPUT\nprint(2)", stdout="3\n"),
    cell("# NBVAL_SKIP\n1 / 0", stdout="1\n"),
    cell("# NBVAL_CHECK_OUTPUT\nprint(5)", stdout="5\n"),
    cell("1 / 0", stdout="1\n"),
    cell("print(7)", stdout="7\n"),
]


def test_steps(pytester: pytest.Pytester) -> None:
    write("n.ipynb", *CELLS)
    result = pytester.runpytest("--markmill", "-rsf")
    # The run as a whole passes, too: its steps say what is wrong. The step behind the one that failed runs.
    result.assert_outcomes(passed=5, failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*n.ipynb: cell-2: *", "-3", "+2", "*n.ipynb: cell-6: *ZeroDivisionError*"])


def test_lax(pytester: pytest.Pytester) -> None:
    write("n.ipynb", cell("print(2)", stdout="3\n"), cell("# NBVAL_CHECK_OUTPUT\nprint(2)", stdout="3\n"))
    pytester.runpytest("--markmill-lax").assert_outcomes(passed=2, failed=1)


def test_raises(pytester: pytest.Pytester) -> None:
    error = {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []}
    raises = cell("# NBVAL_RAISES_EXCEPTION\n1 / 0", stdout="")
    write("n.ipynb", {**raises, "outputs": [error]}, cell("print(1)", stdout="1\n"))
    pytester.runpytest("--markmill").assert_outcomes(passed=3)


def test_sanitize(pytester: pytest.Pytester) -> None:
    write("n.ipynb", cell("print('took 5 s')", stdout="took 3 s\n"))
    Path("rules.cfg").write_text("[time]\nregex: took \\d\nreplace: took N\n", encoding="utf-8")
    pytester.runpytest("--markmill").assert_outcomes(passed=1, failed=1)
    pytester.runpytest("--markmill", "--markmill-sanitize-with=rules.cfg").assert_outcomes(passed=2)


def test_nothing_stored(pytester: pytest.Pytester) -> None:
    write("n.ipynb", cell("print(1)"))
    result = pytester.runpytest("--markmill")
    result.assert_outcomes(failed=1, skipped=1)


def test_not_a_notebook(pytester: pytest.Pytester) -> None:
    Path("n.ipynb").write_text("{", encoding="utf-8")
    pytester.runpytest("--markmill").assert_outcomes(errors=1)


def test_off(pytester: pytest.Pytester) -> None:
    write("n.ipynb", cell("1 / 0", stdout="1\n"))
    pytester.runpytest().assert_outcomes()


def test_one_step(pytester: pytest.Pytester) -> None:
    write("n.ipynb", *CELLS)
    pytester.runpytest("--markmill", "n.ipynb::cell-1").assert_outcomes(passed=1)


def test_xdist(pytester: pytest.Pytester, folder: Path) -> None:
    pytest.importorskip("xdist", reason="runs under xdist")
    for name in "abc":
        write(f"{name}.ipynb", *CELLS)
    pytester.runpytest("--markmill", "-n", "2").assert_outcomes(passed=15, failed=6, skipped=3)
    assert len(list((folder / "store/runs").glob("*Z-*"))) == 3  # once each
