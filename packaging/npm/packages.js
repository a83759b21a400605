// Writes the packages for npm: one with the launcher, and one for each platform with the program.
//
//	node packages.js FOLDER               all of them
//	node packages.js FOLDER linux-x64     the launcher, and those that are named
"use strict";
const { execFileSync } = require("node:child_process");
const { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { join, resolve, sep } = require("node:path");

const root = resolve(__dirname, "../..");
const platforms = {}; // Node's name: Go's
for (const [os, goos] of [["linux", "linux"], ["darwin", "darwin"], ["win32", "windows"]])
  for (const [cpu, goarch] of [["x64", "amd64"], ["arm64", "arm64"]]) platforms[`${os}-${cpu}`] = [goos, goarch];

const version = /^const Release = "([^"]+)"$/m.exec(readFileSync(join(root, "cmd/internal/program/version.go"), "utf8"))[1];
const about = {
  version,
  description: "Runs Markdown and Jupyter notebooks against a Git worktree and keeps the proof",
  license: "Apache-2.0",
};

function write(folder, about, ...files) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(about, null, 2) + "\n");
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  for (const file of files) copyFileSync(join(__dirname, file), join(folder, file));
}

const [out, ...named] = process.argv.slice(2);
const unknown = named.filter((name) => !platforms[name]);
if (!out || unknown.length) {
  console.error(`usage: node packages.js FOLDER [${Object.keys(platforms).join("|")}]...`);
  process.exit(2);
}
const optionalDependencies = Object.fromEntries(Object.keys(platforms).map((name) => [`@markmill/${name}`, version]));
const engines = { node: ">=18" };
const launcher = { name: "markmill", ...about, bin: { markmill: "markmill.js" }, engines, optionalDependencies };
write(join(out, "markmill"), launcher, "markmill.js");
for (const name of named.length ? named : Object.keys(platforms)) {
  const [os, cpu] = name.split("-");
  const [GOOS, GOARCH] = platforms[name];
  const folder = resolve(out, name);
  write(folder, { name: `@markmill/${name}`, ...about, os: [os], cpu: [cpu] });
  const programs = ["markmill", "markmill-server"]; // markmill starts the other
  const env = { GOFLAGS: "-trimpath", ...process.env, GOOS, GOARCH, CGO_ENABLED: "0" };
  const build = ["build", "-ldflags=-s -w", "-o", folder + sep, ...programs.map((name) => `./cmd/${name}`)];
  execFileSync("go", build, { cwd: root, env, stdio: "inherit" });
  for (const program of programs) chmodSync(join(folder, GOOS === "windows" ? `${program}.exe` : program), 0o755);
}
