"""Types what README.md says, in a clean clone with an empty home: run.py CLONE SCRATCH.

All fences of shell run in their order in one shell, as a reader would type them. Then each command that the text names
runs where it makes sense. A command that is in no list here is an error: who adds one says how it is tried.
"""

import os
import pathlib
import re
import subprocess
import sys

clone, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
text = (clone / "README.md").read_text()

# Fences that other stages run (test, npm), and lines that show another program.
ELSEWHERE = {"go test ./...", "papermill    in.ipynb out.ipynb -p alpha 0.6"}
# Commands of the text: the folder where each runs, and what runs; None is another stage's, or named without being
# typed.
RANGES, PAPER = scratch / "ranges", scratch / "paper"
INLINE = {
    "markmill": None,
    "markmill-server": None,
    "markmill run": None,
    "markmill review": (RANGES, "markmill review HEAD~2...HEAD"),
    "markmill show --open": (RANGES, "BROWSER=true markmill show --open"),
    "markmill doctor": (RANGES, "markmill doctor"),
    "markmill help GROUP": (RANGES, "markmill help runs"),
    "markmill convert in.ipynb in.md": (PAPER, "markmill convert in.ipynb in.md"),
    "markmill notebook scraps out/": (RANGES, "markmill notebook scraps ."),
    "markmill agent admit codex": (RANGES, "markmill agent admit codex --program /bin/true"),
    "markmill run fix.md --backend codex,claude --attempts 3": None,
    "markmill queue submit": (RANGES, "markmill queue submit fix.md"),
    "markmill serve": (RANGES, "{ timeout 5 markmill serve || [ $? = 124 ]; } | grep -m 1 ^Open"),
    "markmill verify": (RANGES, "markmill verify"),
    "markmill resume": (RANGES, "printf '```bash {#a}\\nfalse\\n```\\n' >r.md; ! markmill run r.md; "
                        "sed -i s/false/true/ r.md; markmill resume"),
    "markmill run README.md README.out.md": None,
    "markmill status --gate": None,
}


def fences():
    """Yields the lines of shell that stand in fences; a fence within a longer one is an example."""
    for mark, info, body in re.findall(r"^(`{3,})([^`\n]*)\n(.*?)^\1$", text, re.M | re.S):
        if len(mark) == 3 and info.split(" ")[0] in ("sh", "bash"):
            yield [line for line in body.splitlines() if line not in ELSEWHERE]


def run(script, folder):
    path = os.pathsep.join([str(clone / "bin"), os.environ["PATH"]])
    keep = {name: os.environ[name] for name in ("GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "TMPDIR")
            if name in os.environ}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={"HOME": str(scratch / "home"), "PATH": path, "LANG": "C.UTF-8", **keep})
    if done.returncode:
        sys.exit(f"{done.stdout}\nREADME.md: exit {done.returncode} in {folder}:\n{script}")
    return done.stdout


unknown = sorted(c for c in set(re.findall(r"`(markmill[^`\n]*)`", text.replace("\n", " "))) if c not in INLINE)
if unknown:
    sys.exit("README.md names commands that .ci/readme/run.py does not try: " + ", ".join(unknown))

(scratch / "home").mkdir()
PAPER.mkdir()
(PAPER / "in.ipynb").write_text('{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": '
                                '{"tags": ["parameters"]}, "outputs": [], "source": "alpha = 1.0"}], "metadata": '
                                '{"kernelspec": {"name": "python3", "language": "python", "display_name": "Python"}}, '
                                '"nbformat": 4, "nbformat_minor": 5}')
blocks = list(fences())
paper = [b for b in blocks if any("in.ipynb" in line for line in b)]
typed = "\n".join(line for b in blocks if b not in paper for line in b)
said = run(typed + f'\ncp -r "$dir/ranges" "$dir/fixed.md" "{scratch}/"\n', clone)
for words in ("2 passed", "everything holds", "no objection", "current   fix.md"):
    if words not in said:
        sys.exit(f"{said}\nREADME.md: what it types does not say: {words}")
for b in paper:
    run("\n".join(b), PAPER)
for command, how in INLINE.items():
    if how and command in text.replace("\n", " "):
        run(how[1], how[0])

example = re.search(r"^`````markdown\n(.*?)^`````$", text, re.M | re.S)[1]
if example not in (scratch / "fixed.md").read_text():
    sys.exit("README.md shows a region that no run writes so")
count = sum(1 for how in INLINE.values() if how)
print(f"{len(blocks)} fences and {count} commands of the text ran as they are written")
