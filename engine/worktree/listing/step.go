package listing

import (
	"maps"
	"path"
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
)

// Lister is what lists folders in a step, as far as its code tells. The zero Lister lists none.
type Lister struct {
	every    bool     // something that is not known, or that shows every name
	patterns []string // families, and globs
	// opens says that a program lists folders to open what it finds: the endings count of what the step opened.
	opens bool
	// blind says that such a program is not known: a folder of which nothing was opened counts with every name.
	blind bool
	// imports says that Python looks for modules at the top, which it lists for that.
	imports bool
	// calls says that it runs, or may run, another program than those of the system that are known.
	calls bool
	// walks are where tools of the system begin that show or read every file below a folder; "." is anywhere.
	walks []string
}

// Every is what lists folders where nothing is known.
func Every() Lister { return Lister{every: true, calls: true} }

// all is what lists folders and shows every name, and calls nothing.
func all(walks []string) Lister { return Lister{every: true, walks: walks} }

// Calls reports whether a step may run a program that is installed for the repository.
func (l Lister) Calls() bool { return l.calls }

// Walks reports whether a step shows or reads, by a tool of the system, what is below a folder.
func (l Lister) Walks(folder string) bool {
	return slices.ContainsFunc(l.walks, func(root string) bool {
		return root == "." || strings.Contains("/"+folder+"/", "/"+root+"/") // whatever folder it works in
	})
}

// InPython is the kernel of Python, whose steps share functions.
const InPython = "python"

// Of is what lists folders in a step of a kernel.
func Of(kernel, code string) Lister {
	switch kernel {
	case "bash", "sh":
		return ofShell(code, 0)
	case InPython:
		return ofPython(code)
	}
	return Every()
}

// With is what lists folders where two sets of code run.
func (l Lister) With(o Lister) Lister {
	l.patterns, l.walks = slices.Clone(l.patterns), slices.Clone(l.walks)
	l.add(o)
	return l
}

func (l *Lister) add(o Lister) {
	l.every, l.opens = l.every || o.every, l.opens || o.opens
	l.blind, l.imports, l.calls = l.blind || o.blind, l.imports || o.imports, l.calls || o.calls
	l.walks = append(l.walks, o.walks...)
	for _, p := range o.patterns {
		if !slices.Contains(l.patterns, p) {
			l.patterns = append(l.patterns, p)
		}
	}
}

// Names are the patterns of the names that count of a folder which the step listed, sorted; nil is every name. opened
// are the files that the step opened, as paths.
func (l Lister) Names(folder string, opened map[string]bool) []string {
	if l.every {
		return nil
	}
	of := map[string]bool{}
	for _, p := range l.patterns {
		of[p] = true
	}
	seen := false
	if l.opens {
		for file := range opened {
			of[ofFile(path.Base(file))] = true
			seen = seen || path.Dir(file) == folder
		}
	}
	testdata := slices.Contains(strings.Split(folder, "/"), "testdata") // which Go's tests list for themselves
	if (l.blind && !(l.imports && folder == ".") || testdata) && !seen || len(of) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(of))
}

// Union are the patterns of two lists; nil is every name.
func Union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// lists finds what makes Python's code list a folder by itself, or start a program that may.
var lists = lazyregexp.New(`listdir|scandir|iterdir|\bwalk\b|glob|subprocess|\bsystem\b|popen|spawn|exec[lv]|` +
	`import_module|(?m:^\s*[!%])|get_ipython|copytree|rmtree|runpy`)

// Modules of the standard library that list no folder, unless the code says so itself, and where code imports modules.
var (
	listless = strings.Fields("base64 collections csv dataclasses datetime decimal fractions functools hashlib io " +
		"itertools json math os pathlib random re statistics string sys textwrap time typing uuid zlib")
	imported = lazyregexp.New(`\b(?:from\s+([\w.]+)\s+import\b|import\s+([^\n#;]+))`)
)

// importsListless reports whether code imports nothing but such modules.
func importsListless(code string) bool {
	if strings.Contains(code, "exec(") || strings.Contains(code, "eval(") || strings.Contains(code, "__import__") {
		return false
	}
	for _, m := range imported.FindAllStringSubmatch(code, -1) {
		for module := range strings.SplitSeq(m[1]+m[2], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(module), " ")
			if name, _, _ = strings.Cut(name, "."); !slices.Contains(listless, name) {
				return false
			}
		}
	}
	return true
}

// ofPython is what lists folders in a step in Python: what imports modules, and no more unless the code says so.
func ofPython(code string) Lister {
	if lists.MatchString(code) {
		return Every()
	}
	if importsListless(code) { // only the search for a module lists folders
		return Lister{patterns: []string{Python}, imports: true, calls: true}
	}
	return Lister{patterns: []string{Python}, opens: true, blind: true, imports: true, calls: true}
}
