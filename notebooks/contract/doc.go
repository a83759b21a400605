// Package contract compares what two versions of a notebook, a manifest or a policy allow.
//
// It owns the terms that are compared (Terms) and the words for a term that now allows more (Wider).
//
// What always holds: where it cannot tell that a pattern allows no more than those before it, it says that it does. A
// term that allows less is never reported.
//
// It imports notebooks, and nothing else of this module.
package contract
