// The pictures of the site: node pictures.mjs MARKMILL BROWSER DOCS TARGET. What pages of DOCS say on their consoles is
// done, and looked at in a terminal and a browser, in both themes.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";

const [markmill, executablePath, docs, target] = process.argv.slice(2);
const root = mkdtempSync(path.join(os.tmpdir(), "pictures-"));
const PATH = path.dirname(markmill) + ":" + process.env.PATH;
const env = { ...process.env, PATH, HOME: root, TERM: "xterm-256color", PAGER: "cat" };
const stdio = ["ignore", "pipe", "ignore"];
const bash = (script, cwd = root) => execFileSync("bash", ["-c", script], { cwd, env, stdio });

// Does what a page says, in the home of all of them.
const follow = (page) => {
  const fences = readFileSync(path.join(docs, page), "utf8").matchAll(/^(`{3,})console\n([^]*?)^\1\n/gm);
  const commands = [...fences].flatMap((f) => ("\n" + f[2]).split("\n$ ").slice(1)).map((part) => {
    const [first, ...rest] = part.split("\n");
    const end = rest.findIndex((line) => !/^>( |$)/.test(line));
    return [first, ...rest.slice(0, end < 0 ? rest.length : end).map((line) => line.replace(/^> ?/, ""))].join("\n");
  });
  bash(commands.join("\n") + "\ntrue");
};

// What a command prints on a terminal of 88 columns, as a page.
const terminal = (command, cwd) => {
  const printed = bash(`script -qec 'stty cols 88; ${command}' /dev/null || true`, cwd).toString();
  const text = printed.replace(/[&<]/g, (c) => ({ "&": "&amp;", "<": "&lt;" })[c]).replaceAll("\r", "");
  const body = text.replace(/\x1b\[([\d;]*)m/g, (_, codes) =>
    /^0?$/.test(codes) ? "</b>".repeat(9) : `<b class="${codes.split(";").map((c) => "c" + c).join(" ")}">`);
  return `<meta charset="utf-8"><style>
    :root { --bg: #fff; --fg: #24292f; --red: #c62828; --green: #2e7d32; --yellow: #9a6700;
      --cyan: #0969da; --grey: #6e7781 }
    @media (prefers-color-scheme: dark) { :root { --bg: #0d1117; --fg: #e6edf3; --red: #ff7b72; --green: #56d364;
      --yellow: #e3b341; --cyan: #79c0ff; --grey: #8b949e } }
    body { margin: 0; background: var(--bg); color: var(--fg) }
    pre { display: inline-block; margin: 0; padding: 16px 20px; font: 14px/1.45 "DejaVu Sans Mono", monospace }
    b { font-weight: normal } .c1 { font-weight: bold } .c31 { color: var(--red) } .c32 { color: var(--green) }
    .c33 { color: var(--yellow) } .c36 { color: var(--cyan) } .c90 { color: var(--grey) }
    .c7 { filter: invert(1) }</style><pre>$ ${command}\n${body.trimEnd()}</pre>`;
};

let browser, server;
try {
  for (const page of ["tutorial.md", "review.md", "papermill.md", "operator.md"]) follow(page);
  bash(`"${markmill}" convert last-sweep ../sweep.html`, path.join(root, "jobs"));
  writeFileSync(path.join(root, "terminal.html"), terminal("markmill show last", path.join(root, "hello")));
  bash(`"${markmill}" convert hello.out.md ../page.html`, path.join(root, "hello"));
  bash(`"${markmill}" review --judge --html ../review.html main...simpler || true`, path.join(root, "work"));
  const pages = {
    page: "file://" + path.join(root, "page.html"),
    review: "file://" + path.join(root, "review.html"),
    sweep: "file://" + path.join(root, "sweep.html"),
    terminal: "file://" + path.join(root, "terminal.html"),
  };

  server = spawn(markmill, ["serve", "--repo", path.join(root, "ops")], { env, stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((found) => server.stdout.on("data", (text) => {
    const said = /^Open (\S+)$/m.exec(text);
    if (said) found(said[1]);
  }));
  browser = await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
  const tab = await browser.newPage();
  await tab.setViewport({ width: 960, height: 760, deviceScaleFactor: 1.5 });
  await tab.goto(address);
  pages.checks = new URL("/checks", address).href;
  await tab.goto(new URL("/runs", address).href);
  pages.run = await tab.evaluate(() => document.querySelector('tbody a[href^="/runs/"]').href);
  for (const mode of ["light", "dark"]) {
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: mode }]);
    for (const [name, where] of Object.entries(pages)) {
      await tab.goto(where, { waitUntil: "load" });
      const part = name === "terminal" ? await tab.$("pre") : tab;
      await part.screenshot({ path: path.join(target, `${name}-${mode}.png`) });
    }
  }
} finally {
  await browser?.close();
  server?.kill();
  rmSync(root, { recursive: true, force: true });
}
