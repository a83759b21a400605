"""The results as JSON, with every single run, and as tables for people."""
import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import asdict
from statistics import median


def spread(values, scale=1.0, digits=3):
    low, mid, high = min(values) * scale, median(values) * scale, max(values) * scale
    return f"{low:.{digits}f} / **{mid:.{digits}f}** / {high:.{digits}f}"


def markdown(rows):
    parts = []
    for row in rows:
        parts.append(f"### {row.title}\n")
        parts.append("" if not row.costs else "\n"
                     "| contender | runs | wall, s: min / **median** / max | CPU, s, median | peak memory, MiB |\n"
                     "| --- | ---: | ---: | ---: | ---: |\n")
        for name, costs in row.costs.items():
            cut = " (cut at the limit)" if any(c.cut for c in costs) else ""
            parts.append(f"| {name}{cut} | {len(costs)} | {spread([c.wall for c in costs])} | "
                         f"{median(c.cpu for c in costs):.3f} | {max(c.rss for c in costs):.0f} |\n")
        parts.append("\n| figure | value | to reach | |\n| --- | ---: | ---: | --- |\n")
        for f in row.figures:
            bar = "" if f.bar is None else f"≤ {f.bar:g} {f.unit}"
            parts.append(f"| {f.what} | {f.value:.2f} {f.unit} | {bar} | {f.verdict} |\n")
        parts.append("\n" + "".join(f"{note}\n" for note in row.notes))
    return "".join(parts).rstrip() + "\n"


def facts(found):
    return "".join(f"- {name}: {value}\n" for name, value in found.items())


END = "<!-- end of figures -->"


def put_into(path, text, program="bench/run"):
    """Replaces what stands between the two marks of a Markdown file, of which the first names the program."""
    mark = f"<!-- figures: {program} writes what stands here -->"
    with open(path, encoding="utf-8") as file:
        head, begin, rest = file.read().partition(mark)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{program}: {path} has no place for figures: {mark} … {END}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{mark}\n\n{text}\n{END}{tail}")


def as_json(rows, found):
    return json.dumps({
        "facts": found,
        "rows": [{"title": r.title, "notes": r.notes,
                  "figures": [asdict(f) | {"verdict": f.verdict} for f in r.figures],
                  "runs": {name: [asdict(c) for c in costs] for name, costs in r.costs.items()}} for r in rows],
    }, indent=2, ensure_ascii=False) + "\n"


def new_file(folder, count=2000):
    """Microseconds to make an empty file. Above some twenty the file system is not at rest: ext4
    is slow for minutes after many files were removed, and everything that writes files with it."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        start = time.perf_counter()
        for i in range(count):
            open(os.path.join(inside, str(i)), "w").close()
        return (time.perf_counter() - start) / count * 1e6


def file_system(folder):
    """The name of the file system; "" where stat is not GNU's, and cannot say it."""
    kind = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True)
    return kind.stdout.strip() if kind.returncode == 0 else ""


def machine(folder):
    """What the figures were taken on; no name of the machine."""
    facts = {"system": f"{platform.system()} {platform.release()}", "processor": platform.machine(),
             "cores": os.cpu_count(), "python": platform.python_version()}
    if kind := file_system(folder):
        facts["file system"] = kind
    facts["a new file takes"] = f"{new_file(folder):.0f} µs"
    if hasattr(os, "getloadavg"):
        facts["load before"] = round(os.getloadavg()[0], 2)
    return facts
