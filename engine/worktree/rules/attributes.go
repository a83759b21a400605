package rules

import (
	"markmill/engine/worktree/quote"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// attrFile is the lines of one .gitattributes, in order; only the attributes that change content.
type attrFile []attrLine

type attrLine struct {
	pattern
	set []attrValue
}

// attrValue is one attribute: value "+" set, "-" unset, "!" unspecified, or what follows "=".
type attrValue struct{ name, value string }

// wanted are the attributes that change what is stored or checked out.
func wanted(name string) bool {
	switch name {
	case "text", "crlf", "eol", "ident", "filter", "working-tree-encoding":
		return true
	}
	return false
}

// parseAttrs reads a .gitattributes (gitattributes(5)); macros is filled from "[attr]" lines.
func parseAttrs(data []byte, macros map[string][]attrValue) attrFile {
	var out attrFile
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		var name string
		if line[0] == '"' {
			end := quote.End(line)
			n, ok := quote.Unquote(line[:end])
			if !ok {
				continue
			}
			name, line = n, line[end:]
		} else {
			i := strings.IndexAny(line, " \t\r")
			if i < 0 {
				continue
			}
			name, line = line[:i], line[i:]
		}
		set := attrValues(strings.Fields(line), macros)
		if macro, ok := strings.CutPrefix(name, "[attr]"); ok {
			macros[macro] = set
			continue
		}
		if p, ok := parsePattern(name); ok && !p.dirOnly && name[0] != '!' && len(set) > 0 {
			out = append(out, attrLine{p, set})
		}
	}
	return out
}

func attrValues(words []string, macros map[string][]attrValue) []attrValue {
	var out []attrValue
	for _, w := range words {
		name, value, valued := strings.Cut(w, "=")
		switch {
		case valued:
		case name[0] == '-' || name[0] == '!':
			name, value = name[1:], name[:1]
		default:
			value = "+"
		}
		if m, ok := macros[name]; ok && value == "+" {
			out = append(out, m...)
		} else if name == "binary" && value == "+" {
			out = append(out, attrValue{"text", "-"})
		} else if wanted(name) {
			out = append(out, attrValue{name, value})
		}
	}
	return out
}

// Converter knows what Git does to content between the worktree and the repository.
type Converter struct {
	low      []attrFile // system, core.attributesFile
	info     attrFile   // info/attributes: the strongest
	macros   map[string][]attrValue
	autocrlf string // "", "true", "input"
	eolCRLF  bool   // core.eol
	filters  map[string]bool
	fold     bool
	seen     atomic.Bool // some attribute that matters was read: without, nothing has to be looked up
	changes  atomic.Bool // one was read that changes what is checked out, whatever the settings are
	mu       sync.Mutex  // held while a file is parsed: two goroutines walk
}

func NewConverter(c Settings, common string) *Converter {
	cv := &Converter{macros: map[string][]attrValue{}, filters: map[string]bool{},
		fold: c.Flag("core", "ignorecase", false)}
	if v, ok := c.Get("core", "", "autocrlf"); ok {
		if strings.EqualFold(v, "input") {
			cv.autocrlf = "input"
		} else if c.Flag("core", "autocrlf", false) {
			cv.autocrlf = "true"
		}
	}
	eol, ok := c.Get("core", "", "eol")
	cv.eolCRLF = strings.EqualFold(eol, "crlf") || (!ok || strings.EqualFold(eol, "native")) && nativeCRLF
	for _, s := range c {
		if s.Section == "filter" {
			switch s.Key {
			case "clean", "smudge", "process":
				cv.filters[s.Sub] = true
			}
		}
	}
	user := c.Path("core", "attributesfile")
	if user == "" {
		user = xdg("attributes")
	}
	for _, f := range []string{"/etc/gitattributes", user} {
		if data, err := os.ReadFile(f); err == nil {
			cv.low = append(cv.low, cv.parse(data))
		}
	}
	if common != "" {
		if data, err := os.ReadFile(common + "/info/attributes"); err == nil {
			cv.info = cv.parse(data)
		}
	}
	return cv
}

// NewTreeConverter returns a converter that knows the attributes of a tree alone, without those of a machine.
func NewTreeConverter() *Converter {
	return &Converter{macros: map[string][]attrValue{}, filters: map[string]bool{}}
}

// Checkout names what the attributes of a tree make of the bytes of a path when it is checked out, whatever the
// settings are; "" is nothing.
func (cv *Converter) Checkout(r *Chain, path, name string) string {
	if !cv.Changes() {
		return ""
	}
	var words []string
	for attr, value := range cv.lookup(r, path, name) {
		if v := (attrValue{attr, value}); v.changes() && (attr != "eol" || cv.Of(r, path, name).crlf) {
			words = append(words, attr+"="+value)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Changes reports whether Checkout may name anything.
func (cv *Converter) Changes() bool { return cv.changes.Load() }

// changes reports whether an attribute changes what is checked out.
func (v attrValue) changes() bool {
	switch v.name {
	case "eol":
		return v.value == "crlf"
	case "ident":
		return v.value == "+"
	case "filter", "working-tree-encoding":
		return v.value != "" && v.value != "+" && v.value != "-" && v.value != "!"
	}
	return false
}

func (cv *Converter) parse(data []byte) attrFile {
	f := parseAttrs(data, cv.macros)
	if len(f) > 0 {
		cv.seen.Store(true)
	}
	if slices.ContainsFunc(f, func(l attrLine) bool { return slices.ContainsFunc(l.set, attrValue.changes) }) {
		cv.changes.Store(true)
	}
	return f
}

// lookup finds the attributes of a path: the strongest file decides, and in it the last line.
func (cv *Converter) lookup(r *Chain, path, name string) map[string]string {
	out := map[string]string{}
	take := func(f attrFile, rel string) {
		for i := len(f) - 1; i >= 0; i-- {
			if f[i].match(rel, name, false, cv.fold) {
				for j := len(f[i].set) - 1; j >= 0; j-- {
					if v := f[i].set[j]; out[v.name] == "" {
						out[v.name] = v.value
					}
				}
			}
		}
	}
	take(cv.info, path)
	for ; r != nil; r = r.Up {
		take(r.Attrs, path[r.Prefix:])
	}
	for i := len(cv.low) - 1; i >= 0; i-- {
		take(cv.low[i], path)
	}
	return out
}

// Set parses one of the two files of a folder.
func (r *Chain) Set(name string, data []byte, conv *Converter) {
	switch {
	case name == ".gitignore" && data == nil:
		r.Ignore = nil
	case name == ".gitignore":
		r.Ignore = ParseIgnore(data)
	case data == nil:
		r.Attrs = nil
	default:
		conv.mu.Lock()
		r.Attrs = conv.parse(data)
		conv.mu.Unlock()
	}
}
