package safe

import (
	"sort"
	"strings"

	"markmill/runs"
)

// Names replaces this machine's paths by names.
type Names []runs.PathName

// NewNames adds the spellings that Windows tools print: with slashes, and with doubled backslashes as in JSON and
// source text. Longer paths come first, so that a worktree inside the home directory is named as the worktree.
func NewNames(paths []runs.PathName) Names {
	var out Names
	for _, p := range paths {
		if len(p.Path) < 2 { // "/" would be everywhere
			continue
		}
		out = append(out, p)
		if strings.Contains(p.Path, `\`) {
			out = append(out,
				runs.PathName{Path: strings.ReplaceAll(p.Path, `\`, `/`), Name: p.Name},
				runs.PathName{Path: strings.ReplaceAll(p.Path, `\`, `\\`), Name: p.Name})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Path) > len(out[j].Path) })
	return out
}

// Replace returns s with every whole path replaced by its name.
func (p Names) Replace(s string) string {
	for _, n := range p {
		if !strings.Contains(s, n.Path) {
			continue
		}
		var b strings.Builder
		from := 0
		for at := 0; ; {
			i := strings.Index(s[at:], n.Path)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(n.Path)
			if startsPath(s[:start]) && endsPath(s[end:]) {
				b.WriteString(s[from:start])
				b.WriteString(n.Name)
				from = end
			}
			at = end
		}
		b.WriteString(s[from:])
		s = b.String()
	}
	return s
}

// startsPath reports whether a path can begin after before: "/tmp" does in "-I/tmp" and "file:///tmp", but not in
// "/var/tmp" or "a/b/tmp".
func startsPath(before string) bool {
	i := len(before)
	for i > 0 && pathByte(before[i-1]) {
		i--
	}
	return i == len(before) || i == 0 || before[i-1] != '/' && before[i-1] != '\\'
}

// endsPath reports whether a path can end before after: "/home/u" does in "/home/u/x" and "/home/u.", but not in
// "/home/user" or "/home/u.bak".
func endsPath(after string) bool {
	if after == "" {
		return true
	}
	if after[0] == '.' {
		return len(after) == 1 || !pathByte(after[1])
	}
	return !pathByte(after[0])
}

// pathByte reports whether c can be part of a name in a path.
func pathByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c == '.' || c == '~' || c >= 0x80
}
