"""Runs one program and says what it cost: wall time, processor time, peak memory, exit code.

Processor time is user and system time of the process and of every descendant that was waited
for, as wait4(2) gives it. Peak memory is the largest resident set among them; it is never less
than this program's own at that moment, because a child starts as a copy of it.
"""
import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, replace


@dataclass
class Cost:
    wall: float  # seconds
    cpu: float  # seconds, user + system
    rss: float  # MiB
    code: int
    cut: bool = False  # the time limit ended it


class Failed(Exception):
    """A contender did not do its work, so its time means nothing."""


def run(argv, cwd, env, limit=600.0, stdout=None, code=0):
    """Runs argv in a session of its own and waits for it to exit with code. Output is kept only for errors."""
    forget_peak()
    with open(log(env), "wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=stdout or out,
            stderr=out, start_new_session=True)
        cut = threading.Event()
        timer = threading.Timer(limit, end, (process.pid, cut))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    cost = Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024,
                process.returncode, cut.is_set())
    if cost.code != code and not cost.cut:
        with open(log(env), "rb") as out:
            raise Failed(f"{argv} exited {cost.code}:\n{out.read()[-2000:].decode(errors='replace')}")
    return cost


def said(env, cost):
    """The cost that a program says, as JSON in the last line that it printed."""
    with open(log(env), encoding="utf-8") as file:
        return replace(cost, **json.loads(file.read().splitlines()[-1]))


def log(env):
    """The file that holds what the last contender printed."""
    return os.path.join(env["TMPDIR"], "last-output")


def prove(argv, path, text):
    """Refuses a run that did not leave what it was started for."""
    try:
        with open(path, "rb") as file:
            found = text.encode() in file.read()
    except FileNotFoundError:
        found = False
    if not found:
        raise Failed(f"{argv} did not leave {text!r} in {path}")


def end(group, cut):
    cut.set()
    os.killpg(group, signal.SIGKILL)


def forget_peak():
    """Lowers this program's peak memory to what it has now, so that children do not inherit the
    peak of making an input. Only Linux can; elsewhere small figures are this program's."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def floor():
    """MiB that any program is said to take at least, as measured on one that does nothing."""
    forget_peak()
    process = subprocess.Popen(["true"])
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return usage.ru_maxrss / 1024
