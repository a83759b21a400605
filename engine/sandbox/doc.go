// Package sandbox limits what a step may write, read, reach and use, as far as the system can.
//
// It owns the table of build tools' caches, the filter of system calls (seccomp), the decision which parts of a wish
// the system can enforce, and the two ways to enforce it: Spec.Confine takes rights from the thread that starts an
// interpreter (Landlock, capabilities, the filter, an IPC namespace, a session keyring); what needs its own process
// (mounts, namespaces, limits) is done by the helper, the same program under the name HelperName, which is put before
// an interpreter's arguments and becomes the interpreter.
//
// Invariants: a helper that cannot do everything in its Spec starts nothing; Decide lists what is not enforced; a
// folder is never granted through a link that a step could have created; a thread installs the filter last, because
// afterwards it cannot change other processes.
//
// It may import notebooks and runs, and nothing else of this module.
package sandbox
