package sshsig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// AllowedSigners is an allowed_signers file: whose key is trusted for what.
type AllowedSigners struct {
	entries []entry
	// Unread lists the unreadable lines and why. They allow nobody.
	Unread []string
}

// entry is one line.
type entry struct {
	line          int
	principals    string // patterns, with commas
	key           ssh.PublicKey
	authority     bool   // the key signs certificates, and its own signatures do not count
	namespaces    string // patterns, with commas; "" is any
	after, before time.Time
}

// ParseAllowedSigners reads the file. local is the time zone of times without a Z.
func ParseAllowedSigners(text []byte, local *time.Location) *AllowedSigners {
	a := &AllowedSigners{}
	for i, line := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseEntry(line, local)
		if err != nil {
			a.Unread = append(a.Unread, fmt.Sprintf("line %d: %v", i+1, err))
			continue
		}
		e.line = i + 1
		a.entries = append(a.entries, e)
	}
	return a
}

func parseEntry(line string, local *time.Location) (entry, error) {
	principals, rest, ok := field(line)
	if !ok || principals == "" {
		return entry{}, errors.New("principals and a key were expected")
	}
	e := entry{principals: principals}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return e, errors.New("the key cannot be read")
	}
	e.key = key
	// ssh.ParseAuthorizedKey skips empty options, which ssh-keygen refuses.
	if text := strings.Join(options, ","); text != "" && strings.TrimRight(rest[:len(text)+1], " \t") != text {
		return e, errors.New("options are not separated by commas")
	}
	return e, e.options(options, local)
}

// field splits off the first word of a line, which may be in double quotes.
func field(line string) (word, rest string, ok bool) {
	if quoted, is := strings.CutPrefix(line, `"`); is {
		word, rest, ok = strings.Cut(quoted, `"`)
	} else if i := strings.IndexAny(line, " \t"); i >= 0 {
		word, rest, ok = line[:i], line[i:], true
	}
	return word, strings.TrimLeft(rest, " \t"), ok
}

// options parses the options between principals and key. As in ssh-keygen, an unknown option invalidates the line: it
// may be a restriction.
func (e *entry) options(options []string, local *time.Location) error {
	seen := map[string]bool{}
	for _, option := range options {
		name, quoted, _ := strings.Cut(option, "=")
		value, err := unquote(quoted)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		name = strings.ToLower(name)
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		switch {
		case name == "cert-authority" && quoted == "":
			e.authority = true
		case name == "namespaces" && value != "":
			e.namespaces = value
		case name == "valid-after":
			e.after, err = parseTime(value, local)
		case name == "valid-before":
			e.before, err = parseTime(value, local)
		default:
			return fmt.Errorf("unknown option %q", name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if !e.after.IsZero() && !e.before.IsZero() && !e.before.After(e.after) {
		return errors.New("valid-before is not after valid-after")
	}
	return nil
}

// unquote reads a value in double quotes, in which \" is a quote.
func unquote(quoted string) (string, error) {
	if quoted == "" {
		return "", nil
	}
	inside, opened := strings.CutPrefix(quoted, `"`)
	inside, closed := strings.CutSuffix(inside, `"`)
	parts := strings.Split(inside, `\"`)
	if !opened || !closed || strings.Contains(strings.Join(parts, ""), `"`) {
		return "", errors.New("the value is not in double quotes")
	}
	return strings.Join(parts, `"`), nil
}

// parseTime reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS; Z at the end is UTC.
func parseTime(text string, local *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		local = time.UTC
	}
	layout := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	t, err := time.ParseInLocation(layout, digits, local)
	if layout == "" || err != nil {
		return t, fmt.Errorf("%q is no time such as 20261121 or 20261121103000Z", text)
	}
	return t, nil
}

// Find returns the principals of the line that allows key for namespace at all of the times. The error says why no line
// does.
func (a *AllowedSigners) Find(key ssh.PublicKey, namespace string, at ...time.Time) (principals string, err error) {
	err = fmt.Errorf("the key %s is not among the allowed signers", ssh.FingerprintSHA256(key))
	if len(a.Unread) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(a.Unread, "; "))
	}
	for _, e := range a.entries {
		if !bytes.Equal(e.key.Marshal(), key.Marshal()) {
			continue
		}
		if words := e.refuses(namespace, at); words != "" {
			err = fmt.Errorf("the key %s of %s (line %d) %s", ssh.FingerprintSHA256(key), e.principals, e.line, words)
			continue
		}
		return e.principals, nil
	}
	return "", err
}

// refuses returns why a line does not allow its key, or "".
func (e *entry) refuses(namespace string, at []time.Time) string {
	if e.authority {
		return "is a certificate authority"
	}
	if e.namespaces != "" && !MatchList(e.namespaces, namespace) {
		return "is not valid for " + namespace
	}
	for _, t := range at {
		if !e.after.IsZero() && t.Before(e.after) {
			return "was not valid yet on " + t.UTC().Format(time.RFC3339)
		}
		if !e.before.IsZero() && t.After(e.before) {
			return "was no longer valid on " + t.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// MatchList reports whether a word matches a comma-separated list of patterns with * and ?. A pattern that begins with
// ! and matches makes the whole list not match.
func MatchList(patterns, word string) bool {
	found := false
	for _, p := range strings.Split(patterns, ",") {
		p, not := strings.CutPrefix(p, "!")
		if !match(p, word) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found
}

// match backtracks to the last star only, so that its time is bounded by the product of the lengths.
func match(pattern, word string) bool {
	p, w, star, mark := 0, 0, -1, 0
	for w < len(word) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, w
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == word[w]):
			p++
			w++
		case star >= 0:
			mark++
			p, w = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
