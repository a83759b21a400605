"""Finds the program, calls it, and ends it properly."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Callable, NamedTuple

from .exceptions import MarkmillError

INTERRUPT: int = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)
Line = Callable[[str], None]
Event = Callable[["dict[str, Any]"], None]


def find_program() -> str:
    """Returns the path of the program: MARKMILL_PROGRAM, that of this package, or one on the PATH."""
    name = "markmill.exe" if os.name == "nt" else "markmill"
    given = os.environ.get("MARKMILL_PROGRAM")
    package = Path(__file__).resolve().parent
    user = "posix_user" if os.name == "posix" else "nt_user"
    for path in (
        given,
        os.path.join(sysconfig.get_path("scripts"), name),
        os.path.join(sysconfig.get_path("scripts", user), name),
        package.parent / "bin" / name,  # pip install --target
        shutil.which("markmill"),
    ):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
        if path and path == given:
            break
    raise FileNotFoundError(given or "the program markmill: install the wheel of this platform, or put it on the PATH")


class Answer(NamedTuple):
    """What a call left."""

    exit_code: int
    stdout: str
    stderr: str

    def words(self) -> str:
        """Returns what the program said on standard error, without its name."""
        return self.stderr.strip().removeprefix("markmill: ")

    def check(self) -> None:
        """Raises what the program said, if it failed."""
        if self.exit_code:
            raise MarkmillError(self.words(), self.exit_code)

    def document(self) -> dict[str, Any]:
        """Returns the JSON document on standard output, and raises the errors that it tells."""
        try:
            document: dict[str, Any] = json.loads(self.stdout)
        except ValueError:
            raise MarkmillError(self.words() or "the program left no answer", self.exit_code) from None
        if document.get("schema", "").startswith("markmill.error/"):
            first = document["error"]
            if first["kind"] == "input" and first.get("file") and not os.path.exists(first["file"]):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), first["file"])
            raise MarkmillError(self.words() or first["message"], document["exit_code"], document["errors"])
        return document


def environment() -> dict[str, str]:
    """Returns the environment of a call: this Python comes first, so that its packages are those of the steps."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": path}


def call(
    arguments: Sequence[str],
    stdin: str | None = None,
    line: Line | None = None,
    event: Event | None = None,
) -> Answer:
    """Calls the program, and passes on each line of its standard error and each event of its run as it comes.

    An exception meanwhile, such as Ctrl-C, interrupts the run, waits for its end and goes on. A second one kills it.
    """
    with contextlib.ExitStack() as stack:
        events = _no_events()
        if event:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="markmill-"))
            journal = os.path.join(folder, "events.jsonl")
            arguments = [arguments[0], "--events", journal, *arguments[1:]]
            events = _follow(journal, event)
        process = subprocess.Popen(
            [find_program(), *arguments],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            encoding="utf-8",
            errors="replace",
            # A group of its own: Ctrl-C in a terminal reaches the program once, from here.
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        stdout: list[str] = []
        stderr: list[str] = []
        threads = [
            threading.Thread(target=_read, args=(process.stdout, stdout, None), daemon=True),
            threading.Thread(target=_read, args=(process.stderr, stderr, line), daemon=True),
        ]
        if stdin is not None:
            threads.append(threading.Thread(target=_write, args=(process.stdin, stdin), daemon=True))

        def wait() -> int:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)
                    next(events)
            next(events)
            return process.wait()

        try:
            for thread in threads:
                thread.start()
            code = wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(INTERRUPT)
            events = _no_events()
            try:
                wait()
            except BaseException:
                process.kill()
                process.wait()
            raise
        return Answer(code, "".join(stdout), "".join(stderr))


def _read(stream: IO[str] | None, into: list[str], line: Line | None) -> None:
    assert stream
    with stream:
        for text in stream:
            into.append(text)
            if line:
                with contextlib.suppress(Exception):  # who listens must not stop the run
                    line(text.rstrip("\n"))


def _write(stream: IO[str] | None, text: str) -> None:
    assert stream
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(text)


def _no_events() -> Iterator[None]:
    while True:
        yield


def _follow(path: str, event: Event) -> Iterator[None]:
    """Passes on, each time that it is asked, the events that a file has got since."""
    while not os.path.exists(path):
        yield
    with open(path, "rb") as file:
        rest = b""
        while True:
            *lines, rest = (rest + file.read()).split(b"\n")
            for text in lines:
                event(json.loads(text))
            yield
