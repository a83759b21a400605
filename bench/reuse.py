"""The rows of reuse: forty steps of which one, or none, has changed, and what each tool does again.

Step i reads data/i.txt and computes for some 50 ms. "markmill run" runs all of them, so that what a tool saves is seen
beside what it costs.
"""
import json
import os
import shutil

import generate
import measure
from rows import Contender, Figure, Row, cpus, paired, walls

STEPS, MIDDLE, LAST = 40, 20, 39
EVERY, REUSE, SHARED = "markmill run", "markmill run --reuse", "markmill run --reuse, one interpreter"
START = "markmill run of one empty step"
JCACHE, MARIMO, MAKE = "jupyter-cache", "marimo", "make"
NOTEBOOKS = {EVERY: "every.md", REUSE: "reuse.md", SHARED: "shared.md", START: "empty.md", JCACHE: "cells.ipynb",
             MARIMO: "cells.py"}


def reuse(b):
    folder = inputs(b)
    rows = []
    for words, step in (("the last has changed", LAST), ("the one in the middle has changed", MIDDLE),
                        ("none has changed", None)):
        costs = b.compare(f"{STEPS} steps, {words}", contenders(b, folder, step))
        figures = [Figure(f"{name} / {REUSE}, {label}", paired(costs, name, REUSE, what), "×")
                   for name in costs if name not in (REUSE, START)
                   for what, label in (("wall", "wall"), ("cpu", "CPU"))]
        if START in costs:
            figures += [Figure(f"{REUSE} above {START}, {label}", (of(costs, REUSE) - of(costs, START)) * 1e3, "ms")
                        for of, label in ((walls, "wall"), (cpus, "CPU"))]
        rows.append(Row(f"{STEPS} steps of which {words}", costs, figures))
    return rows


def contenders(b, folder, step):
    """Everyone, each after a change of the step; with None nothing changes."""
    def change(path):
        return ["sed", "-i", f"s/salt {step} \\(0*\\)/salt {step} 0\\1/", path] if step else []

    def markmill(name, *args, proof="in run"):  # that of another run, from which steps are carried
        out = NOTEBOOKS[name].replace(".md", ".out.md")
        return Contender(name, [b.programs.markmill, "run", NOTEBOOKS[name], out, *args], folder,
                         before=change(NOTEBOOKS[name]), proof=("", proof))

    found = [markmill(EVERY, proof="40 of 40"), markmill(REUSE, "--reuse"), markmill(SHARED, "--reuse")]
    if step is None:
        found.append(markmill(START, proof="1 of 1"))
    scripts = os.path.dirname(b.programs.peers or "")
    if there(b, scripts, "jcache"):
        found.append(Contender(JCACHE, jcache(scripts, "project", "execute"), folder, before=change(NOTEBOOKS[JCACHE]),
                               proof=("", f"Executing {1 if step else 0} notebook")))
    if there(b, scripts, "marimo"):
        found.append(Contender(MARIMO, [b.programs.peers, NOTEBOOKS[MARIMO]], folder, before=change(NOTEBOOKS[MARIMO]),
                               proof=("", f"step {LAST} ")))
    if shutil.which("make"):
        found.append(Contender(MAKE, ["make", "-s"], folder, before=change(f"steps/{step}.py"),
                               proof=(os.path.join(folder, f"out/{LAST}"), f"step {LAST} ")))
    return found


def jcache(scripts, kind, *args):
    """A command of jupyter-cache, which asks before it makes its cache."""
    command = " ".join(["PATH=%s:$PATH jcache" % scripts, kind, "-p", ".jupyter_cache", *args])
    return ["sh", "-c", "echo y | " + command]


def there(b, scripts, program):
    if os.path.exists(os.path.join(scripts, program)):
        return True
    b.say(f"  {program} is left out: bench/setup puts it")
    return False


def inputs(b):
    """A repository with the data, and the steps as each tool wants them."""
    folder = os.path.join(b.folder, "reuse")
    for i in range(STEPS):
        generate.write(folder, f"data/{i}.txt", f"data {i}\n")
    generate.commit_all(folder, b.env)
    steps = [f"import hashlib\nprint('step', {i}, {computed(i)})\n" for i in range(STEPS)]
    for name in (EVERY, REUSE, SHARED):  # each has earlier runs of its own
        generate.write(folder, NOTEBOOKS[name], "".join(
            generate.fence(f"python {{#s{i}}}" if name == SHARED else f"python {{#s{i} kernel=k{i}}}", step)
            for i, step in enumerate(steps)))
    generate.write(folder, NOTEBOOKS[START], generate.fence("python {#empty}", "pass\n"))
    generate.write(folder, NOTEBOOKS[JCACHE], json.dumps({
        "cells": [generate.cell(step, []) for step in steps], "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}))
    cells = "".join(f"\n@app.cell\ndef _(hashlib, mo):\n    with mo.persistent_cache('s{i}'):\n"
                    f"        r{i} = {computed(i)}\n    print('step', {i}, r{i})\n    return\n" for i in range(STEPS))
    generate.write(folder, NOTEBOOKS[MARIMO], "import marimo\n\napp = marimo.App()\n\n"
                   "@app.cell\ndef _():\n    import marimo as mo\n    import hashlib\n    return hashlib, mo\n"
                   f"{cells}\nif __name__ == '__main__':\n    app.run()\n")
    for i, step in enumerate(steps):
        generate.write(folder, f"steps/{i}.py", step)
    os.makedirs(os.path.join(folder, "out"))
    generate.write(folder, "Makefile", "all: " + " ".join(f"out/{i}" for i in range(STEPS)) + "\n"
                   "out/%: steps/%.py data/%.txt\n\tpython3 $< >$@.new && mv $@.new $@\n")
    for name in (REUSE, SHARED):  # of which steps can be carried
        measure.run([b.programs.markmill, "run", NOTEBOOKS[name]], folder, b.env)
    scripts = os.path.dirname(b.programs.peers or "")
    if there(b, scripts, "jcache"):
        measure.run(jcache(scripts, "notebook", "add", NOTEBOOKS[JCACHE]), folder, b.env)
    return folder


def computed(i):
    """What step i computes. A change adds a zero to the salt."""
    return f"hashlib.pbkdf2_hmac('sha256', open('data/{i}.txt', 'rb').read(), b'salt {i} 0', 300000).hex()"
