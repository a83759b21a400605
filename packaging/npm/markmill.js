#!/usr/bin/env node
// Runs the program, which the package of this platform carries.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
let program = process.env.MARKMILL_PROGRAM;
if (!program) {
  try {
    program = require.resolve(`@markmill/${platform}/${process.platform === "win32" ? "markmill.exe" : "markmill"}`);
  } catch {
    console.error(
      `markmill: the package @markmill/${platform} is not installed: the platform is none of ` +
        `${Object.keys(require("./package.json").optionalDependencies).join(", ")}, or npm left out optional packages`,
    );
    process.exit(2);
  }
}
// Newer releases of Node become the program, so that there is nobody to pass signals on.
if (process.execve && process.platform !== "win32") {
  process.removeAllListeners("warning"); // that execve is experimental
  process.execve(program, [program, ...process.argv.slice(2)], process.env);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the program from the terminal. Other signals are passed on: it gets those to the group twice, and ends
// at once. This process waits for its exit code.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`markmill: ${program} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
