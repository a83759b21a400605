"""The rows of the benchmark: what runs beside what, on which input, and which figure must hold."""
import glob
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from statistics import median

import generate
import measure
import report
import written


@dataclass
class Contender:
    name: str
    argv: list
    cwd: str
    rounds: int = 0  # 0: as many as the row has
    limit: float = 600.0  # seconds, then it is cut
    clean: list = field(default_factory=list)  # patterns of paths to remove after each run
    stdout: str = ""  # file that takes its standard output
    code: int = 0  # that it exits with
    proof: tuple = ()  # (file, text): the text must stand in the file; file "" is what it printed
    before: list = field(default_factory=list)  # what is run before each of its runs, and not counted
    own: bool = False  # it prints, as its last line, what the cost is of that it was started for


@dataclass
class Figure:
    """One number that the row is there for, and the bar that it is held to."""
    what: str
    value: float
    unit: str
    bar: float = None  # value must not be above it

    @property
    def verdict(self):
        if self.bar is None:
            return ""
        return "met" if self.value <= self.bar else "missed"


@dataclass
class Row:
    title: str
    costs: dict  # contender → list of Cost
    figures: list
    notes: list = field(default_factory=list)


class Bench:
    """What every row needs: the programs, the environment, the folder, the number of rounds."""

    def __init__(self, programs, env, folder, rounds, say, data=0):
        self.programs, self.env, self.folder, self.rounds, self.say = programs, env, folder, rounds, say
        self.data = data  # MB
        self.small = generate.small_repository(folder, env)

    def compare(self, title, contenders, rounds=0):
        """Runs the contenders in turn, round by round, after one round that does not count."""
        rounds = rounds or self.rounds
        costs = {c.name: [] for c in contenders}
        for i in range(-1, rounds):
            for c in contenders:
                if c.rounds and len(costs[c.name]) == c.rounds:
                    continue
                cost = self.once(c)
                if i >= 0 or c.rounds:  # with rounds of its own the first one counts too
                    costs[c.name].append(cost)
        for name, runs in costs.items():
            self.say(f"  {title}: {name}: {median(r.wall for r in runs):.3f} s wall, "
                     f"{median(r.cpu for r in runs):.3f} s CPU, {max(r.rss for r in runs):.0f} MiB, {len(runs)} runs"
                     + (", cut at the limit" if any(r.cut for r in runs) else ""))
        return costs

    def once(self, c):
        if c.before:
            measure.run(c.before, c.cwd, self.env)
        out = open(c.stdout, "wb") if c.stdout else None
        try:
            cost = measure.run(c.argv, c.cwd, self.env, c.limit, out, c.code)
            if c.proof and not cost.cut:
                measure.prove(c.argv, c.proof[0] or measure.log(self.env), c.proof[1])
            return measure.said(self.env, cost) if c.own else cost
        finally:
            if out:
                out.close()
            for path in (path for pattern in c.clean for path in glob.glob(pattern)):
                if os.path.isdir(path):
                    shutil.rmtree(path)
                elif os.path.exists(path):
                    os.remove(path)

    def input(self, name):
        return os.path.join(self.folder, name)

    def markmill(self, name, cwd=None, label="markmill", args=(), proof="", **options):
        argv = [self.programs.markmill, "run", self.input(name + ".md"), self.input(name + ".out.md"), *args]
        return Contender(label, argv, cwd or self.folder, proof=(self.input(name + ".out.md"), proof), **options)

    def papermill(self, name, args=(), proof="", **options):
        argv = [self.programs.peers, "-m", "papermill", "--no-progress-bar",
                self.input(name + ".ipynb"), self.input(name + ".out.ipynb"), *args]
        options["proof"] = (self.input(name + ".out.ipynb"), proof)
        return [Contender("papermill", argv, self.folder, **options)] if self.programs.peers else []

    def kernel_alone(self, name, proof=""):
        """ipykernel under the smallest client there is; the client is not counted."""
        argv = [self.programs.peers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.py"),
            self.input(name + ".ipynb")]
        return Contender("ipykernel alone", argv, self.folder, proof=("", proof), own=True)

    def jupyter(self, name, proof=""):
        """Markmill over the same ipykernel: that of the peers' environment."""
        out = self.input(name + ".markmill.ipynb")
        argv = ["env", "VIRTUAL_ENV=" + os.path.dirname(os.path.dirname(self.programs.peers)), self.programs.markmill,
            "run", "-k", "jupyter:python3",
                self.input(name + ".ipynb"), out]
        return Contender("markmill", argv, self.folder, proof=(out, proof))

    def diffs(self, name, proof, peer=True, **options):
        """Both programs compare NAME-a.ipynb with NAME-b.ipynb and must show proof."""
        sides = [self.input(name + "-a.ipynb"), self.input(name + "-b.ipynb")]
        own = Contender("markmill", [self.programs.markmill, "diff", *sides], self.folder, code=1, proof=("", proof))
        nbdiff = Contender("nbdiff", [self.programs.peers, "-m", "nbdime", "diff", "--no-color", *sides], self.folder,
                           proof=("", proof), **options)
        return [own, nbdiff] if self.programs.peers and peer else [own]

    def runme(self, name, args, **options):
        argv = [self.programs.runme, *args, "--filename", name + ".runme.md", "--chdir", self.folder]
        return [Contender("Runme", argv, self.folder, **options)] if self.programs.runme else []


