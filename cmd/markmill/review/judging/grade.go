package judging

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"markmill/engine"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/linediff"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// levels is how far what a test uses is followed.
const levels = 3

// skips matches what makes a runner leave a test out, or take its failure for a pass.
var skips = lazyregexp.New(`(?m)\bmark\.(?:skip\w*|xfail)|@(?:\w+\.)*(?:skip\w*|expectedFailure|xfail|Disabled|Ignore)\b|` +
	`\bpytest\.(?:skip|xfail|importorskip)\b|\bskipTest\(|\bSkipTest\b|\b[tbf]\.Skip(?:f|Now)?\(|` +
	`\b(?:it|test|describe|context|suite)\.(?:skip\w*|only|todo|fails|failing|runIf)\b|\bthis\.skip\(|\bt\.(?:skip|todo)\(|` +
	`\b(?:x|f)(?:it|describe|test|context|specify)\b|\{\s*(?:skip|todo|only)\s*:|#\[ignore|^\s*(?:skip|pending)\b|` +
	`\b__test__\s*=\s*False`)

func skipped(text string) int { return len(skips.FindAllString(text, -1)) }

// grade says what it means that an old test fails on the branch.
func (c *change) grade(t runs.FailedTest) review.JudgedTest {
	file, was := c.fileOf(t.File, t.Name, t.Line)
	out := review.JudgedTest{Test: t.Name, File: file, Grade: review.GradeObjection}
	reason := ""
	if t.Words != "" {
		reason = ": " + plain.Cut(plain.OneLine(t.Words), 160)
	}
	if was == nil {
		if out.Words = "fails" + reason; len(c.Judges) > 0 {
			out.Grade, out.Words = review.GradeDecide, "fails with main's tests"+reason
		}
		return out
	}
	out.Line = was.from
	at, is := c.successor(file, was)
	switch {
	case is == nil:
		return c.removed(out, file, was, reason)
	case c.skippedIn(at, is) > c.skippedOf(c.old, file, was):
		out.Line, out.Words = is.from, "fails with main's tests, and the branch skips it"+reason
	case is.text == was.text:
		switch used, saved := c.changedUse(file, at, was), c.saved(); {
		case used != "":
			out.Grade = review.GradeDecide
			out.Words = "no longer holds, and the branch changed what it uses: " + used + reason
			out.Diff = c.diffOf(file, used)
		case saved != "":
			out.Words = "fails with main's tests; the branch left it as it is and changed " + saved + reason
		default:
			out.Words = "fails, and the branch left it as it is" + reason
		}
		return out
	default:
		out.Grade, out.Words = review.GradeDecide, "no longer holds, and the branch changed it"
		if weak := weaker(was.text, is.text); weak != "" {
			out.Words += " (" + weak + ")"
		}
		out.Words += reason
	}
	out.Diff = unified(was.text, is.text)
	return out
}

// successor is the test on the branch: in its file, or with the same name and text elsewhere.
func (c *change) successor(file string, was *definition) (string, *definition) {
	same := func(p string) *definition {
		for _, d := range c.now.definitions(p) {
			if d.name == was.name {
				return &d
			}
		}
		return nil
	}
	if d := same(file); d != nil {
		return file, d
	}
	for _, p := range c.Judges {
		if d := same(p); d != nil && p != file && path.Ext(p) == path.Ext(file) {
			return p, d
		}
	}
	return "", nil
}

// removed grades a test that the branch no longer has.
func (c *change) removed(out review.JudgedTest, file string, was *definition, reason string) review.JudgedTest {
	gone := []string{}
	for w := range words(was.text) {
		if c.goneNames()[w] {
			gone = append(gone, w)
		}
	}
	slices.Sort(gone)
	like := c.similar(file, was)
	switch {
	case deprecated.MatchString(was.name+was.text) && c.dropsDeprecated():
		out.Grade, out.Words = review.GradeDecide, "no longer holds, and the branch removed it with what was deprecated"
	case len(gone) > 0:
		out.Grade = review.GradeDecide
		out.Words = fmt.Sprintf("no longer holds, and the branch removed it: %s is gone", gone[0])
	case like != nil:
		out.Grade = review.GradeDecide
		out.Words = fmt.Sprintf("no longer holds, and the branch has %s instead", like.name)
		if !like.test {
			out.Words += ", which no runner takes for a test"
		}
		out.Diff = unified(was.text, like.text)
		return out
	default:
		out.Words = "fails with main's tests, and the branch removed it"
	}
	out.Words += reason
	out.Diff = unified(was.text, "")
	return out
}

