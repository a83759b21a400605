"""The rows of the queue: a job on a worker that has an interpreter ready, and how many empty jobs get done."""
import filecmp
import os
import shutil
import signal
import subprocess
from statistics import median

import generate
from rows import Contender, Figure, Row, ratios, walls


def warm(b, most=40):
    """markmill queue submit --wait on a warm worker, beside markmill run and papermill, of the same notebook over ipykernel."""
    if not b.programs.peers:
        b.say("  the row of the warm lane is left out: bench/setup puts ipykernel")
        return []
    assert b.programs.queue  # beside markmill, which starts it
    repository = os.path.join(b.folder, "warm")
    generate.python_inputs(b.folder, "lane", 3)
    generate.write(repository, "lane.md", open(b.input("lane.md"), encoding="utf-8").read())
    generate.commit_all(repository, b.env)
    env = b.env | {"VIRTUAL_ENV": os.path.dirname(os.path.dirname(b.programs.peers))}
    prefix, last = ["env", "VIRTUAL_ENV=" + env["VIRTUAL_ENV"], b.programs.markmill], generate.last_line(3)
    outs = [b.input("lane.run.md"), b.input("lane.submit.md")]
    here = ["-k", "jupyter:python3", "lane.md"]
    pause = ["sleep", "1.5"]  # in which the worker starts the next interpreter
    names = ["markmill run", "markmill queue submit --wait, a warm worker"]
    contenders = [Contender(names[0], [*prefix, "run", *here, outs[0]], repository, proof=(outs[0], last), before=pause),
                  Contender(names[1], [*prefix, "queue", "submit", "--wait", *here, outs[1]], repository, proof=(outs[1], last),
                            before=pause),
                  *b.papermill("lane", proof=last)]
    costs, same = {c.name: [] for c in contenders}, 0
    said = b.input("worker.log")
    with open(said, "wb") as log:
        worker = subprocess.Popen([b.programs.markmill, "queue", "worker", "--warm"], cwd=repository, env=env, stdout=log, stderr=log)
        try:
            for i in range(-2, most):
                for c in contenders:
                    if c.name == "papermill" and i >= b.rounds:
                        continue
                    cost = b.once(c)
                    if i >= 0:
                        costs[c.name].append(cost)
                same += i >= 0 and filecmp.cmp(*outs, shallow=False)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait()
    ready = open(said, encoding="utf-8").read().count("that was ready")
    pairs = [s.wall / r.wall for r, s in zip(costs[names[0]], costs[names[1]])]
    return Row("A job on a warm worker, 3 cells over ipykernel", costs, [
        Figure("submit --wait / run, wall, median of the pairs", median(pairs), "×", 0.3),
        Figure("submit --wait / run, wall, of the fastest", min(c.wall for c in costs[names[1]]) /
               min(c.wall for c in costs[names[0]]), "×"),
        Figure(f"outputs that are equal to the byte, of {most}", same, ""),
        Figure(f"runs with an interpreter that was ready, of {most + 2}", ready, ""),
        *ratios(costs, "papermill", names[1])])


def queue(b, jobs=60, peer_jobs=8):
    """Empty notebooks by number of workers, beside xargs -P."""
    assert b.programs.queue
    repository = os.path.join(b.folder, "queue")
    generate.write(repository, "empty.md", "```bash {#a}\n:\n```\n")
    generate.commit_all(repository, b.env)
    generate.python_inputs(b.folder, "peer", 1)
    costs, figures = {}, []
    program, store = b.programs.markmill, b.env["MARKMILL_DIR"]

    def each(name, count, argv, before=None):
        runs = []
        for _ in range(max(3, b.rounds // 3)):
            if before:
                before()
            runs.append(b.once(Contender(name, argv, repository)))
        costs[name] = runs
        figures.append(Figure(f"{name}, a second", count / walls(costs, name), "runs"))
        b.say(f"  {name}: {count / walls(costs, name):.1f} a second")

    def submit():
        shutil.rmtree(store, ignore_errors=True)
        for _ in range(jobs):
            subprocess.run([program, "queue", "submit", "empty.md"], cwd=repository, env=b.env, check=True, capture_output=True)

    for n in (1, 2, 4):
        each(f"markmill run, xargs -P {n}", jobs, ["sh", "-c", f"seq {jobs} | xargs -P {n} -I @ {program} run empty.md"])
        each(f"{n} workers", jobs, ["sh", "-c", f"for i in $(seq {n}); do {program} queue worker --drain & done; wait"], submit)
        each(f"a worker, -j {n}", jobs, [program, "queue", "worker", "--drain", "-j", str(n)], submit)
    if b.programs.peers:
        for n in (1, 2, 4):
            each(f"papermill, xargs -P {n}", peer_jobs, ["sh", "-c",
                 f"seq {peer_jobs} | xargs -P {n} -I @ {b.programs.peers} -m papermill --no-progress-bar "
                 f"{b.input('peer.ipynb')} {b.folder}/peer@.ipynb"])
    return Row(f"{jobs} empty notebooks ({peer_jobs} for papermill), made by several at once", costs, figures)
