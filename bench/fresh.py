"""bench/honest --fresh: what status says of outputs from commit to commit, and of files that come, beside what is so.

Each of some commits of a project runs its notebooks, bare and under strace; a notebook's output stays until status says
that it is outdated, and is then made again. What is so: the files of the checkout that the step opened, with their
bytes, its exit code, and what it printed, without times. Where all of that is as it was, "outdated" is wrong; where it
is not, "current" is. At the last commit, files come one at a time, chosen to be mean; an output that stays current has
its step run bare.
"""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess

NOISE = re.compile(r" *\(\d+(?:ms|s)\)|\d+(\.\d+)?\s*(ms|µs|us|s|seconds)\b|0x[0-9a-f]+|/tmp/\S+|-+|=+|\d+(\.\d+)?%")
OPENED = re.compile(r"open(?:at|at2)?\(.*\) = \d+<(/[^>]*)>$")
IGNORED = (".git/", ".venv/", "node_modules/", "fresh/", ".pytest_cache/", ".ruff_cache/")
INJECTED = {
    ".py": ["raise RuntimeError\n", ["conftest.py", "__init__.py", "json.py", "pytest.py", "test_zz.py", "zz.py", "zz.pyi",
                                     "sitecustomize.py", "re.py"]],
    ".ini": ["[pytest]\naddopts = -k nothing\n", ["pytest.ini", "tox.ini", "setup.cfg"]],
    ".toml": ["[lint]\nselect = ['ALL']\n", ["ruff.toml", "pyproject.toml", "zz.toml"]],
    ".go": ["package zz\n", ["zz.go", "zz_test.go", "doc.go", "zz_windows.go"]],
    ".s": ["bad\n", ["zz.s", "zz.c", "zz.syso"]],
    ".mod": ["module zz\n", ["go.mod", "go.work"]],
    ".json": ['{"type": "module", "mocha": {"grep": "nothing"}}\n', ["package.json", "index.json", ".mocharc.json", "ms.json"]],
    ".js": ["throw new Error()\n", ["index.js", "zz.js", ".mocharc.js", "ms.js", "zz.test.js", "common.js", "node.js"]],
    ".md": ["# Text\n", ["README.md", "NOTES.md"]],
    "": ["*\n", [".gitignore", "LICENSE", "data.csv", "zz.txt", ".ignore", ".editorconfig"]],
}
FILES = 105
WHY = {}  # the last reasons, by notebook


def follow(history):
    """One row for each commit after the first, and one for each file that came."""
    project = history.project
    commits = history.commits()[:project["fresh"] + 1][::-1]
    if not commits:
        return
    steps = {"suite": project["suite"]} | project["notebooks"]
    was = None
    for commit in commits:
        history.git("checkout", "-q", "-f", "--detach", commit)
        history.install()
        write(history, steps)
        now = {name: bare(history, step) for name, step in steps.items()}
        told = status(history) if was else {}
        for name in steps:
            if was:
                yield row(project, commit, name, told.get(name), was[name] != now[name], now[name])
            if told.get(name) != "current":
                run(history, name)
        # An output that stays is of an earlier commit: what it is compared with stays, too.
        was = {name: was[name] if told.get(name) == "current" else now[name] for name in steps}
    for name in steps:
        run(history, name)
    was = {name: bare(history, step) for name, step in steps.items()}
    for path, text in injected(history):
        full = os.path.join(history.checkout, path)
        made = not os.path.isdir(os.path.dirname(full))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        told = status(history) if not history.ignores(path) else {}  # what Git ignores is in no run
        for name, step in steps.items() if told else ():
            if told.get(name) == "current":
                now = bare(history, step)
                yield row(project, commit, name, "current", now != was[name], now, path)
            else:
                yield row(project, commit, name, told.get(name), None, None, path)
        os.remove(full)
        if made:
            os.rmdir(os.path.dirname(full))


def row(project, commit, name, state, differs, now, path=""):
    grade = "unsure" if differs is None else "right"
    if state == "current" and differs:
        grade = "wrong current"
    elif state != "current" and differs is False:
        grade = "wrong outdated"
    return {"project": project["name"], "commit": commit, "notebook": name, "state": state, "grade": grade, "path": path,
            "why": WHY.get(name, []) if grade.startswith("wrong") else [],
            "printed": now[2][-300:] if now and grade.startswith("wrong") else ""}


