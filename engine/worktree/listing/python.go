package listing

import "markmill/notebooks/lazyregexp"

// lists finds what makes Python's code list a folder by itself, or start a program that may.
var lists = lazyregexp.New(`listdir|scandir|iterdir|\bwalk\b|glob|subprocess|\bsystem\b|popen|spawn|exec[lv]|` +
	`import_module|(?m:^\s*[!%])|get_ipython|copytree|rmtree|runpy`)

// ofPython is what lists folders in a step in Python: what imports modules, and no more unless the code says so.
func ofPython(code string) Lister {
	if lists.MatchString(code) {
		return Every()
	}
	return Lister{patterns: []string{Python}, opens: true, blind: true, imports: true, calls: true}
}
