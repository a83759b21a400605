package review

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/linediff"
	"markmill/render/plain"
	"markmill/render/result"
)

// changedFile is a file that the branch changed, other than a notebook.
type changedFile struct {
	path           string
	judges         bool // it is one of the files that say what tests mean, or what runs may do
	code           bool
	counted        bool
	added, deleted int
	hunks          string // of a unified diff
}

// Bounds of what is compared by lines, in bytes. A review of more counts files alone.
const (
	maxCompared    = 1 << 20 // a file
	maxAllCompared = 16 << 20
)

// compareFiles compares the changed files that are no notebooks.
func (r *reviewer) compareFiles(rules []Rule) (list []changedFile, books int) {
	left, judges := maxAllCompared, r.in.Judges
	if judges == nil {
		judges = notebooks.IsJudgeFile
	}
	for _, f := range r.in.Files {
		if r.told[f.Path] != nil || r.told[f.From] != nil {
			books++
			continue
		}
		c := changedFile{path: f.Path, judges: judges(f.Path) || isRule(rules, f.Path),
			code: notebooks.IsCode(f.Path)}
		if c.judges || c.code {
			c.compare(r, f, &left)
		}
		list = append(list, c)
	}
	return list, books
}

// compare counts the lines of a file that came and went. What cannot be read as text is not counted.
func (c *changedFile) compare(r *reviewer, f File, left *int) {
	var texts [2][][]byte
	for i, side := range []*side{r.base, r.head} {
		name, there := f.Path, f.New
		if side == r.base {
			name, there = cmp.Or(f.From, f.Path), f.Old
		}
		if !there {
			continue
		}
		data, err := side.Read(name, maxCompared)
		if *left -= len(data); err != nil || *left < 0 || bytes.IndexByte(data, 0) >= 0 {
			return
		}
		texts[i] = linediff.Split(data)
	}
	gone, come := linediff.Lines(texts[0], texts[1])
	c.counted, c.deleted, c.added = true, count(gone), count(come)
	var b bytes.Buffer
	linediff.Unified(&b, texts[0], texts[1], gone, come, func(line []byte) {
		b.Write(append(bytes.TrimRight(line, "\r\n"), '\n'))
	})
	c.hunks = b.String()
}

func count(marks []bool) (n int) {
	for _, marked := range marks {
		if marked {
			n++
		}
	}
	return n
}

// countWords says how many lines came and went: "+42 −7".
func (c *changedFile) countWords() string {
	if !c.counted {
		return "not compared by lines"
	}
	return fmt.Sprintf("+%d −%d", c.added, c.deleted)
}

// factWords say what the branch changed: code, what judges it, notebooks, and the rest by name.
func (r *Review) factWords() (facts []string) {
	var sum [2]changedFile
	var files [2]int
	var others []string
	for _, c := range r.changed {
		k := 0
		switch {
		case c.judges:
			k = 1
		case !c.code:
			others = append(others, c.path)
			continue
		}
		sum[k].counted = (files[k] == 0 || sum[k].counted) && c.counted
		files[k]++
		sum[k].added, sum[k].deleted = sum[k].added+c.added, sum[k].deleted+c.deleted
	}
	for k, noun := range []string{"code", "tests"} {
		if files[k] > 0 {
			words := noun + " " + plain.Counted(files[k], "file")
			if sum[k].counted {
				words += " " + sum[k].countWords()
			}
			facts = append(facts, words)
		}
	}
	if r.changedNotebooks > 0 {
		facts = append(facts, "notebooks "+plain.Grouped(r.changedNotebooks))
	}
	if len(others) > 0 {
		facts = append(facts, "other: "+plain.Some(others, 3))
	}
	return facts
}

// covered reports whether a notebook says anything of the branch: one that changed, one that its changes concern, or
// one whose tests judged it.
func (r *Review) covered() bool {
	return len(r.Notebooks) > 0 || r.Judged != nil &&
		slices.ContainsFunc(r.Judged.Notebooks, func(n JudgedNotebook) bool { return n.State != JudgeNothing })
}