def write(history, steps):
    os.makedirs(os.path.join(history.checkout, "fresh"), exist_ok=True)
    front = "".join(line + "\n" for line in history.project.get("front", []))
    for name, step in steps.items():
        with open(os.path.join(history.checkout, "fresh", name + ".md"), "w", encoding="utf-8") as file:
            file.write((f"---\n{front}---\n" if front else "") + f"# {name}\n\n```bash {{#step .allow-failure}}\n{step}\n```\n")


def run(history, name):
    subprocess.run([history.options.markmill, "run", f"fresh/{name}.md", f"fresh/{name}.out.md", "--dirty", "ignore"],
                   cwd=history.checkout, env=history.env, capture_output=True, timeout=600)


def status(history):
    done = subprocess.run([history.options.markmill, "status", "--json", "fresh"], cwd=history.checkout, env=history.env,
                          capture_output=True, timeout=600)
    outputs = json.loads(done.stdout)["outputs"]
    for o in outputs:
        WHY[os.path.basename(o["source"])[:-3]] = [f"{r['path']} {r['words']}" for r in o.get("reasons") or []]
    return {os.path.basename(o["source"])[:-3]: o["state"] for o in outputs}


def bare(history, step):
    """The files that a step opened, with a digest of each, its exit code, and what it printed without times."""
    traces = os.path.join(history.folder, "traces")  # one for each process, so that no line is in two pieces
    shutil.rmtree(traces, ignore_errors=True)
    os.mkdir(traces)
    env = history.env | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": os.path.join(history.folder, "none")}
    done = subprocess.run(["strace", "-ff", "-qq", "-y", "--seccomp-bpf", "-e", "trace=open,openat,openat2", "-e",
                           "signal=none", "-s", "4096", "-o", os.path.join(traces, "of"), "bash", "-c", history.with_venv(step)],
                          cwd=history.checkout, env=env, capture_output=True, text=True, errors="replace", timeout=600)
    opened = set()
    for name in os.listdir(traces):
        with open(os.path.join(traces, name), encoding="utf-8", errors="replace") as file:
            opened |= {seen for line in file if (seen := file_of(history, line))}
    printed = "\n".join(sorted(NOISE.sub("", done.stdout + done.stderr).split("\n")))
    return opened, done.returncode, printed


def file_of(history, line):
    """The file of the checkout, with its digest, that a line of strace opens to read."""
    found = OPENED.search(line)
    if not found or "O_WRONLY" in line or "O_CREAT" in line:
        return None
    path = os.path.relpath(found[1], history.checkout)
    full = os.path.join(history.checkout, path)
    if path.startswith(("../", *IGNORED)) or "__pycache__" in path or not os.path.isfile(full):
        return None
    with open(full, "rb") as content:
        return path, hashlib.sha256(content.read()).hexdigest()


def injected(history):
    """Files that come, where there is none of that path."""
    folders = {""} | {os.path.dirname(p) for p in history.git("ls-files").split("\n")}
    folders |= {os.path.join(f, new) for f in folders for new in ("node_modules", "vendor", "testdata", "zz")}
    found = []
    for folder in sorted(folders):
        for text, names in INJECTED.values():
            found += [(os.path.join(folder, name), text) for name in names
                      if not os.path.exists(os.path.join(history.checkout, folder, name))]
    random.Random(history.project["name"]).shuffle(found)
    return [(p, t) for p, t in found if p.count("/") < 4][:FILES]


def text(done):
    lines = ["| project | commits | outputs | outdated | wrong | current | wrong | files that came | outputs | outdated | "
             "current | wrong |", "| --- | " + "---: | " * 10 + "---: |"]

    def line(name, rows):
        of = [r for r in rows if not r["path"]]
        came = [r for r in rows if r["path"]]

        def count(rows, current, wrong=False):
            return sum((r["state"] == "current") == current and (not wrong or r["grade"].startswith("wrong")) for r in rows)

        lines.append(f"| {name} | {len({(r['project'], r['commit']) for r in of})} | {len(of)} | {count(of, False)} | "
                     f"{count(of, False, True)} | {count(of, True)} | {count(of, True, True)} | "
                     f"{len({(r['project'], r['path']) for r in came})} | {len(came)} | {count(came, False)} | "
                     f"{count(came, True)} | {count(came, True, True)} |")

    for name in dict.fromkeys(r["project"] for r in done):
        line(name, [r for r in done if r["project"] == name])
    line("**all**", done)
    return "\n".join(lines)
