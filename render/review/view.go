package review

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"

	"markmill/render/plain"
)

// View is a review as a reader meets it. Markdown, the terminal and the page write it, and decide nothing.
type View struct {
	Sign, Verdict string
	Base, Head    string
	Facts         []string   // what changed: "code 1 file +42 −7"
	Findings      []Line     // numbered, as many as the first screen has room for
	More          []Line     // the others
	MoreWords     string     // counts the others by condition
	Table         [][]string // the first row has the names of the columns
	Notes         []string
	Changed       []Patch  // changed code, what judges it first
	Unshown       []string // words on what else changed, and the command that shows it
	Folds         []Fold   // one for each notebook
}

// Line is a finding: a sentence, its place, and the command that shows more.
type Line struct {
	Sign    string
	Path    string
	Others  int // further paths of which the same is true
	Step    string
	Words   string
	Command string
	ID      string // for review --accept
	on      Condition
}

// Patch is how the branch changed a file.
type Patch struct {
	Title string
	Text  string // hunks of a unified diff
}

// Fold is what there is to say of a notebook and, if it leads others, of those.
type Fold struct {
	*Notebook
	Sign    string
	Table   [][]string // of the outputs of a sweep
	Members []Fold
}

// Room of the first screen, in lines, and of the changed code.
const (
	screenLines = 14 // findings and rows together; head, rules and empty lines take eleven
	codeLines   = 200
)

// sweepOutputs is how many outputs of one notebook are shown as a table.
const sweepOutputs = 5

// View returns the review as a reader meets it.
func (r *Review) View() *View {
	v := &View{Sign: r.VerdictSign(), Verdict: r.VerdictWords(), Facts: r.factWords(), Table: r.rows}
	v.Base, v.Head = r.Title()
	lines := r.lines()
	rows := max(0, len(v.Table)-1)
	if most := max(screenLines/2, screenLines-len(lines)); rows > most {
		v.Notes = append(v.Notes, plain.Counted(rows-most, "more notebook")+" below")
		v.Table, rows = v.Table[:most+1], most
	}
	shown := min(len(lines), screenLines-rows)
	if shown < len(lines) {
		shown-- // for the line that counts the rest
	}
	v.Findings, v.More = lines[:shown], lines[shown:]
	v.MoreWords = countLines(v.More)
	for i := range r.Runs {
		v.Notes = append(v.Notes, r.Runs[i].words())
	}
	if r.Judged != nil {
		v.Notes = append(v.Notes, r.Judged.CostWords())
	}
	if len(r.ReadsUnknown) > 0 {
		v.Notes = append(v.Notes, "not known: what the tests of "+some(r.ReadsUnknown)+" read")
	}
	r.patches(v)
	for _, n := range r.led() {
		v.Folds = append(v.Folds, r.fold(n))
	}
	return v
}

// lines are the findings, those that say the same of several files as one.
func (r *Review) lines() (lines []Line) {
	type same struct{ sign, step, words, id string }
	at, red := map[same]int{}, map[[2]string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if place := [2]string{f.Path, f.Step}; f.Condition == OnRed {
			red[place] = true
		} else if f.Condition == OnFailed && red[place] { // the same, said of the run
			continue
		}
		key := same{f.Sign(), f.Step, f.Words, f.ID}
		if first, ok := at[key]; ok {
			lines[first].Others++
			continue
		}
		at[key] = len(lines)
		lines = append(lines, Line{Sign: f.Sign(), Path: f.Path, Step: f.Step, Words: f.Words, ID: f.ID,
			Command: r.command(f), on: f.Condition})
	}
	return lines
}

// countLines counts findings by condition.
func countLines(lines []Line) string {
	left := map[Condition]int{}
	for _, l := range lines {
		left[l.on] += 1 + l.Others
	}
	return countWords(left, Conditions)
}

