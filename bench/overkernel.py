"""Processor time of markmill, with its kernel, beside that of the kernel's process alone under nbclient: three cells over
ipykernel, in pairs. PROGRAM is markmill; this interpreter has nbclient and ipykernel. With --busy N each cell adds N
numbers, to see what does not depend on the start."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

KERNEL = r"""
import resource, sys, nbformat
from nbclient import NotebookClient
before = resource.getrusage(resource.RUSAGE_CHILDREN)
client = NotebookClient(nbformat.read(sys.argv[1], 4), kernel_name="python3")
client.execute()
after = resource.getrusage(resource.RUSAGE_CHILDREN)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def cpu(command, env, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("program")
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--busy", type=int, default=0)
    given = options.parse_args()
    cells = [f"a = sum(range({given.busy}))", "b = a + 1", "print(b)"]
    notebook = {"nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
                "cells": [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None,
                           "source": c} for i, c in enumerate(cells)]}
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "n.ipynb")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(notebook, file)
        env = {**os.environ, "MARKMILL_DIR": os.path.join(folder, "store"), "PYTHONDONTWRITEBYTECODE": "1",
               "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
        run = [given.program, "run", "-k", "jupyter:python3", path, os.path.join(folder, "out.ipynb")]
        for i in range(-2, given.pairs):  # the first two fill caches
            pair = cpu(run, env, folder)[0], float(cpu([sys.executable, "-c", KERNEL, path], env, folder)[1])
            if i >= 0:
                ours.append(pair[0])
                theirs.append(pair[1])
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"markmill and kernel {statistics.median(ours):.3f} s, kernel under nbclient {statistics.median(theirs):.3f} s; "
          f"ratio of the pairs: median {statistics.median(ratios):.3f}, least {min(ratios):.3f}, most {max(ratios):.3f}")


main()
