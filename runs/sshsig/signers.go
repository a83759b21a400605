package sshsig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// AllowedSigners are the lines of an allowed_signers file: which key counts for whom and for what.
type AllowedSigners struct {
	entries []entry
	// Unread says which lines cannot be read, and why. They allow nobody.
	Unread []string
}

// entry is one line.
type entry struct {
	line          int
	principals    string // patterns, with commas
	key           ssh.PublicKey
	authority     bool   // the key signs certificates, and counts for no signature of its own
	namespaces    string // patterns, with commas; "" is any
	after, before time.Time
}

// ParseAllowedSigners reads the file. Local is the zone of times that name none.
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
	var e entry
	principals, rest, ok := field(line)
	if !ok || principals == "" {
		return e, errors.New("principals and a key were expected")
	}
	e.principals = principals
	key, err := parseKey(rest)
	if err != nil { // options stand before the key
		options, after := cutOptions(rest)
		if options == "" {
			return e, err
		}
		if key, err = parseKey(after); err != nil {
			return e, err
		}
		if err = e.options(options, local); err != nil {
			return e, err
		}
	}
	e.key = key
	return e, nil
}

// field cuts the first word of a line, which may stand in double quotes.
func field(line string) (word, rest string, ok bool) {
	if quoted, is := strings.CutPrefix(line, `"`); is {
		word, rest, ok = strings.Cut(quoted, `"`)
	} else if i := strings.IndexAny(line, " \t"); i >= 0 {
		word, rest, ok = line[:i], line[i:], true
	}
	return word, strings.TrimLeft(rest, " \t"), ok
}

// parseKey reads "type base64 comment". The type must be the one that is in the base64.
func parseKey(text string) (ssh.PublicKey, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil, errors.New("no key is there")
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(words[0] + " " + words[1]))
	if err != nil || len(options) > 0 || key.Type() != words[0] {
		return nil, errors.New("the key cannot be read")
	}
	return key, nil
}

// cutOptions ends at the first white space outside double quotes.
func cutOptions(text string) (options, rest string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && (text[i] == ' ' || text[i] == '\t'):
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return "", text
}

// options reads what stands between principals and key. As with ssh-keygen, an unknown one makes
// the line worthless: it may have been a restriction.
func (e *entry) options(text string, local *time.Location) error {
	seen := map[string]bool{}
	for text != "" {
		i := strings.IndexAny(text, ",=")
		name, value := text, ""
		if i >= 0 {
			name = text[:i]
		}
		rest := text[len(name):]
		if after, ok := strings.CutPrefix(rest, `="`); ok {
			if value, rest, ok = unquote(after); !ok {
				return fmt.Errorf("the value of %s has no end", name)
			}
		}
		name = strings.ToLower(name)
		if seen[name] {
			return fmt.Errorf("%s stands twice", name)
		}
		seen[name] = true
		var err error
		switch {
		case name == "cert-authority" && value == "":
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
		if rest != "" && (rest[0] != ',' || rest == ",") {
			return errors.New("options are not parted by commas")
		}
		text = strings.TrimPrefix(rest, ",")
	}
	if !e.after.IsZero() && !e.before.IsZero() && !e.before.After(e.after) {
		return errors.New("valid-before is not after valid-after")
	}
	return nil
}

// unquote reads up to the closing quote; \" is a quote.
func unquote(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
			b.WriteByte('"')
		case text[i] == '"':
			return b.String(), text[i+1:], true
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", false
}

// parseTime reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS; Z at the end is UTC.
func parseTime(text string, local *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		local = time.UTC
	}
	layout, ok := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	if !ok {
		return time.Time{}, fmt.Errorf("%q is no time such as 20261121 or 20261121103000Z", text)
	}
	t, err := time.ParseInLocation(layout, digits, local)
	if err != nil {
		return t, fmt.Errorf("%q is no time such as 20261121 or 20261121103000Z", text)
	}
	return t, nil
}

// Find says who signs with a key for a namespace at all of the times: the principals of the line
// that allows it. The error says why no line does.
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

// refuses says why a line does not allow its key, "" when it does.
func (e *entry) refuses(namespace string, at []time.Time) string {
	if e.authority {
		return "is a certificate authority"
	}
	if e.namespaces != "" && !MatchList(e.namespaces, namespace) {
		return "does not count for " + namespace
	}
	for _, t := range at {
		if !e.after.IsZero() && t.Before(e.after) {
			return "did not count yet on " + t.UTC().Format(time.RFC3339)
		}
		if !e.before.IsZero() && t.After(e.before) {
			return "did not count any more on " + t.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// MatchList says whether a word matches a list of patterns with commas: * and ? stand for any
// characters, and a pattern that begins with ! and matches speaks against all others.
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

// match goes back to the last star only, so that its time is bounded by the product of the lengths.
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
