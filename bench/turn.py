"""The rows of agents: a turn of the bare program beside the same turn through Markmill.

The programs are those of .ci/agents, below the folder that MARKMILL_AGENTS names; a scripted model on the loopback
interface answers, so that no model's time is in the figures. Both do the same: they read a file, change it and run its
tests, each in a home of its own that has nothing but the address of the model.
"""
import glob
import os
import subprocess
import threading
import time

import generate
import measure
from rows import Contender, Figure, Row, cpus, walls

TASK = "`expand(\"1-3\")` must return 1, 2 and 3. Change only ranges.py.\n"
PROGRAMS = {"codex": "@openai/codex-linux-*/vendor/*/bin/codex", "claude": "@anthropic-ai/claude-code-linux-*/claude"}
PATHS = {"codex": "/v1", "claude": ""}
KEYS = {"codex": "OPENAI_API_KEY", "claude": "ANTHROPIC_API_KEY"}


def turn(b):
    """The rows of codex and claude, as far as they are there."""
    rows = []
    modules = os.environ.get("MARKMILL_AGENTS", "")
    for name in PROGRAMS:
        found = glob.glob(os.path.join(modules, PROGRAMS[name])) if modules else []
        if not found:
            b.say(f"  {name} is left out: MARKMILL_AGENTS names no folder with the packages of .ci/agents")
            continue
        with subprocess.Popen([b.programs.model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
            address = model.stdout.readline().strip() + "/fixes" + PATHS[name]
            rows.append(row(b, name, found[0], address))
            model.stdin.close()
    return rows


def row(b, name, program, address):
    folder = os.path.join(b.folder, "turn-" + name)
    subprocess.run(["bash", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples",
                    "make-buggy-repo.sh"), folder], env=b.env, check=True, capture_output=True)
    generate.write(folder, "task.md", generate.fence(f"agent {{#fix backend={name}}}", TASK))
    generate.write(folder, "prompt.txt", TASK)
    generate.commit_all(folder, b.env)
    os.environ[KEYS[name]] = b.env[KEYS[name]] = "sk-scripted"
    model = ["--model", "scripted"] if name == "codex" else []
    measure.run([b.programs.markmill, "agent", "admit", name, "--program", program, "--endpoint", address, *model], folder,
                b.env)
    bare, through = "the bare program", "markmill"
    home = os.path.join(b.folder, "turn-home-" + name)
    contenders = [
        Contender(bare, ["sh", "-c", command(name, program, address)], folder, before=["sh", "-c", fresh(
            name, home, address, folder)], proof=(os.path.join(folder, "ranges.py"), "+ 1))")),
        Contender(through, [b.programs.markmill, "run", "task.md", home + ".md"], folder, before=["sh", "-c", fresh(
            name, home, address, folder)], proof=(home + ".md", "+ 1))"))]
    b.env["TURN_HOME"] = home
    costs = b.compare(f"a turn of {name}", contenders)
    differences = sorted(m.wall - f.wall for m, f in zip(costs[through], costs[bare]))
    processor = sorted(m.cpu - f.cpu for m, f in zip(costs[through], costs[bare]))
    middle = len(differences) // 2
    return Row(f"A turn of {name}: four answers, three commands", costs, [
        Figure(f"{through} above {bare}, wall, the middle of the pairs", differences[middle] * 1e3, "ms", 100),
        Figure(f"{through} above {bare}, CPU, the middle of the pairs", processor[middle] * 1e3, "ms"),
        Figure(f"{through} / {bare}, wall", walls(costs, through) / walls(costs, bare), "×"),
        Figure(f"{through} / {bare}, CPU", cpus(costs, through) / cpus(costs, bare), "×"),
        Figure("memory of Markmill and its warden (PSS)", memory(b, contenders[1]), "MiB", 40)])


def fresh(name, home, address, folder):
    """A home that has only what the program must know, and the file as it was."""
    config = ""
    if name == "codex":
        config = ("model_provider = \"scripted\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n"
                  "[features]\nshell_snapshot = false\n[model_providers.scripted]\nname = \"scripted\"\n"
                  f"base_url = \"{address}\"\nwire_api = \"responses\"\nenv_key = \"{KEYS[name]}\"\n")
    return (f"rm -rf '{home}' && mkdir -p '{home}/.codex' && git -C '{folder}' checkout -q ranges.py && "
            f"rm -rf '{folder}/__pycache__' && cat >'{home}/.codex/config.toml' <<'END'\n{config}END\n")


def command(name, program, address):
    """The program as Markmill calls it."""
    if name == "codex":
        return (f"HOME=$TURN_HOME CODEX_HOME=$TURN_HOME/.codex exec '{program}' exec --json --skip-git-repo-check "
                "--dangerously-bypass-approvals-and-sandbox --model scripted - <prompt.txt")
    return (f"HOME=$TURN_HOME IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "
            f"CLAUDE_CODE_MAX_RETRIES=4 ANTHROPIC_BASE_URL='{address}' exec '{program}' -p --output-format stream-json "
            "--verbose --dangerously-skip-permissions <prompt.txt")


def memory(b, contender):
    """The most memory that Markmill's own processes have together during a turn, in MiB; shared pages are shared out."""
    most, over = [0.0], threading.Event()

    def look():
        while not over.is_set():
            most[0] = max(most[0], sum(own(b.programs.markmill).values()))
            time.sleep(0.005)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        measure.run(contender.before, contender.cwd, b.env)
        measure.run(contender.argv, contender.cwd, b.env)
    finally:
        over.set()
        watcher.join()
    return most[0]


def own(program):
    """The memory of the processes of a program by their command line: what is about to become another program has that
    of its parent, and its memory, too."""
    found = {}
    for exe in glob.glob("/proc/[0-9]*/exe"):
        process = os.path.dirname(exe)
        try:
            if os.readlink(exe) == program:
                with open(os.path.join(process, "cmdline"), "rb") as file:
                    words = file.read()
                found[words] = max(found.get(words, 0.0), pss(process))
        except OSError:
            continue
    return found


def pss(process):
    try:
        with open(os.path.join(process, "smaps_rollup"), encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except OSError:
        return 0.0
