package listing

import (
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
)

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
