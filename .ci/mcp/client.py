"""The official Python SDK as a client of markmill mcp serve: python client.py MARKMILL."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from notebooks import repository

program = os.path.abspath(sys.argv[1])

async def main():
    root = repository()
    server = StdioServerParameters(command=program, args=["mcp", "serve", "--repo", root], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()
        size = len(listed.model_dump_json(exclude_none=True, by_alias=True))
        assert size < 16 << 10 and all(tool.title for tool in listed.tools), size
        names = {tool.name for tool in listed.tools}
        asked = "inspect check status run show log diff verify scraps list query review outdated new_notebook add_step"
        assert set(asked.split()) <= names, names
        assert not {n for n in names for w in ("approve", "accept", "sign", "apply", "deny", "reject") if w in n}, names

        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        # It runs a notebook with progress, reads why it failed, fixes the step, runs again, shows the change.
        said = []

        async def progress(done, total, message):
            said.append((done, total, message))

        task = {"notebook": "task.md", "output": "task.out.md"}
        result = await session.call_tool("run", task, progress_callback=progress)
        failed = result.structured_content
        cause = failed["cause"]
        assert failed["status"] == "fail" and cause["step"] == "verify" and cause["line"] == 10, cause
        assert "looking" in cause["tail"] and "untrusted" in failed, failed
        assert "<untrusted-" in result.content[0].text, result.content
        assert [m for _, _, m in said][:2] == ["step 1 of 2: change", "step 2 of 2: verify"], said
        was = next(s["code"] for s in (await call("inspect", notebook="task.md"))["steps"] if s["id"] == "change")
        edited = await call("edit_step", notebook="task.md", step="change", code=was.replace("41", "42"), was=was)
        assert edited["check"]["errors"] == 0, edited
        passed = await call("run", notebook="task.md", output="task.out.md")
        assert passed["status"] == "pass" and len(json.dumps(passed)) < 600, passed
        assert "+42" in (await call("changes", run=passed["run_id"]))["text"]
        assert (await call("log", run=passed["run_id"], step="verify"))["text"] == "looking\n42\n"
        assert (await call("verify", what="task.out.md"))["ok"]
        compared = await call("diff", a=failed["run_id"], b=passed["run_id"])
        assert compared["b"]["status"] == "pass", compared
        assert [r["status"] for r in (await call("list"))["runs"]] == ["pass", "fail"]
        rows = (await call("query", sql="SELECT count(*) AS n FROM runs"))["rows"]
        assert rows == [{"n": 2}], rows
        resources = [r.uri for r in (await session.list_resources()).resources]
        assert f"markmill://run/{passed['run_id']}/report.json" in map(str, resources), resources
        read_back = await session.read_resource(f"markmill://run/{passed['run_id']}/output.md")
        assert "looking" in read_back.contents[0].text

        # It adds a step, sees a step report while it runs, and mends the gate.
        await call("add_step", notebook="task.md", step="long", language="bash", code="echo begun; sleep 6")
        assert not (await call("gate"))["pass"]
        said.clear()
        mended = await session.call_tool("outdated", {}, progress_callback=progress)
        assert mended.structured_content["pass"], mended
        assert "step long, data that it printed: begun" in [m for _, _, m in said], said
        assert [d for d, _, _ in said] == sorted({d for d, _, _ in said}), said
        assert (await call("review", revisions="HEAD"))["schema"] == "markmill.review/1"
        guide = (await session.get_prompt("guide")).messages[0].content.text
        assert guide == (await session.read_resource("markmill://guide")).contents[0].text, guide

        # What an agent writes runs in the sandbox, in a worktree, without what the server has; or is not written.
        away = os.path.join(os.path.expanduser("~"), "escaped-" + os.path.basename(root))
        code = f"echo x >here\necho x >{root}/there || true\necho x >{away} || true\ngit -C {root} branch evil || true"
        front = "---\nsandbox: off\nmode: in-place\n---\n"
        await call("new_notebook", notebook="escape.md", content=f"{front}# E\n\n```bash {{#a}}\n{code}\n```\n")
        assert (await call("run", notebook="escape.md"))["status"] == "pass"
        for file in (away, f"{root}/there", f"{root}/here", f"{root}/.git/refs/heads/evil"):
            assert not os.path.exists(file), file
        secret = "---\nsecrets: [HOME]\n---\n# S\n\n```bash {#a}\ntrue\n```\n"
        await call("new_notebook", notebook="secret.md", content=secret)
        assert (await session.call_tool("run", {"notebook": "secret.md"})).is_error
        for name, text in (("CLAUDE.md", secret), (".claude/x.md", secret), ("prose.md", "Do it.\n")):
            assert (await session.call_tool("new_notebook", {"notebook": name, "content": text})).is_error, name
            assert not os.path.exists(os.path.join(root, name)), name

        # A run that is cancelled ends as interrupted, while another goes on.
        started = asyncio.Event()

        async def waits(done, total, message):
            if message.endswith("wait"):
                started.set()

        slow = asyncio.create_task(session.call_tool("run", {"notebook": "slow.md"}, progress_callback=waits))
        await started.wait()
        assert (await call("run", notebook="task.md"))["status"] == "pass"
        slow.cancel()
        while True:
            runs = (await call("list", notebook="slow.md"))["runs"]
            if runs and runs[0]["status"] != "running":
                break
        assert runs[0]["status"] == "interrupted", runs

        # No tool can approve: a blocked run stays blocked, and no path leads out.
        blocked = await call("run", notebook="gated.md")
        assert blocked["status"] == "blocked" and "markmill approve" not in json.dumps(blocked), blocked
        for name in ("approve", "runs_approve", "accept"):
            try:
                result = await session.call_tool(name, {"run": blocked["run_id"]})
                raise AssertionError(result)
            except MCPError as error:
                assert error.error.code == -32602, error
        for path in ("../x.md", "/etc/passwd", ".git/config", ".markmill/x.md"):
            result = await session.call_tool("inspect", {"notebook": path})
            assert result.is_error, path
        assert (await call("show", run=blocked["run_id"]))["status"] == "blocked"
    print("python: 1 fixed, 1 cancelled, 1 blocked;", len(names), "tools:", json.dumps(sorted(names)))


asyncio.run(main())
