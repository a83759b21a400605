"""Makes the inputs of the benchmark. Nothing large is kept in the repository."""
import base64
import hashlib
import json
import os
import random
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
    notebook(folder, name + ".ipynb", cells)
    write(folder, name + ".py", "".join(first + steps))


def notebook(folder, name, cells):
    write(folder, name, json.dumps({
        "cells": cells, "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                     "language_info": {"name": "python"}}}))


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


MASKED_LINES = {
    "plain": r"2026-11-21T10:52:20Z INFO build: compiling package engine/worktree ok\n",
    "coloured": r"2026-11-21T10:52:20Z \x1b[32mINFO\x1b[0m build: \x1b[1mcompiling\x1b[0m package engine/worktree ok\n",
    "cursor moves": r"\x1b[2K\rdownload 10%\x1b[2K\rdownload 20%\x1b[2K\rdownload 30%\x1b[2K\rdownload done\n",
}


def masked_inputs(folder, size):
    """For each kind of line a step that prints size bytes of it, without a secret and with one."""
    for kind, line in MASKED_LINES.items():
        code = (f"python3 -c \"\nimport sys\nblock = '{line}' * 500\n"
                f"for _ in range({size} // len(block)): sys.stdout.write(block)\n\"\n")
        for secret in (False, True):
            front = "---\nsecrets: [BENCH_SECRET]\n---\n" if secret else ""
            write(folder, masked_name(kind, secret) + ".md", front + "# Flood\n\n" + fence("bash {#flood}", code))


def masked_name(kind, secret):
    return "masked-" + kind.replace(" ", "-") + ("-secret" if secret else "")


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


def printing_cells(folder, name, cells=50, size=5_000_000):
    """A notebook whose cells print so many bytes together, in lines of a hundred: for Jupyter, and in Markdown."""
    lines = size // cells // 100
    code = [f"for i in range({lines}):\n    print('%05d' % ({n} * {lines} + i), 'x' * 93)" for n in range(cells)]
    write(folder, name + ".md", "".join("```python {#cell-%d}\n%s\n```\n\n" % each for each in enumerate(code)))
    write(folder, name + ".ipynb", json.dumps({
        "cells": [cell(each, []) for each in code],
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                     "language_info": {"name": "python"}}}))
    return lines * cells * 100, "%05d " % (lines * cells - 1)


def outputs_input(folder, name, cells=200):
    """A Jupyter notebook of about 20 MB, most of it pictures and logs."""
    def picture(i):
        noise = b"".join(hashlib.sha512(f"{i} {j}".encode()).digest() for j in range(625))
        return base64.encodebytes(noise).decode()

    def outputs(i):
        return [{"output_type": "display_data", "metadata": {},
            "data": {"image/png": picture(i), "text/plain": ["<Figure>"]}},
                {"output_type": "stream", "name": "stdout",
                    "text": [f'line {j} of the log, "é": {i * j}\n' for j in range(1000)]}]

    write(folder, name + ".ipynb", json.dumps({
        "cells": [cell(f"x = {i}", []) | {"execution_count": i, "outputs": outputs(i)} for i in range(cells)],
        "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1, ensure_ascii=False))


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
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


# How many lines are edited in the output of diff_output: each goes and comes.
DIFF_EDITED = 2 * 110


def pair(folder, name, before, after):
    """Two notebooks of nbformat 4.4, which has no ids."""
    for side, cells in (("a", before), ("b", after)):
        cells = [{k: v for k, v in c.items() if k != "id"} for c in cells]
        write(folder, f"{name}-{side}.ipynb", json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 4,
            "metadata": {}}))


def diff_cells(folder, name, count):
    """Cells of a few lines; one in twenty is edited, one in a hundred moved."""
    rnd = random.Random(count)
    words = [f"word{i}" for i in range(4000)]

    def code():
        return "".join(f"{rnd.choice(words)} = {rnd.choice(words)}({rnd.choice(words)}, {rnd.randrange(1000)})\n"
                       for _ in range(rnd.randrange(3, 12)))

    before = [code() for _ in range(count)]
    after = list(before)
    for i in rnd.sample(range(count), max(1, count // 20)):
        after[i] += "edited = True\n"
    for _ in range(count // 100):
        after.insert(rnd.randrange(count), after.pop(rnd.randrange(count)))
    pair(folder, name, [cell(c, []) for c in before], [cell(c, []) for c in after])


def diff_lines(folder, name, count):
    """One cell of many lines; one in a hundred is edited."""
    rnd = random.Random(count)
    before = [f"value_{i} = compute({i}, {rnd.randrange(10**6)})\n" for i in range(count)]
    after = list(before)
    for i in rnd.sample(range(count), count // 100):
        after[i] = "edited_" + after[i]
    pair(folder, name, [cell("".join(before), [])], [cell("".join(after), [])])


def diff_output(folder, name, size):
    """One output of so many bytes; 110 lines, about one in 200, are edited."""
    rnd = random.Random(size)
    before = []
    while sum(map(len, before[-1:])) * len(before) < size:
        before.append(f"{len(before):6} the quick brown fox {rnd.randrange(10**9, 10**10)} jumps over\n")
    after = list(before)
    for i in rnd.sample(range(len(before)), DIFF_EDITED // 2):
        after[i] = "edited " + after[i]
    sides = []
    for lines in (before, after):
        one = cell("print(text)", [])
        one["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "".join(lines)}]
        sides.append([one])
    pair(folder, name, *sides)


def shown_lines(argv, env):
    """How many lines a diff marks as gone or come."""
    text = subprocess.run(argv, env=env, capture_output=True, text=True).stdout
    return sum(line.startswith(("    - ", "    + ")) for line in text.splitlines())