// uncovered is the finding on a branch with code that no notebook covers.
func (r *Review) uncovered() []Finding {
	if r.covered() {
		return nil
	}
	var names, judges []string
	for _, c := range r.changed {
		switch {
		case c.judges:
			judges = append(judges, c.path)
		case c.code:
			names = append(names, c.path)
		}
	}
	if names = append(names, judges...); len(names) == 0 {
		return nil
	}
	words := "changed, and no notebook covers it"
	if len(names) > 1 {
		words += ", nor " + some(names[1:])
	}
	return []Finding{{Condition: OnUntested, Path: names[0], Words: words, Files: names}}
}

// patches adds the changed code: the tests of findings, what judges the branch, then the rest, as far as there is room.
func (r *Review) patches(v *View) {
	left, hidden := codeLines, 0
	add := func(title, hunks string, most int) {
		lines := strings.SplitAfter(strings.TrimSuffix(hunks, "\n"), "\n")
		if most = min(most, left); most < min(len(lines), 5) {
			hidden++
			return
		}
		if more := len(lines) - most; more > 0 {
			lines = append(lines[:most:most], fmt.Sprintf("… %s\n", plain.Counted(more, "more line")))
		}
		left -= len(lines)
		v.Changed = append(v.Changed, Patch{Title: title, Text: strings.Join(lines, "")})
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Diff != "" {
			add(f.Words, f.Diff, codeLines/4)
		}
	}
	for _, judges := range []bool{true, false} {
		for i := range r.changed {
			if c := &r.changed[i]; c.judges == judges && (judges || c.code) {
				title := c.path + " " + c.countWords()
				if judges {
					title += " · judges the branch"
				}
				add(title, c.hunks, map[bool]int{true: codeLines / 4, false: left}[judges])
			}
		}
	}
	if hidden > 0 {
		v.Unshown = []string{plain.Counted(hidden, "more file"), r.gitDiff()}
	}
}

// gitDiff is the command that shows how files differ; without names, all of them.
func (r *Review) gitDiff(names ...string) string {
	words := fmt.Sprintf("git diff %.8s", r.Base.Commit)
	if r.Head.Commit != "" {
		words += fmt.Sprintf(" %.8s", r.Head.Commit)
	}
	if len(names) > 0 {
		words += " --"
	}
	for _, name := range names {
		words += " " + plain.Shell(name)
	}
	return words
}

// RunCommit is a commit of the branch that names a run.
type RunCommit struct {
	Commit, Run string
	Words       string // what is known of the run
}

func (c *RunCommit) words() string {
	return fmt.Sprintf("commit %.8s is of run %s (%s): markmill show %s", c.Commit, c.Run, c.Words, c.Run)
}

