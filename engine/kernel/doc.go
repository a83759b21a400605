// Package kernel drives live interpreters: one session a language and run, kept from step to step.
//
// It owns the Kernel and Session contract, the table of kernels, and the ending of processes. A
// kernel's contract is written on the interface; the conformance suite runs against every row of
// the table.
//
// What always holds: values reach an interpreter by a side channel and never as source text; all
// output of a step has been handed over when Run returns; no process of a step outlives it.
//
// It may import notebooks and runs, and nothing else of this module.
package kernel
