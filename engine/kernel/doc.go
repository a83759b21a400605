// Package kernel drives live interpreters: one session per language and run, kept from step to step.
//
// It owns the Kernel and Session contract, the table of kernels, their drivers, and the commands glue and scrap. A
// kernel's contract is written on the interface; the conformance suite runs against every row of the table.
//
// Invariants: values reach an interpreter through a side channel, never as source text; all output of a step has been
// handed over when Run returns; no process of a step outlives the session.
//
// # How a session is driven
//
// A session starts its interpreter once, in its own process group, with an empty standard input and no terminal. A
// driver talks to it: over two named pipes with a script of ours that runs in the interpreter (conversation), or by
// Jupyter's protocol (jupyterDriver). The author's streams are two more pipes, and nothing is ever looked for in them.
// When the interpreter reports a step as done, all that the step printed is in the pipes, and the engine reads them
// until they are empty. What processes that the step left print later is the output of the step that runs then, or of
// the next one.
//
// Such processes live until the session is closed, unless Options.EndWithStep is set; then they get a term, and a kill
// after Options.Grace. Processes that a cut-off step started end with it. Package process finds and ends them.
//
// # What a value is on the other side
//
// Python and Node get the wire form of notebooks.Value. In Python a date is a datetime.date or datetime.datetime, a
// duration a datetime.timedelta, bytes are bytes, an integer has any size, a map is a dict with keys of their own
// type, and a path is a str, because notebooks join and format paths as text. In Node an integer beyond 2^53 is a
// BigInt, a date and a path are strings, a duration is a number of seconds, bytes are a Buffer, and a map whose keys
// are not all strings is a Map. A shell has text: null is empty; a list and a map are arrays in bash and zsh, with
// nested ones as JSON, and JSON in sh; bytes are themselves. A command gets the environment variables
// MARKMILL_PARAM_<name> and the JSON file that MARKMILL_PARAMS names.
//
// # Scraps
//
// A scrap is one line of Options.Scraps, written at once: runs.ScrapData. What JSON cannot hold inside a json scrap is
// written in the wire form ({"$float":"nan"}, {"$int":"…"}); a plain object stands for a map with string keys, unless
// one begins with "$". A table is {"columns":[…],"data":[[…],…]}. A picture or a file is copied into Request.DisplayDir
// (for the command glue: MARKMILL_STEP_DIR) as scrap-<name>.<ext>, and the line has its absolute path.
//
// # When a step ends
//
// A shell step ends with its last command; its exit code is that command's. If it ends the shell (exit, a failing
// command when strict, an unset variable under -u), a new shell gets the state of the old one: variables, functions,
// options, aliases, folder and traps. Outcome.Lost says what could not be restored; the author's trap on EXIT waits
// for the end of the session. A Python step ends with its last statement; sys.exit ends the step alone. A Node step
// ends when its promise has settled and nothing of its own is pending that would keep "node script.js" alive; a server
// that listens does not count and lives on.
//
// It may import notebooks, runs and engine/process, and nothing else of this module.
package kernel