def walls(costs, name):
    return median(c.wall for c in costs[name])


def cpus(costs, name):
    return median(c.cpu for c in costs[name])


def over(costs, name, floor, bar=None):
    """How many milliseconds of wall a contender is above the floor."""
    return Figure(f"{name} above {floor}, wall", (walls(costs, name) - walls(costs, floor)) * 1e3, "ms", bar)


def ratios(costs, peer, name):
    """How many times what name costs its peer costs."""
    if peer not in costs:
        return []
    return [Figure(f"{peer} / {name}, wall", walls(costs, peer) / walls(costs, name), "×"),
            Figure(f"{peer} / {name}, CPU", cpus(costs, peer) / cpus(costs, name), "×")]


def start(b):
    """What each command pays before it does anything: the packages of all of them are made ready."""
    costs = b.compare("start", [
        Contender("a Go program that prints one line", [b.programs.hello], b.folder, proof=("", "hello")),
        Contender("markmill version", [b.programs.markmill, "version"], b.folder, proof=("", "markmill"))])
    floor = "a Go program that prints one line"
    return Row("Start of the program", costs, [
        over(costs, "markmill version", floor, 4),
        Figure(f"markmill version above {floor}, CPU",
               (cpus(costs, "markmill version") - cpus(costs, floor)) * 1e3, "ms")])


def three_python(b):
    generate.python_inputs(b.folder, "three", 3)
    params = ["-p", "threshold", "2.5", "-p", "hostname", "web-1"]
    inside = "markmill in a repository"
    last = generate.last_line(3)
    costs = b.compare("3 Python steps", [
        Contender("python3", ["python3", b.input("three.py")], b.folder, proof=("", last)),
        b.markmill("three", args=params, proof=last),
        b.markmill("three", cwd=b.small, label=inside, args=params, proof=last),
        *b.papermill("three", args=params, proof=last)])
    return Row("3 Python steps with parameters", costs, [
        over(costs, "markmill", "python3", 25), over(costs, inside, "python3"),
        *ratios(costs, "papermill", "markmill")])


