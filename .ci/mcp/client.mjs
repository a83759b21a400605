// The official TypeScript SDK as a client of markmill mcp serve: node client.mjs MARKMILL.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const program = resolve(process.argv[2]);
const root = mkdtempSync(join(tmpdir(), "mcp-"));
const notebooks = {
  "task.md": `---
allow: ["src/**"]
---
# Task

\`\`\`bash {#change}
mkdir -p src && echo 41 > src/answer
\`\`\`

\`\`\`bash {#verify .test}
echo looking && grep -x 42 src/answer
\`\`\`
`,
  "slow.md": "# Slow\n\n```bash {#wait}\nsleep 600\n```\n",
  "gated.md": "---\napproval: required\n---\n# Gated\n\n```bash {#go}\necho never\n```\n",
};
for (const [name, text] of Object.entries(notebooks)) writeFileSync(join(root, name), text);
const user = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
const git = (...words) => execFileSync("git", ["-C", root, ...user, ...words]);
git("init", "-q");
git("add", "-A");
git("commit", "-q", "-m", "begin");

const client = new Client({ name: "peer", version: "1" });
const server = { command: program, args: ["mcp", "serve", "--repo", root], env: { ...process.env } };
await client.connect(new StdioClientTransport(server));
const { tools } = await client.listTools(); // with it the client holds results to the schemas of the tools
assert(JSON.stringify(tools).length < 16 << 10 && tools.every((t) => t.title));
const call = async (name, args = {}, options) => {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert(!result.isError, JSON.stringify(result.content));
  assert(result.structuredContent.untrusted);
  return result.structuredContent;
};

// It runs a notebook with progress, reads why it failed, fixes the step, runs again, shows the change.
const said = [];
const task = { notebook: "task.md", output: "task.out.md" };
const failed = await call("run", task, { onprogress: (p) => said.push(p.message) });
assert.equal(failed.status, "fail");
assert.deepEqual([failed.cause.step, failed.cause.line, failed.cause.tail], ["verify", 10, "looking"]);
assert.deepEqual(said.slice(0, 2), ["step 1 of 2: change", "step 2 of 2: verify"]);
const { steps } = await call("inspect", { notebook: "task.md" });
const was = steps.find((s) => s.id === "change").code;
await call("edit_step", { notebook: "task.md", step: "change", code: was.replace("41", "42"), was });
const passed = await call("run", { notebook: "task.md", output: "task.out.md" });
assert.equal(passed.status, "pass");
assert.match((await call("changes", { run: passed.run_id })).text, /^\+42$/m);
assert.equal((await call("log", { step: "verify" })).text, "looking\n42\n");
for (const [name, args] of [
  ["check", { paths: ["."] }], ["status"], ["gate"], ["show", { run: passed.run_id }],
  ["show_output", { notebook: "task.out.md" }],
  ["diff", { a: failed.run_id, b: passed.run_id }], ["verify", { what: "task.out.md" }], ["scraps"], ["list"],
  ["query", { sql: "SELECT run_id, status FROM runs" }], ["new_notebook", { notebook: "more/new.md" }],
  ["review", { revisions: "HEAD" }], ["outdated"],
  ["add_step", { notebook: "more/new.md", step: "more", language: "bash", code: "true", prose: "More." }],
]) await call(name, args);
const guide = await client.readResource({ uri: "markmill://guide" });
const { messages } = await client.getPrompt({ name: "guide" });
assert.equal(messages[0].content.text, guide.contents[0].text);
const prose = { notebook: "AGENTS.md", content: "Do it." };
assert((await client.callTool({ name: "new_notebook", arguments: prose })).isError);
const { resources } = await client.listResources();
assert(resources.some((r) => r.uri === "markmill://notebook/task.out.md"));
await client.readResource({ uri: `markmill://run/${passed.run_id}/report.json` });

// A run that is cancelled ends as interrupted.
const stop = new AbortController();
const slow = client.callTool({ name: "run", arguments: { notebook: "slow.md" } }, undefined,
  { signal: stop.signal, onprogress: () => stop.abort() });
await assert.rejects(slow);
let runs;
do runs = (await call("list", { notebook: "slow.md" })).runs;
while (!runs.length || runs[0].status === "running");
assert.equal(runs[0].status, "interrupted");

// No tool can approve.
const blocked = await call("run", { notebook: "gated.md" });
assert.equal(blocked.status, "blocked");
assert(!JSON.stringify(blocked).includes("markmill approve"));
await assert.rejects(client.callTool({ name: "approve", arguments: { run: blocked.run_id } }), { code: -32602 });
assert.equal((await call("show", { run: blocked.run_id })).status, "blocked");
await client.close();
console.log(`typescript: 1 fixed, 1 cancelled, 1 blocked; ${tools.length} tools`);
