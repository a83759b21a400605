// Package launch is how a command makes a run: the options of a run, its plan, the files and the progress that people
// follow, and what is said and left when it ends; and how a sweep or attempts are made of such runs, here or as jobs
// of a queue. run, resume, bisect, verify, review and the queue begin their runs with it.
//
// All settings are checked before the first step. It imports no command.
package launch