// table is a row for each notebook: what its tests came to on the two sides and with the base's tests, and what its
// output is worth.
func (r *reviewer) table(out *Review) (rows [][]string) {
	judged := map[string]*JudgedNotebook{}
	if r.in.Judged != nil {
		for i := range r.in.Judged.Notebooks {
			if n := &r.in.Judged.Notebooks[i]; n.State != JudgeNothing {
				judged[n.Path] = n
			}
		}
	}
	row := func(name, base, head, output string) {
		cells := []string{name, base, head, output}
		if r.in.Judged != nil {
			both := ""
			if j := judged[name]; j != nil {
				cells[1], both = cmp.Or(j.Base, base), j.Both
				if j.State == JudgeNot {
					both = "not judged"
				}
				delete(judged, name)
			}
			cells = slices.Insert(cells, 3, both)
		}
		for i := range cells {
			cells[i] = cmp.Or(plain.OneLine(cells[i]), "–")
		}
		rows = append(rows, cells)
	}
	for _, n := range out.led() {
		if n.Change == Removed {
			continue
		}
		var was, is []*notebooks.Manifest
		var states []string
		for i := range n.Outputs {
			o := &n.Outputs[i]
			name := cmp.Or(r.from[o.Path], o.Path)
			if m := r.base.book(name).look().manifest(); m != nil {
				was = append(was, m)
			}
			if m := r.head.book(o.Path).look().manifest(); m != nil {
				is = append(is, m)
			}
			states = append(states, o.stateWords())
		}
		row(n.subject(), CameTo(was...), CameTo(is...), counted(states))
	}
	if r.in.Judged != nil {
		for _, n := range r.in.Judged.Notebooks {
			if judged[n.Path] != nil {
				row(n.Path, n.Base, n.Head, "")
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	head := []string{"notebook", "main", "branch", "output"}
	if r.in.Judged != nil {
		head = slices.Insert(head, 3, "branch, with main's tests")
	}
	return slices.Insert(rows, 0, head)
}

// CameTo says what runs came to: the tests of one, how many of several passed.
func CameTo(list ...*notebooks.Manifest) string {
	var ends []string
	for _, m := range list {
		ended := cmp.Or(map[string]string{"pass": "passed", "fail": "failed"}[m.Status], m.Status)
		words := ended
		passed, failed, skipped := 0, 0, 0
		for _, s := range m.Steps {
			if t := s.Tests; t != nil {
				passed, failed, skipped = passed+t.Passed, failed+t.Failed, skipped+t.Skipped
			}
		}
		if passed+failed+skipped > 0 {
			words = result.TestWords(passed, failed, skipped, "")
			if failed == 0 && m.Status != "pass" {
				words = ended + ", " + words
			}
		}
		ends = append(ends, words)
	}
	return counted(ends)
}

// counted joins words, those that stand several times once: "58 × passed; 2 × failed".
func counted(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	times := map[string]int{}
	var order []string
	for _, words := range list {
		if times[words]++; times[words] == 1 {
			order = append(order, words)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return times[b] - times[a] })
	for i, words := range order {
		order[i] = fmt.Sprintf("%d × %s", times[words], words)
	}
	return plain.Some(order, 3)
}

// stateWords are the states of an output and its level of proof.
func (o *Output) stateWords() string {
	words := plain.Some(o.States, len(o.States))
	if o.Proof != nil {
		words += " · " + string(o.Proof.Level)
	}
	return words
}

// led are the notebooks that are listed by themselves. Outputs of one source that did not change are listed with it.
func (r *Review) led() (list []*Notebook) {
	at := map[string]int{}
	for _, n := range r.Notebooks {
		i, known := at[n.subject()]
		switch {
		case !n.Leads():
			continue
		case !known || n.Kind != KindOutput:
			at[n.subject()] = len(list)
			list = append(list, n)
			continue
		case list[i].Kind == KindOutput:
			first := list[i]
			list[i] = &Notebook{Path: n.subject(), Change: Untouched, Kind: KindSource, Conditions: first.Conditions,
				Outputs: first.Outputs, members: []*Notebook{first}}
		}
		list[i].members = append(list[i].members, n)
		list[i].Outputs = slices.Concat(list[i].Outputs, n.Outputs)
	}
	return list
}

// subject is the source of an output, the path of any other notebook.
func (n *Notebook) subject() string {
	if n.Kind == KindOutput && len(n.Outputs) > 0 {
		return n.Outputs[0].Subject()
	}
	return n.Path
}

// fold is what there is to say of a notebook, and of those that follow it.
func (r *Review) fold(n *Notebook) Fold {
	f := Fold{Notebook: n, Sign: r.Sign(n)}
	if len(n.Outputs) >= sweepOutputs {
		f.Table = sweepTable(n.Outputs)
		return f
	}
	for _, m := range n.members {
		f.Members = append(f.Members, r.fold(m))
	}
	return f
}

// sweepTable shows many outputs of one notebook: those that came to the same are one row.
func sweepTable(outputs []Output) [][]string {
	rows := [][]string{{"outputs", "state", "tests", "parameters"}}
	at := map[[2]string]int{}
	var names, given [][]string
	for i := range outputs {
		o := &outputs[i]
		key := [2]string{o.stateWords(), o.cameTo}
		row, ok := at[key]
		if !ok {
			row = len(names)
			at[key] = row
			names, given = append(names, nil), append(given, nil)
			rows = append(rows, []string{"", key[0], cmp.Or(key[1], "–"), ""})
		}
		names[row] = append(names[row], o.Path)
		var values []string
		for _, p := range o.Given {
			values = append(values, p.Name+"="+plain.Cut(plainValue(p.Value), 40))
		}
		given[row] = append(given[row], strings.Join(values, " "))
	}
	for i := range names {
		rows[i+1][0] = fmt.Sprintf("%d: %s", len(names[i]), plain.Some(names[i], 3))
		rows[i+1][3] = plain.Some(given[i], 3)
	}
	return rows
}
