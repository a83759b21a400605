package rules

import (
	"os"
	"path/filepath"
	"strings"
)

// pattern is one line of an ignore or attributes file.
type pattern struct {
	text    string // without its marks
	negate  bool   // "!": not ignored after all
	dirOnly bool   // "/" at its end
	whole   bool   // has a slash: matched against the path from the file's folder, else against the name
	literal int    // how many bytes come before the first wildcard
}

// IgnoreFile is the patterns of one file, in order.
type IgnoreFile []pattern

// ParseIgnore reads a .gitignore (gitignore(5)).
func ParseIgnore(data []byte) IgnoreFile {
	var out IgnoreFile
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		line = trimSpaces(line)
		negate := strings.HasPrefix(line, "!")
		if negate {
			line = line[1:]
		}
		if p, ok := parsePattern(line); ok {
			p.negate = negate
			out = append(out, p)
		}
	}
	return out
}

// trimSpaces drops trailing spaces that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
			end = i + 1
		} else if line[i] != ' ' {
			end = i + 1
		}
	}
	return line[:end]
}

func parsePattern(line string) (p pattern, ok bool) {
	if strings.HasSuffix(line, "/") {
		line = line[:len(line)-1]
		p.dirOnly = true
	}
	p.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	p.text = line
	if p.literal = strings.IndexAny(line, `*?[\`); p.literal < 0 {
		p.literal = len(line)
	}
	return p, line != ""
}

// match reports whether the pattern matches; path is relative to the folder of its file, name its last part.
func (p *pattern) match(path, name string, dir, fold bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	text := name
	if p.whole {
		text = path
	}
	if p.literal == len(p.text) {
		return text == p.text || fold && equalFold(text, p.text)
	}
	if !p.whole {
		return wildmatch(p.text, text, fold)
	}
	// Git compares the part before the first wildcard by itself, so that "**" after it counts as the
	// pattern's beginning: "a**/" takes "a".
	n := p.literal
	if len(text) < n || text[:n] != p.text[:n] && !(fold && equalFold(text[:n], p.text[:n])) {
		return false
	}
	return wildmatch(p.text[n:], text[n:], fold)
}

// equalFold ignores the case of ASCII letters only, as Git does.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// verdict finds the last pattern that matches.
func (f IgnoreFile) verdict(path, name string, dir, fold bool) (ignored, decided bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].match(path, name, dir, fold) {
			return !f[i].negate, true
		}
	}
	return false, false
}

// Chain is the .gitignore and .gitattributes of a folder, and of the folders above it.
type Chain struct {
	Up     *Chain
	Ignore IgnoreFile
	Attrs  attrFile
	Prefix int // length of "folder/" that is cut from a path before matching
}

// Ignores is what holds everywhere: the files outside the tree, the weakest first, and the case.
type Ignores struct {
	Global []IgnoreFile // core.excludesFile, info/exclude
	Fold   bool
}

// Ignored reports whether an untracked path is ignored. The caller must know whether a folder above it is.
func (g *Ignores) Ignored(r *Chain, path, name string, dir bool) bool {
	for ; r != nil; r = r.Up {
		if hit, ok := r.Ignore.verdict(path[r.Prefix:], name, dir, g.Fold); ok {
			return hit
		}
	}
	for i := len(g.Global) - 1; i >= 0; i-- {
		if hit, ok := g.Global[i].verdict(path, name, dir, g.Fold); ok {
			return hit
		}
	}
	return false
}

// NewIgnores reads the rules outside the tree.
func NewIgnores(c Settings, common string) *Ignores {
	user := c.Path("core", "excludesfile")
	if user == "" {
		user = xdg("ignore")
	}
	g := &Ignores{Global: []IgnoreFile{readIgnore(user)}, Fold: c.Flag("core", "ignorecase", false)}
	if common != "" {
		g.Global = append(g.Global, readIgnore(filepath.Join(common, "info", "exclude")))
	}
	return g
}

// readIgnore reads an ignore file outside the tree. Like Git it takes an unreadable one for empty.
func readIgnore(path string) IgnoreFile {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return ParseIgnore(data)
}
