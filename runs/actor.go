package runs

import "strings"

// via stands between a person and the account of the system that acted for them. No user of a system is named so.
const via = " via "

// Via is the actor of what an account of the system did for a person who signed in elsewhere (markmill serve). It says
// both, so that it is never the name of an account.
func Via(person, account string) string { return person + via + account }

// SplitActor returns the person and the account of an actor. Without an account in it, the actor is an account itself.
func SplitActor(actor string) (person, account string) {
	if person, account, found := strings.Cut(actor, via); found {
		return person, account
	}
	return "", actor
}

// maxPerson is the longest name of a person, in bytes.
const maxPerson = 64

// IsPerson reports whether a text can name a person: letters and digits of ASCII, and . _ - + @ behind the first.
func IsPerson(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte("._-+@", c) >= 0:
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxPerson
}