// command is what shows more of a finding.
func (r *Review) command(f *Finding) string {
	side := func(v Revision, name string) string {
		if v.Commit != "" {
			name = fmt.Sprintf("%.8s:%s", v.Commit, name)
		}
		return plain.Shell(name)
	}
	if n := r.notebook(f.Path); n != nil {
		o := n.outputOf(f.Path)
		switch {
		case f.Condition == OnOutdated && o != nil && len(o.Reasons) > 0:
			var names []string
			for _, reason := range o.Reasons[:min(len(o.Reasons), 3)] {
				names = append(names, reason.Path)
			}
			return r.gitDiff(names...)
		case n.Change != Removed && o != nil && o.Has(Missing):
			return "markmill status " + plain.Shell(o.Subject())
		case n.Change == Untouched || n.Change == Added:
			return "markmill show " + side(r.Head, f.Path)
		case n.Change == Removed:
			return "markmill show " + side(r.Base, cmp.Or(n.From, f.Path))
		case n.Path == f.Path:
			return "markmill diff " + side(r.Base, cmp.Or(n.From, n.Path)) + " " + side(r.Head, n.Path)
		}
		return "markmill show " + side(r.Head, f.Path)
	}
	if len(f.Files) == 0 || len(f.Files) > 3 {
		return r.gitDiff(f.Path)
	}
	return r.gitDiff(f.Files...)
}

// notebook returns the notebook that is at a path or has its output there.
func (r *Review) notebook(name string) *Notebook {
	at := slices.IndexFunc(r.Notebooks, func(n *Notebook) bool { return n.Path == name })
	if at < 0 {
		at = slices.IndexFunc(r.Notebooks, func(n *Notebook) bool { return n.outputOf(name) != nil })
	}
	if at < 0 {
		return nil
	}
	return r.Notebooks[at]
}

// Notes are those of the notebook; the table of a sweep has what its outputs came to.
func (f *Fold) Notes() []Note {
	n := *f.Notebook
	if f.Table != nil {
		n.Outputs = nil
	}
	return n.Notes()
}

// When a removed and an added file count as a rename.
const (
	mostAlike  = 0.5 // of their lines are the same, as Git asks
	maxHolders = 30  // a line that more files have than this tells nothing
)

// renames pairs removed files with similar added ones, in time near linear in their lines.
func (r *reviewer) renames(files []File) []File {
	seed := maphash.MakeSeed()
	holders := map[uint64][]int{} // of lines that went: the files
	sizes := map[int]int{}
	for i, f := range files {
		if f.New {
			continue
		}
		lines := lineSet(seed, r.base.book(f.Path))
		if lines == nil {
			continue
		}
		sizes[i] = len(lines)
		for l := range lines {
			if len(holders[l]) <= maxHolders {
				holders[l] = append(holders[l], i)
			}
		}
	}
	if len(sizes) == 0 {
		return files
	}
	type match struct {
		came, went int
		score      float64
	}
	var matches []match
	for i, f := range files {
		if f.Old {
			continue
		}
		b, shared := r.head.book(f.Path), map[int]int{}
		lines := lineSet(seed, b)
		for l := range lines {
			if len(holders[l]) <= maxHolders {
				for _, went := range holders[l] {
					shared[went]++
				}
			}
		}
		for went, n := range shared {
			score := float64(n) / float64(max(len(lines), sizes[went]))
			if score >= mostAlike && path.Ext(files[went].Path) == path.Ext(f.Path) &&
				r.base.book(files[went].Path).kind == b.kind {
				matches = append(matches, match{i, went, score})
			}
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(files[a.came].Path, files[b.came].Path),
			strings.Compare(files[a.went].Path, files[b.went].Path))
	})
	taken := map[int]bool{}
	for _, m := range matches {
		if taken[m.came] || taken[m.went] {
			continue
		}
		taken[m.came], taken[m.went] = true, true
		files[m.came].From, files[m.came].Old = files[m.went].Path, true
		files[m.went] = File{}
	}
	return slices.DeleteFunc(files, func(f File) bool { return f.Path == "" })
}

// lineSet returns the distinct lines of a notebook that are worth comparing, nil of what is no notebook.
func lineSet(seed maphash.Seed, b *book) map[uint64]bool {
	if b.look().kind == "" || b.err != nil {
		return nil
	}
	out := map[uint64]bool{}
	for line := range bytes.Lines(b.raw) {
		if line = bytes.TrimSpace(line); len(line) > 3 && !bytes.HasPrefix(line, []byte("<!-- markmill:")) {
			out[maphash.Bytes(seed, line)] = true
		}
	}
	return out
}
