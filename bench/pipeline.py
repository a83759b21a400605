"""The rows of data that Git ignores: a pipeline of three notebooks beside papermill, and a run that writes none."""
import os
import shutil
import subprocess
from statistics import median

import generate
from rows import Contender, Figure, Row, ratios

# As papermill's users have them: the folder of the notebooks is the working folder, and the next reads what one wrote.
NOTEBOOKS = {
    "01_clean": """with open("../data/raw.bin", "rb") as raw, open("../data/clean.bin", "wb") as clean:
    while chunk := raw.read(1 << 20):
        clean.write(chunk)
""",
    "02_model": """import os, zlib
total = 0
with open("../data/clean.bin", "rb") as clean:
    while chunk := clean.read(1 << 20):
        total = zlib.crc32(chunk, total)
os.makedirs("../models", exist_ok=True)
open("../models/model.txt", "w").write(str(total))
""",
    "03_report": """import os
os.makedirs("../figures", exist_ok=True)
open("../figures/model.svg", "w").write("<svg>" + open("../models/model.txt").read() + "</svg>")
print("the figure has", os.path.getsize("../figures/model.svg") > 11)
""",
}
WRITTEN = ("data/clean.bin", "models", "figures", "job", ".markmill")
PROOF = "the figure has True"


def pipeline(b):
    """The same three commands with one word changed, and data: once in markmill.yaml."""
    if not b.programs.peers:
        b.say("  the row of the pipeline is left out: bench/setup puts papermill")
        return []
    half = b.data * 500_000  # it is read, and written once more
    contenders = [contender(b, "papermill", f"{b.programs.peers} -m papermill --no-progress-bar", half),
                  contender(b, "markmill", f"{b.programs.markmill} run", half)]
    costs, disk = {c.name: [] for c in contenders}, {c.name: [] for c in contenders}
    for i in range(-1, max(3, b.rounds // 3)):
        for c in contenders if i % 2 else contenders[::-1]:
            for name in WRITTEN:
                shutil.rmtree(os.path.join(c.cwd, name), ignore_errors=True)
            if os.path.exists(os.path.join(c.cwd, WRITTEN[0])):
                os.remove(os.path.join(c.cwd, WRITTEN[0]))
            os.mkdir(os.path.join(c.cwd, "job"))
            cost = b.once(c)
            if i >= 0:
                costs[c.name].append(cost)
                disk[c.name].append(allocated(c.cwd))
    for name in costs:
        b.say(f"  pipeline: {name}: {median(c.wall for c in costs[name]):.2f} s wall, "
              f"{median(disk[name]) / 1e6:.1f} MB")
    pairs = [m.wall / p.wall for p, m in zip(costs["papermill"], costs["markmill"])]
    return Row(f"Three notebooks over {b.data} MB of data that Git ignores", costs, [
        Figure("markmill / papermill, wall, median of the pairs", median(pairs), "×", 1),
        Figure("markmill / papermill, disk afterwards", median(disk["markmill"]) / median(disk["papermill"]), "×",
               1.05),
        Figure("papermill, disk afterwards", median(disk["papermill"]) / 1e6, "MB"),
        *ratios(costs, "papermill", "markmill")])


def contender(b, name, command, size):
    """A repository of its own, with the data, and the pipeline as a script."""
    repository = os.path.join(b.folder, "pipeline-" + name)
    for notebook, code in NOTEBOOKS.items():
        generate.notebook(repository, f"notebooks/{notebook}.ipynb", [generate.cell(code, [])])
    generate.write(repository, ".gitignore", "".join(f"/{name}\n" for name in ("data/", *WRITTEN[1:])))
    generate.write(repository, "markmill.yaml", "data: [data/**, models/**, figures/**]\n")
    generate.commit_all(repository, b.env)
    os.mkdir(os.path.join(repository, "data"))
    with open(os.path.join(repository, "data", "raw.bin"), "wb") as file:
        for _ in range(size // 500_000):
            file.write(os.urandom(500_000))
    outputs = ["job/01.ipynb", "/dev/null", "job/03.ipynb"]
    script = "\n".join(f"{command} notebooks/{n}.ipynb {out} --cwd notebooks" for n, out in zip(NOTEBOOKS, outputs))
    return Contender(name, ["env", f"MARKMILL_DIR={repository}/.markmill", "sh", "-ec", script], repository,
                     limit=3600, proof=(os.path.join(repository, outputs[-1]), PROOF))


def allocated(folder):
    """Bytes on the disk of all that is in a folder."""
    told = subprocess.run(["du", "-s", "-B1", folder], check=True, capture_output=True, text=True).stdout
    return int(told.split()[0])


def earlier(b, most=40):
    """A small run that writes nothing that Git ignores, beside the same with the program that --earlier names."""
    if not b.programs.earlier:
        b.say("  the row of an earlier program is left out: --earlier names none")
        return []
    steps = (generate.fence(f"bash {{#s{i}}}", f"echo step {i}\n") for i in range(3))
    generate.write(b.folder, "plain.md", "".join(steps))
    contenders = []
    for name, program in {"markmill, earlier": b.programs.earlier, "markmill": b.programs.markmill}.items():
        own = b.input("of-" + os.path.basename(program))
        places = ["env", f"MARKMILL_DIR={own}/runs", f"XDG_CACHE_HOME={own}/cache"]
        contenders.append(Contender(name, [*places, program, "run", b.input("plain.md"), own + ".md"], b.small,
                                    proof=(own + ".md", "step 2")))
    costs = {c.name: [] for c in contenders}
    for i in range(-2, most):
        for c in contenders if i % 2 else contenders[::-1]:
            cost = b.once(c)
            if i >= 0:
                costs[c.name].append(cost)
    was, now = costs.values()
    return Row("A run that writes nothing that Git ignores, beside an earlier program", costs, [
        Figure("now / earlier, wall, median of the pairs", median(n.wall / w.wall for w, n in zip(was, now)), "×", 1.01),
        Figure("now / earlier, CPU, median of the pairs", median(n.cpu / w.cpu for w, n in zip(was, now)), "×", 1.01)])
