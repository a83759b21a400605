"""The results as JSON, with every single run, and as a table for people."""
import json
import os
import platform
from dataclasses import asdict
from statistics import median


def spread(values, scale=1.0, digits=3):
    low, mid, high = min(values) * scale, median(values) * scale, max(values) * scale
    return f"{low:.{digits}f} / **{mid:.{digits}f}** / {high:.{digits}f}"


def markdown(rows):
    parts = []
    for row in rows:
        parts.append(f"## {row.title}\n\n"
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


def as_json(rows, facts):
    return json.dumps({
        "facts": facts,
        "rows": [{"title": r.title, "notes": r.notes,
                  "figures": [asdict(f) | {"verdict": f.verdict} for f in r.figures],
                  "runs": {name: [asdict(c) for c in costs] for name, costs in r.costs.items()}} for r in rows],
    }, indent=2, ensure_ascii=False) + "\n"


def machine():
    """What the figures were taken on; no name of the machine."""
    facts = {"system": f"{platform.system()} {platform.release()}", "processor": platform.machine(),
             "cores": os.cpu_count(), "python": platform.python_version()}
    if hasattr(os, "getloadavg"):
        facts["load before"] = round(os.getloadavg()[0], 2)
    return facts
