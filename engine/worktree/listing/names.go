package listing

import (
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
)

// family is what the tools of a language take into account.
type family struct {
	endings []string // of the files that they read, or find by listing folders
	// looked are patterns of the names that they look for in the folder of a file that they read, and in those above,
	// without listing them.
	looked []string
}

// Families as manifests name them. A pattern has no colon.
const (
	Python = notebooks.FamilyPython
	Node   = notebooks.FamilyNode
	Go     = notebooks.FamilyGo
)

// families are those of manifests: a change of the lists makes the names of earlier results count as others.
var families = map[string]family{
	Python: {[]string{".py", ".pyc", ".so", ".pyi", ".pth"}, notebooks.LookedFor(Python)},
	Node: {[]string{".js", ".mjs", ".cjs", ".json", ".node", ".jsx", ".ts", ".tsx", ".mts", ".cts"},
		notebooks.LookedFor(Node)},
	Go: {[]string{".go", ".s", ".S", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".F", ".for",
		".f90", ".swig", ".swigcxx", ".syso"}, notebooks.LookedFor(Go)},
}

// ignoring are the files that say what tools leave out when they list a folder.
var ignoring = []string{".gitignore", ".ignore"}

// ofFile is the pattern of the names beside a file that whoever read it may look for: its family, the names of its
// ending, or its own.
func ofFile(name string) string {
	ending := path.Ext(name)
	for id, f := range families {
		if slices.Contains(f.endings, ending) {
			return id
		}
	}
	if ending == "" || ending == name {
		return name
	}
	return "*" + ending
}

// OfFile are the patterns of the files for which a folder stands in which the file was read.
func OfFile(name string) []string { return []string{ofFile(name)} }

// FamilyOf is the family of a file; "" of one that belongs to none.
func FamilyOf(name string) string {
	if of := ofFile(name); families[of].endings != nil {
		return of
	}
	return ""
}

// Tracked is the pattern of every name at any depth, as Git's index has them.
const Tracked = ":tracked"

// here begins a pattern that matches in the listed folder, and not in those below it.
const here = "./"

// Inner are the patterns of what counts in the folders below one; nil is every name.
func Inner(of []string) []string {
	if of == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(of), func(p string) bool { return strings.HasPrefix(p, here) })
}

// Match reports whether a name in a listed folder counts; of none, every name does.
func Match(of []string, name string) bool {
	if of == nil || slices.Contains(ignoring, name) {
		return true
	}
	for _, pattern := range of {
		if f, known := families[pattern]; known {
			if slices.Contains(f.endings, path.Ext(name)) || matchesAny(f.looked, name) {
				return true
			}
		} else if ok, err := path.Match(strings.TrimPrefix(pattern, here), name); ok || err != nil {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// Looked maps folders to the patterns of the names in them that the tools look for which read files: settings, and what
// comes before a module that was found. read are files, and folders of which everything of some families was read.
func Looked(read map[string][]string) map[string][]string {
	out := map[string][]string{}
	add := func(dir string, patterns ...string) {
		for _, p := range patterns {
			if !slices.Contains(out[dir], p) {
				out[dir] = append(out[dir], p)
			}
		}
	}
	upwards := func(dir, id string) {
		for ; ; dir = path.Dir(dir) {
			add(dir, families[id].looked...)
			if dir == "." || dir == "/" {
				return
			}
		}
	}
	for name, of := range read {
		for _, id := range of {
			if families[id].endings != nil {
				upwards(name, id)
			}
		}
		if of != nil {
			continue
		}
		id, dir := FamilyOf(name), path.Dir(name)
		if id == "" {
			continue
		}
		upwards(dir, id)
		if id == Node {
			stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
			add(dir, escape(stem))
			for _, ending := range families[Node].endings {
				add(dir, escape(stem)+ending)
				if stem == "index" && dir != "." { // a file comes before the folder of the same name
					add(path.Dir(dir), escape(path.Base(dir))+ending)
				}
			}
		}
	}
	return out
}

// escape writes a name as a pattern that matches it alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}
