"""Makes the inputs of the benchmark. Nothing large is kept in the repository."""
import hashlib
import json
import os
import subprocess

FENCE = "```"


def python_steps(count, parameters=True):
    """Codes of the steps: a sum that is carried on, and one line printed by each."""
    first = ["threshold = 1.0\nhostname = 'localhost'\n"] if parameters else []
    steps = ["total = 0\n"]
    steps += [f"total += {i}\nprint('step {i}', total)\n" for i in range(1, count)]
    return first, steps


def last_line(count):
    """What the last of the steps prints: proof that all of them ran, in one session."""
    return f"step {count - 1} {sum(range(count))}"


def python_inputs(folder, name, count):
    """The same steps as a notebook of Markmill, one of Jupyter, and a plain script."""
    first, steps = python_steps(count)
    write(folder, name + ".md", "# Sums\n\n" + fence("yaml {.parameters}", "threshold: 1.0\nhostname: localhost\n")
          + "".join(fence(f"python {{#s{i}}}", code) for i, code in enumerate(steps)))
    cells = [cell(code, ["parameters"]) for code in first] + [cell(code, []) for code in steps]
    write(folder, name + ".ipynb", json.dumps({
        "cells": cells, "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                     "language_info": {"name": "python"}}}))
    write(folder, name + ".py", "".join(first + steps))


def cell(code, tags):
    return {"cell_type": "code", "execution_count": None, "outputs": [], "source": code,
            "id": hashlib.sha256(code.encode()).hexdigest()[:8], "metadata": {"tags": tags}}


def bash_inputs(folder, name, count):
    """Steps that share a variable; Runme carries only exported ones from block to block."""
    steps = ["export total=0\n"] + [f"export total=$((total + {i})); echo step {i} $total\n" for i in range(1, count)]
    write(folder, name + ".md", "# Sums\n\n" + "".join(fence(f"bash {{#s{i}}}", c) for i, c in enumerate(steps)))
    write(folder, name + ".runme.md", "# Sums\n\n" + "".join(
        fence(f'bash {{"name":"s{i}","interactive":"false"}}', c) for i, c in enumerate(steps)))
    write(folder, name + ".sh", "set -euo pipefail\n" + "".join(steps))


def flood_inputs(folder, name, size):
    """One step that prints size bytes of text lines."""
    code = f"yes 'The quick brown fox jumps over the lazy dog, over and over: 0123456' | head -c {size} || true\n"
    write(folder, name + ".md", "# Flood\n\n" + fence("bash {#flood}", code))
    write(folder, name + ".sh", code)
    python = ("line = 'The quick brown fox jumps over the lazy dog, over and over: 0123456'\n"
              f"for _ in range({size} // (len(line) + 1)):\n    print(line)\n")
    write(folder, name + ".ipynb", json.dumps({
        "cells": [cell(python, [])], "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}))


def fences_input(folder, name, fences, size):
    """A Markdown file of so many fences and about so many bytes, for the parsers."""
    prose = "Some prose that stands before the step, with `code`, *emphasis* and a [link](#there). "
    room = size // fences
    parts = ["# Many steps\n\n"]
    for i in range(fences):
        step = fence(f"bash {{#s{i}}}", f"echo step {i}\n")
        parts.append((prose * (room // len(prose) + 1))[:room - len(step) - 2].rstrip() + "\n\n" + step)
    write(folder, name + ".md", "".join(parts))


def large_repository(folder, files, folders, env):
    """A repository of files of 2 KB in folders, committed once."""
    repository = os.path.join(folder, "large")
    for i in range(folders):
        os.makedirs(os.path.join(repository, f"d{i % 41}", f"e{i}"))
    for i in range(files):
        seed = hashlib.sha256(str(i).encode()).hexdigest()
        with open(os.path.join(repository, large_path(i, folders)), "w") as file:
            file.write((seed + "\n") * 31)
    commit_all(repository, env)
    git(repository, env, "gc", "--quiet")
    return repository


def large_path(i, folders):
    """Where file i of the large repository stands."""
    at = i % folders
    return os.path.join(f"d{at % 41}", f"e{at}", f"f{i}.txt")


def touching_inputs(folder, name, steps, folders):
    """Steps that each change one file of the large repository; the Git program's way beside it."""
    codes = [f"echo {i} >> {large_path(i * 7919, folders)}\n" for i in range(steps)]
    write(folder, name + ".md", "# Touch\n\n" + "".join(fence(f"bash {{#s{i}}}", c) for i, c in enumerate(codes)))
    capture = ("git add --all\ntree=$(git write-tree)\n"
               "git diff-tree -p $last $tree > /dev/null\nlast=$tree\n")
    write(folder, name + ".git.sh", "set -euo pipefail\nlast=$(git rev-parse 'HEAD^{tree}')\n"
          + "".join(c + capture for c in codes))
    write(folder, name + ".status.sh", "set -euo pipefail\n"
          + "".join(c + "git status --porcelain > /dev/null\n" for c in codes))


def small_repository(folder, env):
    """A repository of ten files, for runs that happen in one."""
    repository = os.path.join(folder, "small")
    os.makedirs(repository)
    for i in range(10):
        write(repository, f"file{i}.txt", f"file {i}\n")
    commit_all(repository, env)
    return repository


def commit_all(repository, env):
    git(repository, env, "init", "--quiet", "--initial-branch=main")
    git(repository, env, "config", "gc.auto", "0")  # none in the background of a measurement
    git(repository, env, "add", "--all")
    git(repository, env, "commit", "--quiet", "--message=Files")


def git(repository, env, *args):
    subprocess.run(["git", "-C", repository, *args], env=env, check=True, stdin=subprocess.DEVNULL)


def fence(info, code):
    return f"{FENCE}{info}\n{code}{FENCE}\n\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)
