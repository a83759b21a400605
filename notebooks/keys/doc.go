// Package keys finds private keys and access tokens that nobody declared as secrets, by their forms.
//
// It owns the table of forms (forms.go), the search in texts and streams (find.go, stream.go), and the words that stand
// in their place. It guards against accidents: a key in a form that the table lacks is not found.
//
// What always holds: what a stream becomes does not depend on how it was cut, and a key leaves nothing but its words.
//
// It imports nothing of this module but lazyregexp.
package keys
