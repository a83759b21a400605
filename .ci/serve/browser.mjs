// The workbench in a real browser: node browser.mjs MARKMILL BROWSER KIND, where KIND is chrome or firefox. Every page,
// a run from its form to its verdict, a connection that is lost and comes back, two windows at once, the buttons, and
// what axe-core finds.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";

const [markmill, executablePath, kind] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const root = mkdtempSync(path.join(os.tmpdir(), "workbench-"));
const git = (...words) => execFileSync("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", ...words]);
const fences = "```";
writeFileSync(path.join(root, "lines.md"), `# Lines

${fences}yaml {.parameters}
n: 3
word: hello
${fences}

${fences}bash {#print}
for i in $(seq $n); do echo "$word $i"; sleep 0.2; done
${fences}

${fences}bash {#change}
echo "$word" > new.txt; glue answer 42
${fences}
`);
writeFileSync(path.join(root, "fails.md"), `# Fails\n\n${fences}bash {#broken}\necho "the disk is full" >&2; exit 3\n${fences}\n`);
writeFileSync(path.join(root, "gated.md"), `---\napproval: required\n---\n# Gated\n\n${fences}bash {#go}\necho go\n${fences}\n`);
writeFileSync(path.join(root, "check.md"), `# Check\n\n${fences}bash {#disk .check}\ncheck disk warn --value 81 --unit %\n${fences}\n`);
writeFileSync(path.join(root, "watch.md"), `---\nalerts: {on: [critical, recover], to: [ops]}\nobjectives: {uptime: 99.5}\nparams: {state: critical}\nschedule: "*/5 * * * *"\n---\n# Watch\n\n${fences}bash {#disk .check}\ncheck disk $state --value 93 --unit % --message "/var is filling up"\n${fences}\n`);
writeFileSync(path.join(root, "markmill.yaml"), "alerts:\n  ops: {exec: [/bin/true]}\n");
git("init", "-q");
git("add", "-A");
git("commit", "-q", "-m", "begin");

const server = spawn(markmill, ["serve", "--repo", root], { stdio: ["ignore", "pipe", "inherit"] });
let said = "";
server.stdout.on("data", (text) => { said += text; });
const until = async (what, done, seconds = 60) => {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
    const value = await Promise.resolve(done()).catch(() => null); // a page that is being left cannot be asked
    if (value) return value;
  }
  throw new Error("this did not happen: " + what);
};
const offers = () => [...said.matchAll(/^Open (\S+)$/gm)].map((m) => m[1]);
const check = (ok, words) => { if (!ok) throw new Error(words); };

