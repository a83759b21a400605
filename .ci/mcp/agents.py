"""Coding agents themselves as clients of markmill mcp, with a model that follows a script, on loopback:

python agents.py MARKMILL claude=PROGRAM codex=PROGRAM

The model runs a notebook, edits the step that failed, runs again and asks for the change. Its script is TURNS; which of
them is next follows from the number of tool results in the request. Then, with markmill gate as a Stop hook, it says
"Done." while an output is outdated, is sent back with the reason, and runs the notebook. So the agent, its MCP client,
its hooks, the server and the runs are real.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from notebooks import repository

TURNS = [
    ("run", {"notebook": "task.md", "output": "task.out.md"}),
    ("edit_step", {"notebook": "task.md", "step": "change", "code": "mkdir -p src && echo 42 > src/answer\n"}),
    ("run", {"notebook": "task.md", "output": "task.out.md"}),
    ("changes", {}),
    ("run", {"notebook": "gated.md"}),
]
HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "MARKMILL gate >&2 || exit 2", "timeout": 60}]}]}}
script = {"turns": TURNS, "after": ""}  # the turns begin when the request has the words of after
seen = []  # the results of tools, as the agent hands them to its model


class Model(BaseHTTPRequestHandler):
    """Answers the Messages API of Anthropic and the Responses API of OpenAI, streaming."""

    def log_message(self, *_):
        pass

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if "count_tokens" in self.path:
            return self.reply([json.dumps({"input_tokens": 1})], "application/json")
        messages = "/messages" in self.path
        results = [b for b in blocks(body) if b.get("type") in ("tool_result", "function_call_output")]
        seen[:] = [json.dumps(b.get("content", b.get("output"))) for b in results]
        turns = script["turns"] if script["after"] in json.dumps(body) else []
        name, arguments = turns[len(results)] if len(results) < len(turns) else (None, None)
        tool = next((t for t in tools(body) if name and t[1].endswith("__" + name) or t == ("mcp__markmill", name)), None)
        if name and not tool:
            name = None  # a request without the tools, such as one for a title
        self.reply(anthropic(tool, arguments, len(results)) if messages else openai(tool, arguments, len(results)))

    def reply(self, events, kind="text/event-stream"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write("".join(events).encode())

    do_GET = do_POST  # noqa: N815


def blocks(body):
    """Yields the parts of a conversation."""
    for item in body.get("messages", []) + (body["input"] if isinstance(body.get("input"), list) else []):
        yield item
        if isinstance(item.get("content"), list):
            yield from (b for b in item["content"] if isinstance(b, dict))


def tools(body):
    """Yields the tools that the model is offered, as (namespace, name)."""
    for t in body.get("tools", []):
        if t.get("type") == "namespace":
            yield from ((t["name"], inner["name"]) for inner in t.get("tools", []))
        elif "name" in t:
            yield ("", t["name"])


def sse(data):
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def anthropic(tool, arguments, n):
    message = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}, "end_turn"
    if tool:
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": tool[1], "input": {}}
        delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    yield sse({"type": "message_start", "message": message})
    yield sse({"type": "content_block_start", "index": 0, "content_block": block})
    yield sse({"type": "content_block_delta", "index": 0, "delta": delta})
    yield sse({"type": "content_block_stop", "index": 0})
    yield sse({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}})
    yield sse({"type": "message_stop"})


def openai(tool, arguments, n):
    item = {"type": "message", "role": "assistant", "id": f"msg_{n}", "content": [{"type": "output_text", "text": "Done."}]}
    if tool:
        item = {"type": "function_call", "call_id": f"call_{n}", "name": tool[1], "arguments": json.dumps(arguments)}
        item |= {"namespace": tool[0]} if tool[0] else {}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield sse({"type": "response.created", "response": {"id": f"r_{n}"}})
    yield sse({"type": "response.output_item.done", "item": item})
    yield sse({"type": "response.completed", "response": {"id": f"r_{n}", "usage": usage}})


def claude(program, markmill, root, home, url):
    config = {"mcpServers": {"markmill": {"command": markmill, "args": ["mcp", "--repo", root]}}}
    words = [program, "-p", "--mcp-config", json.dumps(config), "--strict-mcp-config", "--allowedTools", "mcp__markmill"]
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CONFIG_DIR": home}
    return words, env | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false"}


def codex(program, markmill, root, home, url):
    with open(os.path.join(home, "config.toml"), "w") as file:
        file.write(
            'model = "scripted"\nmodel_provider = "scripted"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
            f'[mcp_servers.markmill]\ncommand = "{markmill}"\nargs = ["mcp", "--repo", "{root}"]\n'
            'default_tools_approval_mode = "approve"\n'
        )
    words = [program, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-C", root, "-"]
    return words, {"CODEX_HOME": home}


def talk(agent, program, markmill, root, home, url):
    """Lets the agent work until its model is done."""
    words, env = agent(program, markmill, root, home, url)
    seen.clear()
    done = subprocess.run(words, cwd=root, input="Fix task.md.", env=os.environ | {"HOME": home} | env, text=True,
                          capture_output=True, timeout=240)
    said = f"{program}: {done.returncode}\n{done.stdout}\n{done.stderr}\n" + "\n".join(seen)
    if done.returncode or len(seen) != len(script["turns"]):
        sys.exit(said)
    return said


def statuses(markmill, root):
    shown = subprocess.run([markmill, "runs", "list", "--json"], cwd=root, capture_output=True, check=True).stdout
    return [run["status"] for run in reversed(json.loads(shown)["runs"])]


def works(name, *given):
    """The agent mends a notebook, and cannot approve one that is blocked."""
    _, markmill, root, *_ = given
    script.update(turns=TURNS, after="")
    said = talk(globals()[name], *given)
    for text, want in zip(seen, ["looking", "echo 41", "pass", "+42", "approval_required"], strict=True):
        if want not in text or "untrusted" not in text:
            sys.exit(f"{want!r} or untrusted is not in what {name} hands its model: {text}\n{said}")
    if statuses(markmill, root) != ["fail", "pass", "blocked"]:
        sys.exit(f"{name}: the runs are {statuses(markmill, root)}")
    print(f"{name}: {len(seen)} calls; runs: fail, pass, blocked")


def stops(name, *given):
    """The agent says that it is done while an output is outdated, and its Stop hook sends it back."""
    _, markmill, root, home, _ = given
    with open(os.path.join(root, "task.md"), "a") as file:
        file.write("\nMore.\n\n```bash {#more}\ntrue\n```\n")
    if subprocess.run([markmill, "gate"], cwd=root, capture_output=True).returncode != 1:
        sys.exit("the gate does not object before")
    hook = json.dumps(HOOK).replace("MARKMILL", markmill)
    with open(os.path.join(home, "settings.json" if name == "claude" else "hooks.json"), "w") as file:
        file.write(hook)
    script.update(turns=TURNS[:1], after="task.out.md: ")
    said = talk(globals()[name], *given)
    if subprocess.run([markmill, "gate"], cwd=root, capture_output=True).returncode != 0:
        sys.exit(f"{name}: the gate objects afterwards\n{said}")
    print(f"{name}: the Stop hook sent it back, and the gate passes")


def main():
    markmill, named = os.path.abspath(sys.argv[1]), dict(word.split("=", 1) for word in sys.argv[2:])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, program in named.items():
        given = program, markmill, repository(), tempfile.mkdtemp(), f"http://127.0.0.1:{server.server_port}"
        works(name, *given)
        stops(name, *given)


main()
