package engine

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// JudgeFiles says which files judge a change: the table, what Also adds, and without what Not names. With Alone, none
// but those that Also names: the judges of a run are those that protect: names.
type JudgeFiles struct {
	Also, Not []string
	Alone     bool
}

// Touched are the changed paths by what they mean to judges.
type Touched struct {
	Judges  []string
	Mixed   []string // settings of the product and of its tests
	Product []string
}

// Touched divides what a change touches. Who judges it puts the judges back, and of Mixed the settings of tests.
func (j JudgeFiles) Touched(changed []string) (t Touched) {
	for _, p := range changed {
		list := &t.Product
		switch {
		case j.Is(p):
			list = &t.Judges
		case !j.Alone && notebooks.MixedTable[path.Base(p)]:
			list = &t.Mixed
		}
		*list = append(*list, p)
	}
	return t
}

// Table is the table of judge files with the additions, a line for each row.
func (j JudgeFiles) Table() (lines []string) {
	add := func(of string, patterns []string) {
		if len(patterns) > 0 {
			lines = append(lines, of+": "+strings.Join(patterns, " "))
		}
	}
	for _, row := range notebooks.JudgeTable {
		add(row.Of, row.Patterns)
	}
	var mixed []string
	for name, apart := range notebooks.MixedTable {
		if apart {
			mixed = append(mixed, name)
		}
	}
	slices.Sort(mixed)
	add("the test tables of", mixed)
	add("protect: and judges:", j.Also)
	add("none of these (not-judges:)", j.Not)
	return lines
}

// Is reports whether a path is that of a judge file.
func (j JudgeFiles) Is(name string) bool {
	return MatchesAny(j.Also, name) || !j.Alone && !MatchesAny(j.Not, name) && notebooks.JudgesBranch(name)
}

// testTable matches the names of tables of test runners in TOML and INI.
var testTable = lazyregexp.New(`^\[+ *"?(?:tool[.:] *"?(?:pytest|coverage|tox|nox|green|mutmut|hatch\.envs\.[\w.-]*test)|` +
	`pytest|coverage:|nosetests|aliases|testenv|unittest)`)

// testKeys are the members of package.json that are settings of test runners.
var testKeys = []string{"jest", "mocha", "ava", "c8", "nyc", "vitest", "tap", "jasmine", "karma", "playwright"}

var testScript = lazyregexp.New(`^(?:pre|post)?test(?:$|[:_-])`)

// Mixed is the head's version of a file with the test tables of the base's. nil stands for a file that is not there.
func Mixed(name string, head, base []byte) []byte {
	if path.Base(name) == "package.json" {
		return mixedJSON(head, base)
	}
	if head == nil && base == nil {
		return nil
	}
	rest, _ := splitTables(head)
	_, tests := splitTables(base)
	if head == nil && len(tests) == 0 {
		return nil
	}
	if len(tests) > 0 && len(rest) > 0 && rest[len(rest)-1] != '\n' {
		rest = append(rest, '\n')
	}
	return append(rest, tests...)
}

// splitTables divides a file by its tables: those of test runners, and the rest.
func splitTables(text []byte) (rest, tests []byte) {
	to := &rest
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) && bytes.Contains(line, []byte("]")) {
			to = &rest
			if testTable.Match(line) {
				to = &tests
			}
		}
		*to = append(*to, line...)
	}
	return rest, tests
}

// mixedJSON is Mixed of a package.json. One that is no JSON is left as the head has it.
func mixedJSON(head, base []byte) []byte {
	var is, was map[string]codec.Raw
	if head == nil || codec.Unmarshal(head, &is) != nil || base != nil && codec.Unmarshal(base, &was) != nil {
		return head
	}
	for _, key := range testKeys {
		delete(is, key)
		if v, ok := was[key]; ok {
			is[key] = v
		}
	}
	scripts := func(doc map[string]codec.Raw) (out map[string]codec.Raw) {
		if raw, ok := doc["scripts"]; !ok || codec.Unmarshal(raw, &out) != nil {
			return map[string]codec.Raw{}
		}
		return out
	}
	all := scripts(is)
	for name := range all {
		if testScript.MatchString(name) {
			delete(all, name)
		}
	}
	for name, v := range scripts(was) {
		if testScript.MatchString(name) {
			all[name] = v
		}
	}
	if text, err := codec.Marshal(all); err == nil && len(all) > 0 {
		is["scripts"] = text
	}
	text, err := codec.Marshal(is)
	if err != nil {
		return head
	}
	return text
}

// Drives reports whether a file decides how tests run, and is neither a test nor used by one: settings and drivers.
func Drives(name string) bool {
	base := path.Base(name)
	return notebooks.IsMixedFile(name) || strings.HasPrefix(base, ".") || !strings.Contains(base, ".") ||
		strings.Contains(base, ".config.") || strings.Contains(base, "customize.") ||
		slices.Contains([]string{"conftest.py", "pytest.ini", "tox.ini", "noxfile.py"}, base)
}
