package rules

import "strings"

// wildmatch matches a slash-separated path as Git does (its wildmatch.c with WM_PATHNAME): "*" and
// "?" stop at a slash, "**" between slashes crosses them. fold ignores the case of ASCII letters.
func wildmatch(pattern, text string, fold bool) bool {
	m := matcher{fold: fold, budget: 1 << 20}
	return m.match(pattern, text)
}

type matcher struct {
	fold   bool
	budget int // steps left: a hostile pattern must not hang the walk
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func (m *matcher) match(p, t string) bool {
	start := true // p begins the pattern or follows a slash
	for len(p) > 0 {
		if m.budget--; m.budget < 0 {
			return false
		}
		c := p[0]
		switch c {
		case '*':
			n := 1
			for n < len(p) && p[n] == '*' {
				n++
			}
			rest := p[n:]
			if n >= 2 && start && (rest == "" || rest[0] == '/') {
				return m.deep(rest, t)
			}
			return m.star(rest, t)
		case '?':
			if t == "" || t[0] == '/' {
				return false
			}
			p, t = p[1:], t[1:]
		case '[':
			if t == "" || t[0] == '/' {
				return false
			}
			hit, n := m.class(p, t[0])
			if n == 0 || !hit { // an open bracket without its end matches nothing
				return false
			}
			p, t = p[n:], t[1:]
		default:
			if c == '\\' && len(p) > 1 {
				p = p[1:]
				c = p[0]
			}
			if t == "" || !m.same(c, t[0]) {
				return false
			}
			start = c == '/'
			p, t = p[1:], t[1:]
			continue
		}
		start = false
	}
	return t == ""
}

// deep matches "**" that stands between slashes: any number of whole folders.
func (m *matcher) deep(rest, t string) bool {
	if rest == "" {
		return true
	}
	rest = rest[1:] // the slash
	for {
		if m.match(rest, t) {
			return true
		}
		i := strings.IndexByte(t, '/')
		if i < 0 {
			return false
		}
		t = t[i+1:]
	}
}

// star matches one "*": anything up to a slash.
func (m *matcher) star(rest, t string) bool {
	if rest == "" {
		return !strings.Contains(t, "/")
	}
	for {
		if m.match(rest, t) {
			return true
		}
		if t == "" || t[0] == '/' {
			return false
		}
		t = t[1:]
	}
}

func (m *matcher) same(a, b byte) bool {
	return a == b || m.fold && lower(a) == lower(b)
}

// class matches a bracket expression at the start of p; n is its length, 0 when it has no end.
func (m *matcher) class(p string, c byte) (hit bool, n int) {
	i := 1
	negate := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negate {
		i++
	}
	other := c // the same letter in the other case
	if l := lower(c); m.fold && 'a' <= l && l <= 'z' {
		other = c ^ ('a' - 'A')
	}
	in := func(lo, hi byte) { hit = hit || lo <= c && c <= hi || lo <= other && other <= hi }
	for first := true; ; first = false {
		if i >= len(p) {
			return false, 0
		}
		if p[i] == ']' && !first {
			return hit != negate, i + 1
		}
		if strings.HasPrefix(p[i:], "[:") {
			if end := strings.Index(p[i+2:], ":]"); end >= 0 {
				if !named(p[i+2:i+2+end], in) {
					return false, 0
				}
				i += end + 4
				continue
			}
		}
		lo := p[i]
		if lo == '\\' && i+1 < len(p) {
			i++
			lo = p[i]
		}
		i++
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			hi = p[i]
			if hi == '\\' && i+1 < len(p) {
				i++
				hi = p[i]
			}
			i++
		}
		in(lo, hi)
	}
}

// named adds the ranges of a POSIX class; ok is false for an unknown one.
func named(name string, in func(lo, hi byte)) (ok bool) {
	ranges, ok := map[string]string{
		"alnum": "azAZ09", "alpha": "azAZ", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09",
		"graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "  \t\r", "upper": "AZ",
		"xdigit": "09afAF",
	}[name]
	for i := 0; i+1 < len(ranges); i += 2 {
		in(ranges[i], ranges[i+1])
	}
	return ok
}