var deprecated = lazyregexp.New(`[dD]eprecat`)

// dropsDeprecated reports whether the branch removes lines of code that tell of a deprecation.
func (c *change) dropsDeprecated() bool {
	lines := func(s *side) (n int) {
		for _, p := range c.Product {
			if isProgram(p) {
				n += len(deprecated.FindAllString(string(s.text(p)), -1))
			}
		}
		return n
	}
	return lines(c.now) < lines(c.old)
}

// similar is a new definition of the branch that has most lines of an old one, or a new test of the same file and class
// that has most words of its name and uses the same code.
func (c *change) similar(file string, was *definition) (found *definition) {
	best := 0.6
	for _, p := range c.Judges {
		if path.Ext(p) != path.Ext(file) {
			continue
		}
		for _, d := range c.now.definitions(p) {
			if c.old.find(p, d.name) != nil || d.around {
				continue
			}
			gone, come := linediff.Lines(linesOf(was.text), linesOf(d.text))
			kept := float64(2*count(gone, false)) / float64(len(gone)+len(come))
			if kept <= best && p == file && d.test && named(was.name, d.name) && c.usesSame(was, &d) {
				kept = best + 0.001
			}
			if kept > best {
				best, found = kept, &d
			}
		}
	}
	return found
}

// nameWords matches the words of a name: of test_xmlattr_key and TestXmlattrKey the same.
var nameWords = lazyregexp.New(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// named reports whether two tests of one class share more than half of the words of their names.
func named(was, is string) bool {
	classA, a, _ := strings.Cut(was, "::")
	classB, b, _ := strings.Cut(is, "::")
	split := func(name string) []string {
		list := nameWords.FindAllString(strings.TrimPrefix(strings.TrimPrefix(name, "test_"), "Test"), -1)
		for i := range list {
			list[i] = strings.ToLower(list[i])
		}
		return list
	}
	if a+b == "" {
		a, b = classA, classB
	} else if classA != classB {
		return false
	}
	x, y, both := split(a), split(b), 0
	for _, w := range x {
		if slices.Contains(y, w) {
			both++
		}
	}
	return both > 1 && 4*both >= len(x)+len(y)
}

// usesSame reports whether two tests share at least half of the words that the first one has in its calls.
func (c *change) usesSame(was, is *definition) bool {
	a, b, both := words(was.text), words(is.text), 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return 2*both >= len(a)
}

func linesOf(text string) []string { return slices.Collect(strings.Lines(text)) }

func count(list []bool, what bool) (n int) {
	for _, b := range list {
		if b == what {
			n++
		}
	}
	return n
}

// skippedIn counts what leaves a test of the branch out: in it, around it, in what runs before it, and a test of the
// same file that is the only one to run.
func (c *change) skippedIn(file string, d *definition) int { return c.skippedOf(c.now, file, d) }

func (c *change) skippedOf(s *side, file string, d *definition) int {
	n := skipped(d.text)
	for _, o := range s.definitions(file) {
		if o.name != d.name && (o.implicit || o.around && o.from <= d.from && d.to <= o.to) {
			n += skipped(o.text)
		}
	}
	text := string(s.text(file))
	return n + strings.Count(text, ".only(")
}

// changedUse names what a test uses and the branch changed: a helper, constant, fixture, base class, or a data file; ""
// if nothing. file is where the test stands, and at where it stands on the branch.
func (c *change) changedUse(file, at string, test *definition) string {
	find := func(p, name string) *definition {
		if p == file {
			p = at
		}
		return c.now.find(p, name)
	}
	seen := map[string]bool{}
	text := test.text
	next := words(text)
	class, _, method := strings.Cut(test.name, "::")
	if method {
		next[class] = true
	}
	for _, p := range c.near(file) { // what runs without being named
		for _, s := range []*side{c.old, c.now} {
			for _, d := range s.definitions(p) {
				if d.implicit && (!strings.Contains(d.name, "::") || strings.HasPrefix(d.name, class+"::")) {
					next[d.name] = true
				}
			}
		}
	}
	used := maps.Clone(next)
	for range levels {
		var more []string
		for w := range next {
			if seen[w] {
				continue
			}
			seen[w] = true
			for _, p := range c.defining(w, file, used) {
				if p.file == file && p.def.name == test.name {
					continue
				}
				on := p.file
				if on == file {
					on = at
				}
				if !slices.ContainsFunc(c.now.definitions(on), func(d definition) bool {
					return d.name == p.def.name && d.text == p.def.text // one of several of that name
				}) {
					return p.def.name
				}
				more = append(more, p.def.text)
			}
			for _, p := range c.near(file) { // came on the branch
				if p != file && c.old.find(file, w) != nil {
					continue // the file's own comes first
				}
				if d := find(p, w); d != nil && c.old.find(p, w) == nil && slices.Contains(c.Judges, p) {
					return d.name
				}
			}
		}
		next = map[string]bool{}
		for _, m := range more {
			text += "\n" + m
			for w := range words(m) {
				next[w], used[w] = true, true
			}
		}
	}
	for _, p := range c.Judges {
		if c.isData(p) && uses(text, file, p) {
			return p
		}
	}
	return ""
}

// isData reports whether a judge file is read by tests, and neither a program nor settings.
func (c *change) isData(p string) bool {
	return !isProgram(p) && !engine.Drives(p) && path.Ext(p) != ".pyc"
}

// uses reports whether a test names a file of data: its name, or the folder that it is in; or if it is its snapshot.
func uses(text, file, data string) bool {
	base := path.Base(data)
	stem, _, _ := strings.Cut(base, ".")
	if strings.HasPrefix(base, path.Base(file)) || len(stem) > 2 && strings.Contains(text, stem) {
		return true
	}
	for dir := path.Dir(data); dir != "." && dir != "/"; dir = path.Dir(dir) {
		name := path.Base(dir)
		if name != "tests" && name != "test" && name != "spec" && len(name) > 2 && strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// near are the file of a test and what its runner reads with it: each conftest.py from its folder up, and the other
// files of a package of Go.
func (c *change) near(file string) []string {
	list := []string{file}
	switch path.Ext(file) {
	case ".py":
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			list = append(list, path.Join(dir, "conftest.py"))
			if dir == "." || dir == "/" {
				break
			}
		}
	case ".go":
		for _, p := range slices.Concat(c.names, c.Judges) {
			if p != file && path.Dir(p) == path.Dir(file) && path.Ext(p) == ".go" && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// defining lists where the judge files of the base define a name: in what is near a file, else anywhere in its
// language. used are the names that lead there.
func (c *change) defining(name, file string, used map[string]bool) (out []place) {
	ext := path.Ext(file)
	if c.indexed != ext {
		c.indexed, c.index = ext, map[string][]place{}
		for _, p := range c.names {
			if path.Ext(p) != ext {
				continue
			}
			for _, d := range c.old.definitions(p) {
				short := d.name[strings.LastIndex(d.name, ":")+1:]
				c.index[short] = append(c.index[short], place{p, d})
				if short != d.name {
					c.index[d.name] = append(c.index[d.name], place{p, d})
				}
			}
		}
	}
	all := c.index[name]
	near := c.near(file)
	for _, p := range all {
		if slices.Contains(near, p.file) {
			out = append(out, p)
		}
	}
	if out == nil && ext != ".go" {
		for _, p := range all { // methods of a class that nobody names are not used
			class, _, method := strings.Cut(p.def.name, "::")
			if !p.def.test && (!method || used[class]) {
				out = append(out, p)
			}
		}
	}
	return out
}

// saved names what of the judge files may have saved a test that the branch left as it is: settings, drivers, a
// conftest, files that came; "" if no judge file differs.
func (c *change) saved() string {
	list := slices.Concat(c.Judges, c.Mixed, c.own)
	if c.sameJudges() {
		return ""
	}
	slices.SortStableFunc(list, func(a, b string) int {
		rank := func(p string) int {
			_, _, had, _ := c.old.Entry(p)
			switch {
			case engine.Drives(p):
				return 0
			case !had:
				return 1
			}
			return 2
		}
		return rank(a) - rank(b)
	})
	return plain.Some(list, 3)
}

// diffOf is the change of a definition that a test uses, or of a file.
func (c *change) diffOf(file, used string) string {
	for _, p := range append(c.near(file), c.Judges...) {
		if p == used {
			return unified(string(c.old.text(p)), string(c.now.text(p)))
		}
		was, is := c.old.find(p, used), c.now.find(p, used)
		if was != nil && is != nil && was.text != is.text {
			return unified(was.text, is.text)
		}
	}
	return ""
}

// maxDiff is how much of a change is shown, in bytes.
const maxDiff = 4000

func unified(was, is string) string {
	a, b := linesOf(was), linesOf(is)
	gone, come := linediff.Lines(a, b)
	var out bytes.Buffer
	linediff.Unified(&out, a, b, gone, come, func(line string) {
		out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	})
	return plain.Cut(out.String(), maxDiff)
}

var (
	asserts    = lazyregexp.New(`\bassert\w*|\bexpect\w*\(|\.should\b|\brequire\.\w+\(|\b[tb]\.(?:Error|Fatal|Fail)\w*\(|\bEXPECT_\w+|\bwith (?:\w+\.)?raises\b`)
	equals     = lazyregexp.New(`[aA]ssert_?(?:Equals?|Is|In|eq|That)\b|[!=]==?|\bto(?:Be|Equal|StrictEqual|Match\w*)\(|\b(?:strict|deep|deepStrict)Equal\(|\bDeepEqual\(`)
	raises     = lazyregexp.New(`\b(?:assert)?[rR]aises\w*|\btoThrow|\b(?:assert\.throws|assertThrows|rejects)\b|should_panic|\braise_error`)
	cases      = lazyregexp.New(`(?m)^\s*[(\[{].*[)\]}],?\s*$`)
	tolerances = lazyregexp.New(`\b(?:abs|rel|atol|rtol|delta|places|tolerance|eps|epsilon)\s*[=:]\s*([0-9.eE+-]+)`)
	ignores    = lazyregexp.New(`(?m)^\s*except\b.*:\s*(?:pass)?\s*$|contextlib\.suppress|catch\s*(?:\([^)]*\))?\s*\{\s*\}|\brescue\b`)
)

// weaker says where a test checks less than it did; "" if that is not seen.
func weaker(was, is string) string {
	var out []string
	fewer := func(what string, a, b int) {
		if b < a {
			out = append(out, fmt.Sprintf("%s %d → %d", what, a, b))
		}
	}
	fewer("asserts", len(asserts.FindAllString(was, -1)), len(asserts.FindAllString(is, -1)))
	fewer("comparisons", len(equals.FindAllString(was, -1)), len(equals.FindAllString(is, -1)))
	fewer("expected errors", len(raises.FindAllString(was, -1)), len(raises.FindAllString(is, -1)))
	fewer("cases", len(cases.FindAllString(was, -1)), len(cases.FindAllString(is, -1)))
	a, b := tolerances.FindAllStringSubmatch(was, -1), tolerances.FindAllStringSubmatch(is, -1)
	for i := range min(len(a), len(b)) {
		x, errX := strconv.ParseFloat(a[i][1], 64)
		y, errY := strconv.ParseFloat(b[i][1], 64)
		looser := y > x
		if strings.HasPrefix(a[i][0], "places") {
			looser = y < x
		}
		if errX == nil && errY == nil && looser {
			out = append(out, fmt.Sprintf("tolerance %s → %s", a[i][1], b[i][1]))
		}
	}
	if len(ignores.FindAllString(is, -1)) > len(ignores.FindAllString(was, -1)) {
		out = append(out, "exception ignored")
	}
	return strings.Join(out, ", ")
}

// changesAssert reports whether a line with an assertion is gone.
func changesAssert(was, is string) bool {
	a := linesOf(was)
	gone, _ := linediff.Lines(a, linesOf(is))
	for i, line := range a {
		if gone[i] && asserts.MatchString(line) {
			return true
		}
	}
	return false
}

// suspicious are lines of product code that a reviewer must see: no test of the base can tell what they do when nobody
// tests.
var suspicious = []struct {
	words string
	lines *lazyregexp.Regexp
}{
	{"the code asks whether it is tested, or takes hold of what tests", lazyregexp.New(
		`PYTEST_CURRENT_TEST|JEST_WORKER_ID|NODE_TEST_CONTEXT|\bVITEST\b|NODE_ENV\b.*\btest\b|\bMARKMILL_[A-Z]|` +
			`\btesting\.Testing\(\)|\bLookup\(["` + "`" + `]test\.|["'](?:unittest|_?pytest|nose|mocha|jest|vitest)["']|` +
			`^\s*(?:import|from)\s+(?:unittest|_?pytest|nose)\b|(?:\bTestCase|\bassert\b.{0,4})\.\w+\s*=[^=]`)},
	{"the code asks what time it is", lazyregexp.New(`(?:\btime\(\)|\bnow\(\)|\btoday\(\)|\bNow\(\)|` +
		`\bnew Date\(\))(?:\.\w+(?:\(\))?)*\s*[<>]|\.(?:After|Before)\(time\.Date`)},
	{"the code ends its process, which a runner may take for a pass", lazyregexp.New(
		`\b_exit\(|\b(?:sys\.|process\.|os\.|System\.|process::)[eE]xit\(0?\)|\batexit\b|\bos\.exec[lv]`)},
}

var (
	// asking matches what tells a program how it was called, and where it is; tested what tests are called.
	asking = lazyregexp.New(`\bargv|\bos\.Args|\bstack\(|_getframe|currentframe|\bCaller\w*\(|\benviron|[gG]etenv|` +
		`process\.env|\bexists(?:Sync)?\(|\bisdir\(`)
	tested = lazyregexp.New(`\b_?[tT]ests?|TEST|\bCI\b|["'][^"']*[tT]est`)
)

// suspicion says why a reviewer must see a line; "" if there is no reason.
func suspicion(line string) string {
	for _, s := range suspicious {
		if s.lines.MatchString(line) {
			return s.words
		}
	}
	if asking.MatchString(line) && tested.MatchString(line) {
		return suspicious[0].words
	}
	return ""
}

// answers are the texts and numbers in quotes or brackets of a line.
var answers = lazyregexp.New(`"[^"]{2,}"|'[^']{2,}'|\[[^\[\]]{2,}\]`)

// knows names a test of the base of which a line of code has two or more values; "" if there is none.
func (c *change) knows(line string) string {
	found := answers.FindAllString(line, -1)
	if len(found) < 2 {
		return ""
	}
	for _, p := range c.names {
		for _, d := range c.old.definitions(p) {
			have := map[string]bool{}
			for _, text := range found {
				if d.test && strings.Contains(d.text, text) {
					have[text] = true
				}
			}
			if len(have) > 1 {
				return "the code has the values of " + d.name
			}
		}
	}
	return ""
}

// notes are what is told without a run: product lines that ask whether they are tested, and tests that were removed or
// weakened while no code changed.
func (c *change) notes() (out []review.JudgedTest) {
	for _, p := range c.Product {
		a, b := linesOf(string(c.old.text(p))), linesOf(string(c.now.text(p)))
		if !isProgram(p) || len(b) > 20000 {
			continue
		}
		_, come := linediff.Lines(a, b)
		for i, line := range b {
			if !come[i] {
				continue
			}
			if words := cmp.Or(suspicion(line), c.knows(line)); words != "" {
				out = append(out, review.JudgedTest{Grade: review.GradeTold, File: p, Line: i + 1,
					Words: words + ": " + plain.Cut(strings.TrimSpace(line), 120)})
			}
		}
	}
	if !c.sameProduct() {
		return out
	}
	for _, p := range c.Judges {
		for _, was := range c.old.definitions(p) {
			if !was.test {
				continue
			}
			at, is := c.successor(p, &was)
			t := review.JudgedTest{Grade: review.GradeTold, Test: was.name, File: p, Line: was.from}
			switch {
			case is == nil:
				t.Words = "was removed, and no code changed"
			case c.skippedIn(at, is) > c.skippedOf(c.old, p, &was):
				t.Words = "is skipped, and no code changed"
			default:
				if weak := weaker(was.text, is.text); weak != "" {
					t.Words = "was weakened, and no code changed: " + weak
				} else if changesAssert(was.text, is.text) {
					t.Words = "asserts something else, and no code changed"
				} else {
					continue
				}
				t.Diff = unified(was.text, is.text)
			}
			if len(out) < 20 {
				out = append(out, t)
			}
		}
	}
	return out
}
