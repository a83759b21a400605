// Package jupyter talks to a Jupyter kernel: it finds kernelspecs, writes connection files, and
// speaks the messaging protocol 5.x over ZeroMQ.
//
// It owns the wire (ZMTP 3.0, the client's half: https://rfc.zeromq.org/spec/23), the signed messages
// (https://jupyter-client.readthedocs.io/en/stable/messaging.html) and their order: what a request makes the kernel
// print has been handed over when Execute returns. It starts no process and ends none; the package above does.
//
// Invariants: a message with an invalid signature is dropped; a kernel that goes away ends every wait at once; memory
// is bounded by the largest message.
//
// This package implements the client half of ZMTP itself: Go's libraries hide a lost peer behind reconnects and an
// unbounded queue, and both must be visible here.
//
// It imports nothing of this module but notebooks/codec.
package jupyter
