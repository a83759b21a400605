"""The official Python SDK as a client of markmill mcp: python client.py MARKMILL."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from notebooks import repository

program = os.path.abspath(sys.argv[1])

async def main():
    root = repository()
    server = StdioServerParameters(command=program, args=["mcp", "--repo", root], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {"inspect", "check", "status", "run", "show", "log", "diff", "verify", "scraps", "list", "query"} <= names
        assert not {n for n in names for w in ("approve", "accept", "sign", "apply", "deny", "reject") if w in n}, names

        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        # It runs a notebook with progress, reads why it failed, fixes the step, runs again, shows the change.
        said = []

        async def progress(done, total, message):
            said.append((done, total, message))

        result = await session.call_tool("run", {"notebook": "task.md", "output": "task.out.md"}, progress_callback=progress)
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
        assert passed["status"] == "pass", passed
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
        assert blocked["status"] == "blocked", blocked
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
