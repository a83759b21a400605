// Package jupyter talks to a Jupyter kernel: it finds kernelspecs, writes connection files, and
// speaks the messaging protocol 5.x over ZeroMQ.
//
// It owns the wire (ZMTP 3.0, the client's half: https://rfc.zeromq.org/spec/23), the signed messages
// (https://jupyter-client.readthedocs.io/en/stable/messaging.html) and their order: what a request
// makes the kernel print has been handed over when Execute returns. It starts no process and ends
// none; the package above does.
//
// What always holds: a message whose signature does not fit is dropped as if it had not come; a
// kernel that goes away ends every wait at once; memory is bounded by the largest message.
//
// The client's half of ZMTP is written here and not taken from a library: Go's libraries
// hide a lost peer behind a reconnect and an unbounded queue, and both must be visible here.
//
// It imports nothing of this module but notebooks/codec.
package jupyter
