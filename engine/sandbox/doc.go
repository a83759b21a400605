// Package sandbox holds what a step may write, read, reach and use, where the system can.
//
// It owns the table of build tools' caches, the filter of system calls (seccomp), the decision which part of a wish
// the system can do, and the two ways to enforce it: Spec.Confine takes rights from the thread that starts an
// interpreter (Landlock, capabilities, the filter, an IPC namespace, a session keyring); what needs a process of its
// own (mounts, namespaces, limits) is done by the helper, the program itself under the name HelperName, which is put
// before an interpreter's arguments and becomes the interpreter.
//
// What always holds: a helper that cannot do all that its Spec says starts nothing; Decide says in words what is not
// enforced; a folder is never granted through a link that a step could have made; a thread gets the filter last,
// because afterwards it may change no other process.
//
// It may import notebooks and runs, and nothing else of this module.
package sandbox
