// Package listing says which names of a folder count that a step listed.
//
// A program that lists a folder does not care for every name in it: pytest looks for Python's files, a shell for what
// matches its globs. A name that nobody looked for makes no result outdated when it comes or goes.
//
// It owns the table of families (what belongs to Python, Node and Go), the names that tools look for beside the files
// that they read, and the table of commands. What always holds: where it is not known who listed a folder, every name
// counts. Notebooks and what runs leave of them never count as names.
//
// It imports notebooks and the readers of its forms, and nothing of the engine.
package listing
