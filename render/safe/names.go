package safe

import (
	"sort"
	"strings"

	"markmill/runs"
)

// Names puts names in the place of this machine's paths.
type Names []runs.PathName

// NewNames adds the spellings that tools of Windows print of the same path: with slashes, and
// with the backslashes doubled as in JSON and source text. The longest path stays first, so that a
// worktree inside the home is the worktree.
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

// startsPath says that a path may begin after before: "/tmp" does in "-I/tmp" and "file:///tmp",
// and does not in "/var/tmp" or "a/b/tmp".
func startsPath(before string) bool {
	i := len(before)
	for i > 0 && pathByte(before[i-1]) {
		i--
	}
	return i == len(before) || i == 0 || before[i-1] != '/' && before[i-1] != '\\'
}

// endsPath says that a path may end before after: "/home/u" does in "/home/u/x" and "/home/u.", and
// does not in "/home/user" or "/home/u.bak".
func endsPath(after string) bool {
	if after == "" {
		return true
	}
	if after[0] == '.' {
		return len(after) == 1 || !pathByte(after[1])
	}
	return !pathByte(after[0])
}

// pathByte says that c may stand within one name of a path.
func pathByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c == '.' || c == '~' || c >= 0x80
}