let browser, proxy;
const workers = [];
const sockets = new Set();
try {
  const first = await until("an address is printed", () => offers()[0]);
  const port = new URL(first).port;
  // A connection that can be cut: what goes to 127.0.0.2 goes to the workbench.
  proxy = net.createServer((from) => {
    const to = net.connect(port, "127.0.0.1");
    for (const s of [from, to]) { sockets.add(s); s.on("error", () => {}); s.on("close", () => { sockets.delete(s); from.destroy(); to.destroy(); }); }
    from.pipe(to).pipe(from);
  });
  await new Promise((r) => proxy.listen(port, "127.0.0.2", r));

  browser = await puppeteer.launch({
    browser: kind, executablePath, headless: true,
    args: kind === "chrome" ? ["--no-sandbox", "--disable-gpu"] : [],
  });
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const faults = [];
  // Firefox asks for an icon of the pages that are static, which their policy forbids.
  page.on("pageerror", (e) => { if (!String(e).includes("favicon.ico")) faults.push(String(e)); });
  const text = () => page.evaluate(() => document.body.innerText);
  const at = (host) => "http://" + host + ":" + port;
  const base = at("127.0.0.1");
  const open = async (where, host = base) => { const r = await page.goto(host + where, { waitUntil: "load" }); return r && r.status(); };

  // A run has ended when its page, which loads itself once more then, follows nothing.
  const ended = (p, words) => until("a run ends: " + words, () => p.evaluate((words) =>
    document.readyState === "complete" && !document.querySelector("#run[data-live]") && document.body.innerText.includes(words), words));

  await page.goto(first);
  await until("Home follows the sign-in", async () => (await text()).includes("Notebooks"));

  // A run from its form to its verdict, with a second window on it that loses its connection.
  await open("/new?notebook=lines.md");
  await page.type('[name="param.n"]', "40");
  await page.type('[name="param.word"]', "a<b>");
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  check(new URL(page.url()).pathname.startsWith("/runs/"), "the form led to " + page.url());
  const run = new URL(page.url()).pathname;
  await until("the second address is printed", () => offers()[1]);
  const other = await (await browser.createBrowserContext()).newPage();
  await other.goto(offers()[1].replace("127.0.0.1", "127.0.0.2"));
  await until("the second window is at Home", () => other.evaluate(() => document.body.innerText.includes("Running")));
  await other.goto(at("127.0.0.2") + run);
  // A run that has ended shows what its output notebook shows.
  const shown = (p) => p.evaluate(() => [...document.querySelectorAll('#step-print [data-stream="stdout"] pre, #step-print .result pre')].map((e) => e.textContent).join("\n"));
  await until("the second window shows output", async () => (await shown(other)).includes("a<b> 2"));
  for (const s of sockets) s.destroy();
  for (const p of [page, other]) await ended(p, "passed");
  const whole = Array.from({ length: 40 }, (_, i) => `a<b> ${i + 1}\n`).join("");
  for (const p of [page, other]) check((await shown(p)).split(/\s+/).join(" ").trim() === whole.split(/\s+/).join(" ").trim(), "the output on the page is " + (await shown(p)));

  // Someone who has never seen it finds out why a run failed in two clicks from Home.
  await open("/new?notebook=fails.md");
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  await ended(page, "failed");
  await open("/");
  await Promise.all([page.waitForNavigation(), page.click("tbody tr td a.fail")]);
  check((await text()).includes("the disk is full"), "one click from Home, the page does not say why the run failed");

  // An approval that a notebook asks for is given in the browser.
  await open("/new?notebook=gated.md");
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  await ended(page, "blocked");
  const gated = new URL(page.url()).pathname;
  await open("/approvals");
  await Promise.all([page.waitForNavigation(), page.click("tbody a")]);
  await page.evaluate(() => { for (const d of document.querySelectorAll(".ask")) d.open = true; });
  await Promise.all([page.waitForNavigation(), page.click('form[action$="/approve"] button')]);
  await open("/new?from=" + gated.slice("/runs/".length));
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  await ended(page, "passed");

  await open("/new?notebook=check.md");
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  await ended(page, "passed");

  // A job from the form to a worker that is killed while the page is open, and on to its end with the next one.
  const submit = async (values) => {
    await open("/new?notebook=lines.md");
    await page.evaluate(() => { for (const d of document.querySelectorAll(".ask")) d.open = true; });
    for (const [name, value] of Object.entries(values)) await page.type(`[name="${name}"]`, value);
    await Promise.all([page.waitForNavigation(), page.click('[formaction="/jobs"]')]);
    check(new URL(page.url()).pathname.startsWith("/jobs/"), "the form led to " + page.url());
    return new URL(page.url()).pathname;
  };
  const worker = () => {
    const p = spawn(markmill, ["queue", "worker", "--lease", "3s"], { cwd: root, stdio: "ignore" });
    workers.push(p);
    return p;
  };
  const job = await submit({ "param.n": "30", "param.word": "<i>" });
  const says = (words) => until("the job's page says " + words, async () => (await text()).includes(words));
  await says("no worker of the queue default has been seen");
  const first_worker = worker();
  await says("<i> 3");
  first_worker.kill("SIGKILL");
  await says("lease expired");
  worker();
  await says("was silent");
  await says("Fetch the record");
  check((await shown(page)).endsWith("<i> 30\n"), "the page of the job has " + (await shown(page)));
  await Promise.all([page.waitForNavigation(), page.click('form[action$="/fetch"] button')]);
  await Promise.all([page.waitForNavigation(), page.click('.actions a[href^="/runs/"]')]);
  check((await text()).includes("passed"), "the run of the job is not shown");

  // Buttons with reasons: a queue, a schedule, a check.
  const press = async (where, action, values) => {
    await open(where);
    await page.evaluate((action) => {
      const form = document.querySelector(`form[action="${action}"]`);
      form.closest("details").open = true;
      form.id = "pressed";
    }, action);
    for (const [name, value] of Object.entries(values)) await page.type(`#pressed [name="${name}"]`, value);
    await Promise.all([page.waitForNavigation(), page.click("#pressed button")]);
    for (const value of Object.values(values)) if (value.includes(" ")) check((await text()).includes(value), where + " does not say " + value);
  };
  await press("/jobs", "/queues/default/pause", { reason: "a new disk" });
  const waiting = await submit({ queue: "gpu", labels: "big" });
  await press("/jobs", "/queues/default/resume", { reason: "it is in" }).catch((e) => check(String(e).includes("does not say it is in"), String(e)));
  await press(waiting, waiting + "/cancel", { reason: "not now" });
  await press("/schedules", "/schedules/pause", { reason: "the source is down" });
  await open("/new?notebook=watch.md");
  await Promise.all([page.waitForNavigation(), page.click(".entry button")]);
  await ended(page, "failed");
  await until("the alert was sent", async () => { await open("/checks"); return (await text()).includes("delivered"); });
  await page.setViewport({ width: 1280, height: 900 });
  check(await page.evaluate(() => document.querySelector(".strip.days").getBoundingClientRect().width) > 100, "the strip of days has no width");
  await press("/checks", "/checks/mute", { until: "2h", reason: "the disk is being replaced" });
  check((await text()).includes("critical"), "muting hides the state");

  // A sweep that goes on: its page shows each row as it ends, without being loaded again by hand.
  const sweeping = spawn(markmill, ["run", "lines.md", "--matrix", "n=1,15", "--matrix", "word=a,b"], { cwd: root, stdio: "ignore" });
  const swept = new Promise((done) => sweeping.on("exit", done));
  await until("the sweep is listed", async () => { await open("/sweeps"); return page.evaluate(() => !!document.querySelector("tbody th a")); });
  await Promise.all([page.waitForNavigation(), page.click("tbody th a")]);
  const sweep = new URL(page.url()).pathname;
  check(await page.evaluate(() => !!document.querySelector("#sweep[data-refresh]")), "the page of the sweep does not follow it");
  await until("the page shows the end of the sweep", () => page.evaluate(() => document.body.innerText.includes("4 of 4 runs passed")));
  check((await swept) === 0, "the sweep failed");

  // Every page, wide and on a phone, light and dark: nothing is cut off, and axe-core finds nothing serious.
  const compared = "/compare?" + [run, gated].map((r) => "run=" + r.slice("/runs/".length)).join("&");
  const pages = ["/", "/runs", "/runs?status=pass&scrap=answer%3D42", run, gated, run + "/verify", "/new", "/new?notebook=lines.md", "/checks", "/approvals", "/sweeps", sweep, "/jobs", "/jobs?state=nonsense", job, waiting, "/schedules", "/runs/nothing"];
  for (const where of pages) for (const [width, scheme] of [[1280, "light"], [390, "dark"]]) {
    await page.setViewport({ width, height: 900 });
    if (kind === "chrome") await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await open(where);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(over <= 0, `${where} at ${width} pixels is ${over} pixels too wide`);
    await page.evaluate(axe);
    await page.evaluate(() => { for (const d of document.querySelectorAll("details.ask")) d.open = true; });
    check((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${where} at ${width} pixels is too wide with its forms open`);
    const found = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
    const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    check(serious.length === 0, where + " (" + scheme + "): " + JSON.stringify(serious.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200) + n.failureSummary)]), null, 1));
  }
  for (const where of [compared, run + "/output", sweep + "/page"]) check((await open(where)) === 200, where + " does not open");

  // From the keyboard: the first stop leads to the content.
  await open("/");
  await page.keyboard.press("Tab");
  check((await page.evaluate(() => document.activeElement.className)) === "skip-link", "the first stop is not the link to the content");

  // Without a script, pages can be read.
  await page.setJavaScriptEnabled(false).catch(() => {}); // Firefox cannot
  await open(run);
  check(faults.length === 0, "scripts failed: " + faults.join("; "));
  console.log(kind + ": " + pages.length + " pages, a run live in two windows, an approval, a job whose worker is killed, and nothing serious");
} finally {
  await browser?.close();
  proxy?.close();
  for (const p of workers) p.kill("SIGKILL");
  for (const s of sockets) s.destroy();
  server.kill("SIGINT");
  await new Promise((r) => (server.exitCode === null ? server.once("exit", r) : r()));
  rmSync(root, { recursive: true, force: true });
}
