package keys

import (
	"bytes"
	"encoding/binary"
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

// marked reports whether b has a byte, or the text, that every key has within its first least bytes (a test looks at
// each form): much output has none, and these searches are faster than any that looks at words.
func marked(b []byte) bool {
	for _, c := range []byte("-._I") {
		if bytes.IndexByte(b, c) >= 0 {
			return true
		}
	}
	return bytes.Contains(b, []byte("dapi"))
}

const ones, high = 0x0101010101010101, 0x8080808080808080 // of eight bytes each: 1, its highest bit

// separated reports whether one of eight bytes is of no word.
func separated(w uint64) bool {
	if (w-'-'*ones)&^w&high != 0 { // below the first: most often a space
		return true
	}
	low := w | 0x20*ones // as small letters; _ becomes 0x7f
	return (w|(w+(0x80-'/')*ones)&^(w+(0x80-'0')*ones)|
		(w+(0x80-':')*ones)&^(w+(0x80-'A')*ones)|
		(low+(0x80-'`')*ones)&^(low+(0x80-'a')*ones)|
		(low+(0x80-'{')*ones)&^(low+ones)|
		(w+ones))&high != 0
}

// wordEnd returns where the word ends that goes on at i.
func wordEnd(b []byte, i int) int {
	for i+8 <= len(b) && !separated(binary.LittleEndian.Uint64(b[i:])) {
		i += 8
	}
	for i < len(b) && word[b[i]] {
		i++
	}
	return i
}

// Find returns the keys in a text.
func Find(b []byte) []Found {
	found, _ := find(b, '\n', true)
	return found
}

// find returns the keys in b, which follows the byte before, and up to where that is decided: with final all of b, and
// otherwise before what more bytes may complete.
func find(b []byte, before byte, final bool) (found []Found, decided int) {
	from, keyAt := 0, len(b)
	if !marked(b) {
		from = max(0, len(b)-least) // a token that is cut off before its mark
	} else {
		keyAt = nextKey(b, 0, final)
	}
	for at := from; ; {
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

// nextToken returns where the next word begins that may be a token, from at on; len(b) if nowhere.
func nextToken(b []byte, at int, before byte, final bool) int {
	for at < len(b) {
		i := at
		for i+8 <= len(b) && separated(binary.LittleEndian.Uint64(b[i:])) {
			i += least - 7 // the least step that cannot miss a word of that length
		}
		start := min(i, len(b))
		end := start
		if i+8 <= len(b) {
			end += 8
		}
		end = wordEnd(b, end)
		for start > at && word[b[start-1]] {
			start--
		}
		if short := end-start < least && (end < len(b) || final); short || end == start {
			at = end + 1
			continue
		}
		if start > 0 {
			before = b[start-1]
		}
		if at = end; word[before] { // within a word
			continue
		}
		if before == '\\' && end == start+1 && end == len(b) && !final {
			return start
		}
		for _, begin := range []int{start, start + 1} {
			if begin > start && before != '\\' { // as in the text \nTOKEN
				break
			}
			if slices.ContainsFunc(first[b[min(begin, len(b)-1)]], func(f *form) bool {
				return begin < len(b) && (bytes.HasPrefix(b[begin:end], []byte(f.prefix)) ||
					end == len(b) && !final && strings.HasPrefix(f.prefix, string(b[begin:end])))
			}) {
				return begin
			}
		}
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