def many_python(b):
    rows, per_step = [], {}
    for count in (500, 5000):
        name = f"many{count}"
        generate.python_inputs(b.folder, name, count)
        inside = "markmill in a repository"
        last = generate.last_line(count)
        contenders = [Contender("python3", ["python3", b.input(name + ".py")], b.folder, proof=("", last)),
                      b.markmill(name, proof=last)]
        if count == 500:
            contenders += [b.markmill(name, cwd=b.small, label=inside, proof=last),
                           *b.papermill(name, rounds=1, proof=last)]
        costs = b.compare(f"{count} Python steps", contenders,
            rounds=b.rounds if count == 500 else max(3, b.rounds // 2))
        per_step[count] = (walls(costs, "markmill") - walls(costs, "python3")) * 1e3 / count
        figures = [Figure("markmill above python3, wall a step", per_step[count], "ms", 1)]
        if inside in costs:
            figures.append(Figure("in a repository, wall a step",
                                  (walls(costs, inside) - walls(costs, "python3")) * 1e3 / count, "ms", 1))
        figures += ratios(costs, "papermill", "markmill")
        if count == 5000:
            figures.append(Figure("a step of 5,000 / a step of 500", per_step[5000] / per_step[500], "×"))
        rows.append(Row(f"{count:,} Python steps", costs, figures))
    return rows


def twenty_bash(b):
    generate.bash_inputs(b.folder, "twenty", 20)
    inside = "markmill in a repository"
    last = generate.last_line(20)
    costs = b.compare("20 bash steps", [
        Contender("bash", ["bash", b.input("twenty.sh")], b.folder, proof=("", last)),
        b.markmill("twenty", proof=last),
        b.markmill("twenty", cwd=b.small, label=inside, proof=last),
        *b.runme("twenty", ["run", "--all", "--skip-prompts"], proof=("", last))])
    return Row("20 bash steps", costs, [
        over(costs, "markmill", "bash", 15), over(costs, inside, "bash"), *ratios(costs, "Runme", "markmill")])


def flood(b, size=1 << 30, peer_size=100 << 20, rounds=3):
    generate.flood_inputs(b.folder, "flood", size)
    generate.flood_inputs(b.folder, "flood-peer", peer_size)
    runs = b.env["MARKMILL_DIR"]
    pipe = ["bash", "-c", f"bash {b.input('flood.sh')} | cat > {b.input('flood.txt')}"]
    costs = b.compare("1 GiB printed by one step", [
        Contender("bash into cat into a file", pipe, b.folder, clean=[b.input("flood.txt")]),
        b.markmill("flood", clean=[runs])], rounds)
    notes = []
    if b.programs.peers:
        peer = b.compare("100 MiB printed by one step", [
            *b.papermill("flood-peer", rounds=1, limit=300, clean=[b.input("flood-peer.out.ipynb")])], 1)["papermill"]
        costs["papermill, 100 MiB"] = peer
    return Row("1 GiB printed by one step", costs, [
        Figure("markmill / pipe, wall", walls(costs, "markmill") / walls(costs, "bash into cat into a file"), "×"),
        Figure("markmill, peak memory", max(c.rss for c in costs["markmill"]), "MiB", 64)], notes)


def masking(b, size=200_000_000, rounds=5):
    generate.masked_inputs(b.folder, size)
    b.env["BENCH_SECRET"] = "hunter2-is-it-9Zq"
    cases = [(kind, secret) for kind in generate.MASKED_LINES for secret in (False, True)]
    costs = b.compare("200 MB printed by one step", [
        b.markmill(generate.masked_name(*case), label=case[0] + (", with a secret" if case[1] else ""),
                   clean=[b.env["MARKMILL_DIR"]]) for case in cases], rounds)
    cpu = {name: median(c.cpu for c in runs) for name, runs in costs.items()}
    return Row("200 MB printed by one step, masked", costs, [
        Figure(f"{kind}, with a secret / without, CPU", cpu[kind + ", with a secret"] / cpu[kind], "×")
        for kind in generate.MASKED_LINES])


def parse(b, fences=38_000, size=10_000_000):
    generate.fences_input(b.folder, "fences", fences, size)
    shutil.copy(b.input("fences.md"), b.input("fences.runme.md"))
    costs = b.compare("parse of 10 MB", [
        Contender("goldmark", [b.programs.goldmark, b.input("fences.md")], b.folder),
        Contender("markmill check", [b.programs.markmill, "check", b.input("fences.md")], b.folder),
        *b.runme("fences", ["list"], rounds=1, limit=180)])
    return Row(f"Parse of a {size // 1_000_000} MB file of {fences:,} fences", costs, [
        Figure("markmill check / goldmark, wall", walls(costs, "markmill check") / walls(costs, "goldmark"), "×", 3),
        Figure("markmill check / goldmark, CPU", cpus(costs, "markmill check") / cpus(costs, "goldmark"), "×")])


def strip(b):
    generate.outputs_input(b.folder, "outputs")
    notebook, proof = b.input("outputs.ipynb"), '"source": "x = 199"'
    argv = [b.programs.markmill, "notebook", "strip", "--stdout", notebook]
    contenders = [Contender("markmill notebook strip", argv, b.folder,
                            stdout=b.input("ours.ipynb"), proof=(b.input("ours.ipynb"), proof))]
    if b.programs.peers:
        contenders.append(Contender("nbstripout", [b.programs.peers, "-m", "nbstripout", "--keep-id", "-t", notebook],
            b.folder,
                                    stdout=b.input("theirs.ipynb"), proof=(b.input("theirs.ipynb"), "x = 199")))
    costs = b.compare("strip of 20 MB", contenders)
    size = os.path.getsize(notebook) / 1e6
    return Row(f"Outputs taken out of a Jupyter notebook of {size:.0f} MB", costs, [
        Figure("markmill notebook strip, wall", walls(costs, "markmill notebook strip") * 1e3, "ms", 60),
        *ratios(costs, "nbstripout", "markmill notebook strip")])


def kernel(b):
    """The same ipykernel under each: what is above it is the tool's own."""
    if not b.programs.peers:
        b.say("  the rows of ipykernel are left out: bench/setup puts it")
        return []
    rows = []
    for count in (3, 500):
        name = f"kernel{count}"
        generate.python_inputs(b.folder, name, count)
        last = generate.last_line(count)
        costs = b.compare(f"{count} cells over ipykernel", [
            b.kernel_alone(name, last), b.jupyter(name, last),
            *b.papermill(name, rounds=1 if count == 500 else 0, proof=last)])
        rows.append(Row(f"{count} cells over ipykernel", costs, [
            Figure("markmill / the kernel alone, wall", walls(costs, "markmill") / walls(costs, "ipykernel alone"), "×",
                1.1),
            Figure("markmill / the kernel alone, CPU", cpus(costs, "markmill") / cpus(costs, "ipykernel alone"), "×",
                1.1),
            Figure("papermill / the kernel alone, CPU", cpus(costs, "papermill") / cpus(costs, "ipykernel alone"), "×"),
            *ratios(costs, "papermill", "markmill")]))
    return rows


def disk(b):
    """Bytes written into files, and not time: strace makes everything slow."""
    if not b.programs.peers or not written.possible():
        b.say("  the row of bytes written is left out: it needs strace, and what bench/setup puts")
        return []
    size, last = generate.printing_cells(b.folder, "printing")
    figures, notes = [], []
    bare, other, back = (b.jupyter("printing", last) for _ in range(3))
    bare.name, bare.argv, bare.proof = "markmill without OUTPUT", bare.argv[:-1], ()
    out = b.input("printing.other.ipynb")
    other.name, other.proof = "markmill, Markdown to .ipynb", (out, last)
    other.argv = other.argv[:-2] + [b.input("printing.md"), out]
    out = b.input("printing.other.md")
    back.name, back.argv, back.proof = "markmill, .ipynb to Markdown", back.argv[:-1] + [out], (out, last)
    for c in (bare, b.jupyter("printing", last), other, back, *b.papermill("printing", proof=last)):
        count = written.by_file(c.argv, c.cwd, b.env)
        if c.proof:
            measure.prove(c.argv, *c.proof)
        total = sum(count.values())
        b.say(f"  bytes written: {c.name}: {total:,}, {total / size:.2f} times the output; "
              + ", ".join(f"{n:,} {os.path.basename(name)}" for name, n in count.most_common(4)))
        figures.append(Figure(f"{c.name}: bytes written / bytes printed", total / size, "×",
            2.2 if c.name != "papermill" else None))
    return Row(f"{size / 1e6:.0f} MB printed by 50 cells over ipykernel: bytes written into files", {}, figures, notes)


def ipynb(b):
    generate.outputs_input(b.folder, "large-notebook")
    source, ours, theirs = (b.input(f"large-notebook{end}.ipynb") for end in ("", ".ours", ".theirs"))
    proof = "x = 199"
    contenders = [Contender("markmill's reader and writer", [b.programs.ipynb, source, ours], b.folder,
        proof=(ours, proof))]
    if b.programs.peers:
        code = "import nbformat, sys; nbformat.write(nbformat.read(sys.argv[1], as_version=4), sys.argv[2])"
        contenders.append(Contender("nbformat", [b.programs.peers, "-c", code, source, theirs], b.folder,
            proof=(theirs, proof)))
    costs = b.compare("20 MB read and written", contenders)
    return Row(f"A Jupyter notebook of {os.path.getsize(source) / 1e6:.0f} MB read and written with all its outputs",
        costs, [
        Figure("markmill, wall", walls(costs, contenders[0].name) * 1e3, "ms"),
        *ratios(costs, "nbformat", contenders[0].name)])


def large(b, files=100_000, folders=2_000, rounds=3):
    """The cost of a step is the difference between twelve steps and two, of the same process.

    Every worktree is kept to the end: for some minutes after a hundred thousand files were removed,
    ext4 makes new ones up to thirty times slower (it will not reuse an inode so soon), and each
    contender would pay for the one before. The last contender shows what that costs."""
    b.say(f"  making a repository of {files:,} files")
    repository = generate.large_repository(b.folder, files, folders, b.env)
    beside = b.input("large-git")
    generate.git(repository, b.env, "worktree", "add", "--quiet", "--detach", beside, "HEAD")
    few, many = 2, 12
    contenders = []
    for steps in (few, many):
        name = f"touch{steps}"
        generate.touching_inputs(b.folder, name, steps, folders)
        contenders += [
            b.markmill(name, cwd=repository, label=f"markmill, {steps} steps", args=["--keep-worktree"]),
            Contender(f"git add, write-tree, diff-tree, {steps} steps", ["bash", b.input(name + ".git.sh")], beside),
            Contender(f"git status, {steps} steps", ["bash", b.input(name + ".status.sh")], beside)]
    added = ["bash", "-c", "exec git worktree add --quiet --detach $0-$$ HEAD", b.input("large-added")]
    contenders.append(Contender("git worktree add", added, repository))
    costs = b.compare("100,000 files", contenders, rounds)
    removing = b.markmill(f"touch{few}", cwd=repository, label=f"markmill, {few} steps, worktree removed", rounds=2)
    costs |= b.compare("100,000 files", [removing], 2)

    def step(name):
        return (walls(costs, f"{name}, {many} steps") - walls(costs, f"{name}, {few} steps")) * 1e3 / (many - few)

    names = ("markmill", "git status", "git add, write-tree, diff-tree")
    removed = [c.wall * 1e3 for c in costs[removing.name]]
    return Row(f"A step that changes 1 of {files:,} files", costs, [
        *(Figure(f"a step of {name}, wall", step(name), "ms") for name in names),
        Figure("the rest of a markmill run, worktree made and kept, wall",
               walls(costs, f"markmill, {few} steps") * 1e3 - few * step("markmill"), "ms"),
        Figure("git worktree add, wall", walls(costs, "git worktree add") * 1e3, "ms"),
        Figure("a run that removes its worktree, wall", removed[0], "ms"),
        Figure("the same again at once, where files were just removed, wall", removed[1], "ms")])


def paired(costs, name, other, what):
    """The median of the ratios of runs that followed one another, so that both met the same load."""
    pairs = zip(costs[name], costs[other])
    return median(getattr(x, what) / max(getattr(y, what), 1e-9) for x, y in pairs)


def pool(b, files=100_000, rounds=3):
    """Worktrees of a large repository, made and taken from the pool, and a whole run; Git's beside them. On a disk the
    worktrees that are made are kept until the row has ended: see large. On tmpfs, where ten of 300,000 files do not
    fit into memory, they are removed at once."""
    b.say(f"  making a repository of {files:,} files")
    name = f"pool{files}"
    folder = b.input(name)
    os.mkdir(folder)
    repository = generate.large_repository(folder, files, max(1, files // 50), b.env)
    generate.write(folder, "three.md", "".join(
        generate.fence("bash {#%s}" % step, code + "\n") for step, code in
        (("a", "echo one"), ("b", f"echo two >>{generate.large_path(0, max(1, files // 50))}"), ("c", "echo three"))))

    tool, out = b.programs.worktree, os.path.join(folder, "out.md")
    clean = [os.path.join(folder, "git-*"), os.path.join(folder, "first-*")]
    if report.file_system(folder) != "tmpfs":
        clean = []
    git, first, pooled = "git worktree add", "first worktree", "worktree from the pool, 1,000 files changed"
    status, run = "git status", "markmill run of three steps, pooled"
    costs = b.compare(f"{files:,} files", [
        Contender(git, ["bash", "-c", f"exec git worktree add --quiet --detach {folder}/git-$$ HEAD"], repository,
                  clean=clean),
        Contender(first, ["bash", "-c", f"exec {tool} {repository} {folder}/first-$$"], folder, own=True,
                  clean=clean),
        Contender(pooled, [tool, "-pool", os.path.join(folder, "pool"), "-change", str(min(1000, files // 10)),
                           repository, os.path.join(folder, "taken")], folder, own=True),
        Contender(status, ["git", "status", "--porcelain"], repository),
        Contender(run, [b.programs.markmill, "run", os.path.join(folder, "three.md"), out], repository,
                  before=["sleep", "1.1"], proof=(out, "three"))], rounds)
    shutil.rmtree(folder)
    return Row(f"A repository of {files:,} files, and the pool of worktrees", costs, [
        figure for what, label in (("wall", "wall"), ("cpu", "CPU")) for figure in (
            Figure(f"{first} / {git}, {label}", paired(costs, first, git, what), "×", 0.8),
            Figure(f"{pooled} / {git}, {label}", paired(costs, pooled, git, what), "×", 0.1),
            Figure(f"{run} / {status}, {label}", paired(costs, run, status, what), "×", 3))] + [
        Figure(f"{first} / {git}, peak memory", paired(costs, first, git, "rss"), "×", 3),
        Figure(f"{run} / {git}, peak memory", paired(costs, run, git, "rss"), "×", 3)])


def reads(b, files=100_000, folders=2_000, few=2, many=12):
    """What it costs to watch what steps read, in worktrees from the pool. A step costs the difference between a run
    that has it and one that does not."""
    b.say(f"  making a repository of {files:,} files")
    folder = b.input("reads")
    os.mkdir(folder)
    repository = generate.large_repository(folder, files, folders, b.env)
    opening, idle = "echo */*/* | xargs cat | wc -c\n", ":\n"
    notebooks = {f"{few} steps": [idle] * few, f"{many} steps": [idle] * many,
                 f"a step opens {files:,} files": [idle] * few + [opening]}
    contenders = []
    for name, codes in notebooks.items():
        for watch in ("on", "off"):
            source = os.path.join(folder, f"{len(codes)}-{watch}.md")
            generate.write(folder, os.path.basename(source), f"---\nreads: {watch}\n---\n" + "".join(
                generate.fence("bash {#s%d}" % i, code) for i, code in enumerate(codes)))
            out = source + ".out.md"
            contenders.append(Contender(f"{name}, reads: {watch}", [b.programs.markmill, "run", source, out],
                                        repository, before=["sleep", "1.1"], proof=(out, "pass")))
    costs = b.compare("reads", contenders)
    shutil.rmtree(folder)
    opened, figures = f"a step opens {files:,} files", []
    for what, label in (("wall", "wall"), ("cpu", "CPU")):
        def more(name, other, watch, what=what):
            pairs = zip(costs[f"{name}, reads: {watch}"], costs[f"{other}, reads: {watch}"])
            return median(getattr(x, what) - getattr(y, what) for x, y in pairs)
        step, open_step = ({watch: more(name, f"{few} steps", watch) for watch in ("on", "off")}
                           for name in (f"{many} steps", opened))
        figures += [
            Figure(f"{opened}, reads on, {label}", open_step["on"], "s"),
            Figure(f"the same, reads off, {label}", open_step["off"], "s"),
            Figure(f"on / off, {label}", open_step["on"] / open_step["off"], "×"),
            Figure(f"an idle step, reads off, {label}", step["off"] * 1e3 / (many - few), "ms"),
            Figure(f"an idle step, on / off, {label}", step["on"] / step["off"], "×", 1.1),
            Figure(f"a run of {few} idle steps, on / off, {label}",
                   paired(costs, f"{few} steps, reads: on", f"{few} steps, reads: off", what), "×", 1.1)]
    return Row(f"Watching what steps read, in a repository of {files:,} files", costs, figures)


def growth(b):
    """The same from small to very large."""
    return [pool(b, files, 3) for files in (1_000, 10_000, 30_000, 300_000)]


def diff(b):
    """Notebooks that differ a little: what a reviewer waits for."""
    rows, per_cell = [], {}
    sizes = (500, 2000, 4000)
    for count in sizes:
        generate.diff_cells(b.folder, f"cells{count}", count)
    generate.diff_cells(b.folder, "ten", 10)
    generate.diff_lines(b.folder, "lines", 4000)
    generate.diff_output(b.folder, "output", 1 << 20)
    small = b.compare("diff of 10 cells", b.diffs("ten", "edited"))
    rows.append(Row("diff of 10 cells", small, [
        Figure("markmill, wall", walls(small, "markmill") * 1e3, "ms", 10), *ratios(small, "nbdiff", "markmill")]))
    growth = {}
    for count in sizes:
        # nbdiff takes minutes of the larger ones, and its time grows with the square.
        growth[count] = b.compare(f"diff of {count} cells",
            b.diffs(f"cells{count}", "edited", peer=count == 2000, rounds=1, limit=300))
        per_cell[count] = (cpus(growth[count], "markmill") - cpus(small, "markmill")) / count
    peer = growth[2000]
    figures = [Figure("CPU a cell of 4,000 / of 500", per_cell[4000] / per_cell[500], "×", 1.3)]
    if "nbdiff" in peer:
        figures += [Figure("markmill / nbdiff, CPU", cpus(peer, "markmill") / cpus(peer, "nbdiff"), "×", 1 / 200),
                    *ratios(peer, "nbdiff", "markmill")]
    rows.append(Row("diff of 2,000 cells without ids, 5 % edited, 1 % moved", peer, figures))
    lines = b.compare("diff of a cell of 4,000 lines", b.diffs("lines", "edited", rounds=1, limit=300))
    rows.append(Row("diff of one cell of 4,000 lines, 1 % edited", lines, [
        Figure("markmill, wall", walls(lines, "markmill") * 1e3, "ms", 30), *ratios(lines, "nbdiff", "markmill")]))
    output = b.compare("diff of an output of 1 MB", b.diffs("output", "edited", rounds=1, limit=300))
    shown = generate.shown_lines([b.programs.markmill, "diff", b.input("output-a.ipynb"), b.input("output-b.ipynb")],
        b.env)
    rows.append(Row("diff of an output of 1 MB, 0.5 % of the lines edited", output, [
        Figure("markmill, wall", walls(output, "markmill") * 1e3, "ms"),
        Figure("changed lines that are shown / that there are", shown / generate.DIFF_EDITED, "×", 1),
        *ratios(output, "nbdiff", "markmill")]))
    return rows


def sweep(b):
    """200 runs of a small notebook, two at a time, beside the same code as scripts. The records are removed each time:
    the time of a run must not depend on how many an earlier round left."""
    runs = 200
    generate.write(b.folder, "swept.md", "# N\n\n```yaml {.parameters}\nn: 1\n```\n\n"
                   "```bash {#one}\necho $((n * 2))\n```\n")
    generate.write(b.folder, "swept.sh", "echo $((n * 2))\n")
    bare, swept = "200 scripts under xargs -P 2", "markmill run --matrix, -j 2"
    costs = b.compare("sweep", [
        Contender(bare, ["sh", "-c", f"seq {runs} | xargs -P 2 -I{{}} env n={{}} bash {b.input('swept.sh')}"], b.folder,
                  proof=("", str(2 * runs))),
        Contender(swept, [b.programs.markmill, "run", b.input("swept.md"), "--matrix", f"n=1..{runs}", "-j", "2"],
                  b.small, clean=[os.path.join(b.small, ".markmill")], proof=("", str(runs)))],
        rounds=max(3, b.rounds // 3))
    return Row("A sweep of 200 runs", costs, [
        Figure("a run above a script, wall", (walls(costs, swept) - walls(costs, bare)) * 1e3 / runs, "ms", 15)])


def watch(b):
    """A file that a step has read is replaced by another, as editors do: until the next run is announced, and until its
    journal begins."""
    figures = []
    for files in (100, 10_000):
        repository = os.path.join(b.folder, f"watched{files}")
        for i in range(files):
            os.makedirs(os.path.join(repository, str(i // 100)), exist_ok=True)
            generate.write(repository, f"{i // 100}/file{i}.txt", f"file {i}\n")
        generate.write(repository, "task.md", "```bash {#read}\ncat 0/file0.txt\n```\n")
        generate.commit_all(repository, b.env)
        noticed, begun = watched(b, repository)
        figures += [Figure(f"{files:,} files: rename → announced", median(noticed) * 1e3, "ms", 50),
                    Figure(f"{files:,} files: rename → run.started", median(begun) * 1e3, "ms")]
    return Row("A save in markmill run --watch", {}, figures)


def watched(b, repository):
    """The times of each round, in seconds."""
    noticed, begun = [], []
    runs = os.path.join(b.env.get("MARKMILL_DIR") or os.path.join(repository, ".markmill"), "runs")
    process = subprocess.Popen([b.programs.markmill, "run", "--watch", "task.md"], cwd=repository, env=b.env, text=True,
                               stderr=subprocess.PIPE)
    try:
        def until(word):
            for line in process.stderr:
                if word in line:
                    return time.perf_counter()
            raise RuntimeError("markmill run --watch ended")
        until("waiting")
        for i in range(b.rounds):
            generate.write(repository, "0/next", f"round {i}\n")
            known = set(os.listdir(runs))
            started = time.perf_counter()
            os.rename(os.path.join(repository, "0/next"), os.path.join(repository, "0/file0.txt"))
            noticed.append(until("running") - started)
            while True:
                new = [name for name in set(os.listdir(runs)) - known
                       if os.path.exists(os.path.join(runs, name, "events.jsonl"))]
                if new:
                    break
            begun.append(time.perf_counter() - started)
            until("waiting")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    return noticed, begun


def status(b, notebooks=300):
    """Which of many outputs still hold: every source and output is read, and compared with the checkout."""
    repository = os.path.join(b.folder, "proofs")
    for i in range(20):
        generate.write(repository, f"lib/{i}.txt", f"x{i}\n")
    for i in range(notebooks):
        generate.write(repository, f"n/{i}.md", f"# Report {i}\n\n```bash {{#load}}\ncat lib/{i % 20}.txt\n```\n\n"
                       f"```bash {{#test .test}}\ngrep x lib/{(i + 3) % 20}.txt\n```\n")
    generate.commit_all(repository, b.env)
    for i in range(notebooks):
        measure.run([b.programs.markmill, "run", f"n/{i}.md", f"runs/{i}.md", "--no-progress-bar"], repository, b.env)
    measure.run(["git", "add", "-A"], repository, b.env)
    measure.run(["git", "commit", "-qm", "outputs"], repository, b.env)
    current, outdated, git = "markmill status", "markmill status, all outdated", "git status"
    costs = b.compare("status", [
        Contender(current, [b.programs.markmill, "status"], repository, proof=("", f"{notebooks} current")),
        Contender(git, ["git", "status", "--short"], repository)])
    for i in range(20):
        generate.write(repository, f"lib/{i}.txt", f"x{i}\nmore\n")
    costs |= b.compare("status", [
        Contender(outdated, [b.programs.markmill, "status"], repository, code=1, proof=("", f"{notebooks} outdated"))])
    return Row(f"{notebooks} notebooks with outputs, and which of them are current", costs, [
        Figure("markmill status, wall", walls(costs, current) * 1e3, "ms", 200),
        Figure("all outdated, wall", walls(costs, outdated) * 1e3, "ms")])


ALL = {"start": start, "three": three_python, "many": many_python, "bash": twenty_bash,
       "kernel": kernel, "disk": disk, "ipynb": ipynb,
       "flood": flood, "masking": masking, "parse": parse, "diff": diff, "strip": strip, "large": large, "sweep": sweep, "status": status,
       "pool": pool, "growth": growth, "reads": reads, "watch": watch}
QUICK = ("three", "bash")
