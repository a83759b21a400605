package keys

import (
	"bytes"
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
)

const (
	// least is the length, in bytes, of the shortest token.
	least = 20
	// mostToken and mostKey bound the tokens and private keys that are found whole.
	mostToken = 2 << 10
	mostKey   = 16 << 10
	// longestBegin is the length of the longest first line of a private key.
	longestBegin = 66
	// leastKey is how many characters of base64 a private key has.
	leastKey = 40
	// leastVaried is how many different characters a token has after its prefix; an example has fewer.
	leastVaried = 8
)

// Found is a key in a text.
type Found struct {
	Start, End int
	Words      string // what it is, such as "private key" or "GitHub token"
}

// word reports which bytes are those of a token.
var word = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			c == '_' || c == '-' || c == '.'
	}
	return set
}()

var begin = []byte("-----BEGIN ")

var (
	// key is the first line of a private key; its beginnings are those of begins.
	key = lazyregexp.New(`^-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY( BLOCK)?-----`)
	// content is a line of one: base64 or a header, in quotes or behind the marks of a diff or a comment.
	content = lazyregexp.New(`^[^A-Za-z0-9\n]{0,12}([A-Za-z0-9+/=]{0,200}|[A-Za-z-]{4,20}: .*)` +
		`[^A-Za-z0-9]{0,12}n?[^A-Za-z0-9]{0,12}$`)
)

// Find returns the keys in a text.
func Find(b []byte) []Found {
	found, _ := find(b, '\n', true)
	return found
}

// find returns the keys in b, which follows the byte before, and up to where that is decided: with final all of b, and
// otherwise before what more bytes may complete.
func find(b []byte, before byte, final bool) (found []Found, decided int) {
	keyAt := nextKey(b, 0, final)
	for at := 0; ; {
		tokenAt := nextToken(b, at, before, final)
		start := min(keyAt, tokenAt)
		if start == len(b) {
			return found, len(b)
		}
		var f Found
		var waits bool
		if start == keyAt {
			f, waits = privateKey(b, start, final)
		} else {
			f, waits = token(b, start, final)
		}
		if waits {
			for start != keyAt && start > 0 && word[b[start-1]] { // it is found by what is before its word
				start--
			}
			return found, start
		}
		if f.End > start {
			found, at = append(found, f), f.End
		} else {
			at = start + 1
		}
		if keyAt < at {
			keyAt = nextKey(b, at, final)
		}
	}
}

// nextKey returns where the next first line of a private key begins, or may begin, from at on; len(b) if nowhere.
func nextKey(b []byte, at int, final bool) int {
	for {
		i := bytes.Index(b[at:], []byte("PRIVATE KEY"))
		if i < 0 {
			break
		}
		line := at + bytes.LastIndexByte(b[at:at+i], '\n') + 1
		if j := bytes.LastIndex(b[line:at+i], begin); j >= 0 {
			return line + j
		}
		at += i + 1
	}
	for i := max(at, len(b)-longestBegin); i < len(b) && !final; i++ {
		if b[i] == '-' && begins(b[i:]) {
			return i
		}
	}
	return len(b)
}

// begins reports whether the first line of a private key may begin with b, which is short.
func begins(b []byte) bool {
	if len(b) < len(begin) {
		return bytes.HasPrefix(begin, b)
	}
	return bytes.HasPrefix(b, begin) && len(bytes.Trim(b[len(begin):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -")) == 0
}

// privateKey reads the private key that begins at start: lines of base64 and headers up to one that ends it. waits says
// that more bytes are needed.
func privateKey(b []byte, start int, final bool) (f Found, waits bool) {
	text := b[start:min(len(b), start+mostKey)]
	final = final || len(text) == mostKey
	line := key.FindIndex(text)
	if line == nil {
		return f, !final && len(text) < longestBegin && begins(text)
	}
	first := line[1]
	size, end := 0, first
	for at := end; ; {
		n := bytes.IndexByte(text[at:], '\n')
		next := at + n + 1
		if n < 0 {
			if !final {
				return f, true
			}
			next = len(text)
		}
		row := bytes.TrimRight(text[at:next], "\r\n")
		if i := bytes.Index(row, []byte("-----END ")); i >= 0 {
			end = at + i
			if j := bytes.Index(text[end+9:at+len(row)], []byte("-----")); j >= 0 {
				end += 9 + j + 5
			} else {
				end = at + len(row)
			}
			size += i
			break
		}
		if at > first && !content.Match(row) || at == first && len(row) > 12 {
			break
		}
		size += len(row)
		if end, at = at+len(row), next; at == len(text) && !final {
			return f, true
		} else if at == len(text) {
			break
		}
	}
	if size < leastKey {
		return f, false
	}
	return Found{start, start + end, PrivateKey}, false
}

// nextToken returns where the next word begins that may be a token, from at on; len(b) if nowhere. It looks at the last
// byte that a token there would have, and back, so that it skips most of a text.
func nextToken(b []byte, at int, before byte, final bool) int {
	for at < len(b) {
		if at > 0 {
			before = b[at-1]
		}
		i := at + least - 1
		if i >= len(b) && final {
			return len(b)
		}
		for i = min(i, len(b)-1); i >= at && word[b[i]]; i-- {
		}
		if i >= at {
			at = i + 1
			continue
		}
		end := min(at+least, len(b))
		for end < len(b) && word[b[end]] {
			end++
		}
		if word[before] { // within a word
			at = end
			continue
		}
		if before == '\\' && end == at+1 && end == len(b) && !final {
			return at
		}
		for _, start := range []int{at, at + 1} {
			if start > at && before != '\\' { // as in the text \nTOKEN
				break
			}
			if slices.ContainsFunc(first[b[min(start, len(b)-1)]], func(f *form) bool {
				return start < len(b) && (bytes.HasPrefix(b[start:end], []byte(f.prefix)) ||
					end == len(b) && !final && strings.HasPrefix(f.prefix, string(b[start:end])))
			}) {
				return start
			}
		}
		at = end
	}
	return len(b)
}

// token reads the token that begins at start.
func token(b []byte, start int, final bool) (f Found, waits bool) {
	end := start
	for end < len(b) && end < start+mostToken && word[b[end]] {
		end++
	}
	if end == len(b) && !final && end < start+mostToken {
		return f, true
	}
	text := b[start:end]
	for _, form := range first[b[start]] {
		at := form.whole.FindIndex(text)
		if at == nil || at[1] < len(text) && text[at[1]] != '.' {
			continue
		}
		if rest := text[len(form.prefix):at[1]]; varied(rest) && !bytes.HasSuffix(rest, []byte("EXAMPLE")) {
			return Found{start, start + at[1], form.words}, false
		}
	}
	return f, false
}

func varied(b []byte) bool {
	seen, n := [256]bool{}, 0
	for _, c := range b {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n >= leastVaried
}
