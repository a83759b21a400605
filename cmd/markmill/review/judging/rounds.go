package judging

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// rounds are the runs of one notebook: on the branch's code with the base's judges, on the base, and again what fails.
type rounds struct {
	*judging
	c      *change
	n      *review.JudgedNotebook
	name   string
	source []byte
	nb     *notebooks.Notebook
	pair   [2]*stored // its outputs on both sides; nil: there is none

	instead map[string][]byte // judge files that do not load as the base has them
	because []string          // why
}

// mostRounds is how often what does not load is taken as the branch has it: a compiler names the next one each time.
const mostRounds = 4

// mostAgain is how often what fails runs again on both sides: as long as some of it passes, and so the rest may be
// unstable, too.
const mostAgain = 3

const (
	onBoth = "the branch, with main's tests"
	onBase = "main"
)

// changing are the steps that make the change: what changed files in the last run. Where no run is known, and the
// notebook is to change something, these are all that neither judge nor set up.
func (r *rounds) changing() (list []notebooks.StepID) {
	known := cmp.Or(r.pair[0], r.pair[1])
	for _, s := range r.nb.Steps {
		if known == nil && slices.Contains(r.nb.Front.Require, "diff") {
			list = append(list, s.ID)
		}
	}
	if known != nil {
		for _, s := range known.manifest.Steps {
			if s.Files > 0 {
				list = append(list, s.ID)
			}
		}
	}
	return list
}

// judge runs what must be run, and grades it.
func (r *rounds) judge(ctx context.Context) error {
	both, err := r.both(ctx, nil)
	if err != nil {
		return err
	}
	r.n.Both = both.words()
	if both.passed() {
		r.n.State = review.JudgePassed
		r.noneRan(both)
		return nil
	}
	base, err := r.run(ctx, onBase, nil, nil)
	if err != nil {
		return err
	}
	r.n.Base = base.words()
	switch {
	case base.stopped != "":
		r.n.State, r.n.Words = review.JudgeNot, base.stopped
		return nil
	case both.stopped != "":
		r.n.State = review.JudgeFailed
		r.add(review.JudgedTest{Grade: review.GradeObjection,
			Words: "the tests start on main, and not on the branch: " + both.stopped})
		return nil
	}
	for range mostRounds { // what does not load is taken as the branch has it
		if !r.narrow(both, base) {
			break
		}
		if both, err = r.both(ctx, nil); err != nil {
			return err
		}
		r.n.Both = both.words()
	}
	r.n.State = review.JudgeFailed
	for _, id := range r.order(both) {
		if err := r.step(ctx, id, both.steps[id], base.steps[id]); err != nil {
			return err
		}
	}
	r.notLoaded()
	switch bad := func(t review.JudgedTest) bool { return t.Grade != review.GradeTold }; {
	case slices.ContainsFunc(r.n.Tests, bad):
	case both.passed():
		r.n.State = review.JudgePassed
	case !base.passed() && len(base.failed()) > 0:
		r.n.State = review.JudgePassed
		r.add(review.JudgedTest{Grade: review.GradeTold, Words: "fail on main, too: " + plain.Some(base.failed(), 3)})
	case !base.passed():
		r.n.State, r.n.Words = review.JudgeNot, "they do not pass on main: "+base.ending()
	default:
		r.n.State = review.JudgePassed
	}
	return nil
}

// both runs the base's judges on the code of the branch.
func (r *rounds) both(ctx context.Context, only []runs.FailedTest) (*outcome, error) {
	overlay, err := r.c.overlay(r.instead)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, onBoth, overlay, only)
}

func (r *rounds) add(t review.JudgedTest) { r.n.Tests = append(r.n.Tests, t) }

// order lists the judges that ran, in the order of the notebook.
func (r *rounds) order(o *outcome) (list []notebooks.StepID) {
	for _, s := range r.nb.Steps {
		if o.steps[s.ID] != nil {
			list = append(list, s.ID)
		}
	}
	return list
}

// noneRan adds the objection to a pass of no test where main had some.
func (r *rounds) noneRan(both *outcome) {
	if r.pair[0] == nil {
		return
	}
	for _, was := range r.pair[0].manifest.Steps {
		is := both.steps[was.ID]
		if was.Tests == nil || was.Tests.Passed == 0 || is == nil {
			continue
		}
		switch {
		case is.counts == nil || is.counts.Passed == 0:
			r.n.State = review.JudgeFailed
			r.add(review.JudgedTest{Grade: review.GradeObjection, Step: string(was.ID),
				Words: fmt.Sprintf("%d of main's tests passed before, and none passes now", was.Tests.Passed)})
		case is.counts.Passed < was.Tests.Passed:
			r.add(review.JudgedTest{Grade: review.GradeTold, Step: string(was.ID),
				Words: fmt.Sprintf("%d of main's tests passed before, %d now", was.Tests.Passed, is.counts.Passed)})
		}
	}
}

// step grades what one judge came to. what failed is run again, alone if its runner can be told so, on both.
func (r *rounds) step(ctx context.Context, id notebooks.StepID, both, base *judgedStep) error {
	if both.passed || base == nil {
		return nil
	}
	add := func(grade review.Grade, words string) {
		r.add(review.JudgedTest{Grade: grade, Step: string(id), Words: words})
	}
	var failed, loads []runs.FailedTest // what fails, and what does not load, on the branch alone
	for _, t := range both.failed {
		file := r.judgeFile(t.File)
		switch instead, replaced := r.instead[file]; {
		case hasTest(base.failed, t):
		case !t.Load:
			failed = append(failed, t)
		case file == "" || replaced && bytes.Equal(instead, r.c.now.text(file)): // not because the branch changed it
			loads = append(loads, t)
		}
	}
	switch {
	case both.late && !base.late:
		add(review.GradeObjection, "with main's tests it does not end in time: "+both.words+"; on main it ends")
		return nil
	case both.counts == nil && base.ran() && (base.counts != nil || len(both.failed) == 0 && len(base.failed) > 0):
		add(review.GradeObjection, "main's tests do not start on the branch, and start on main: "+lastLine(both.output))
		return nil
	case len(loads) > 0 && base.ran():
		add(review.GradeObjection, "main's tests load on main, and not on the branch: "+loadWords(loads))
	case len(both.failed) == 0 && base.passed:
		r.unnamed(add, both, base)
	case len(failed) == 0 && r.instead == nil && both.counts != nil && base.counts != nil &&
		both.counts.Passed < base.counts.Passed:
		r.unnamed(add, both, base)
	}
	if len(failed) == 0 {
		return nil
	}
	for range mostAgain {
		again, err := r.both(ctx, failed)
		if err != nil {
			return err
		}
		stable, err := r.run(ctx, onBase, nil, failed)
		if err != nil {
			return err
		}
		all := len(failed)
		failed = slices.DeleteFunc(failed, func(t runs.FailedTest) bool {
			still := again.steps[id] == nil || slices.ContainsFunc(again.steps[id].failed,
				func(o runs.FailedTest) bool { return o.Name == t.Name })
			onMain := stable.steps[id] != nil && hasTest(stable.steps[id].failed, t)
			if still && !onMain {
				return false
			}
			where := "on main"
			if !onMain {
				where = "on the branch"
			}
			r.add(review.JudgedTest{Grade: review.GradeTold, Step: string(id), Test: t.Name, File: t.File,
				Words: "is unstable " + where + ": it failed once and passed once"})
			return true
		})
		if len(failed) == 0 || len(failed) == all {
			break
		}
	}
	for _, t := range failed {
		graded := r.c.grade(t)
		graded.Step = string(id)
		r.add(graded)
	}
	return nil
}

// ran reports whether some test ran.
func (s *judgedStep) ran() bool {
	return s.passed || s.counts != nil && s.counts.Passed > 0 ||
		slices.ContainsFunc(s.failed, func(t runs.FailedTest) bool { return !t.Load })
}

func hasTest(list []runs.FailedTest, t runs.FailedTest) bool {
	return slices.ContainsFunc(list, func(o runs.FailedTest) bool { return o.Name == t.Name && o.File == t.File })
}

// unnamed grades a judge whose runner names no failed test.
func (r *rounds) unnamed(add func(review.Grade, string), both, base *judgedStep) {
	words := fmt.Sprintf("%s on main, %s on the branch with main's tests", stepWords(base), stepWords(both))
	if r.c.sameJudges() {
		add(review.GradeObjection, words)
	} else {
		add(review.GradeDecide, words+"; the branch changed "+plain.Some(r.c.Judges, 3))
	}
}

func stepWords(s *judgedStep) string {
	if s.counts != nil {
		return wordsOf(s.counts)
	}
	if s.passed {
		return "passed"
	}
	return s.words
}

// lastLine is the last line that says something.
func lastLine(text string) string {
	lines := strings.Split(text, "\n")
	for _, l := range slices.Backward(lines) {
		if l = plain.OneLine(plain.Resolve([]byte(l))); l != "" {
			return plain.Cut(l, 200)
		}
	}
	return "it printed nothing"
}

func loadWords(list []runs.FailedTest) string {
	for _, t := range list {
		if t.Load {
			return plain.Cut(plain.OneLine(strings.TrimSpace(t.File+" "+t.Words)), 200)
		}
	}
	return ""
}

// narrow takes judge files that do not load on the branch as the branch has them: in Go the function in which the
// compiler finds a mistake, and where that does not help, and elsewhere, the file. It reports whether it did.
func (r *rounds) narrow(both, base *outcome) bool {
	found := false
	for id, s := range both.steps {
		was := base.steps[id]
		if s.passed || was == nil {
			continue
		}
		loads := slices.DeleteFunc(slices.Clone(s.failed), func(t runs.FailedTest) bool {
			return !t.Load || hasTest(was.failed, t)
		})
		for _, t := range loads {
			file := r.judgeFile(t.File)
			if file == "" {
				continue
			}
			found = r.replace(file, t) || found
		}
		if len(s.failed) == 0 && was.counts != nil && s.counts == nil { // the runner did not get that far
			for _, p := range r.c.Judges {
				if len(r.c.old.text(p)) > 0 && strings.Contains(s.output, path.Base(p)) {
					found = r.replace(p, runs.FailedTest{Words: lastLine(s.output)}) || found
				}
			}
		}
	}
	return found
}

// judgeFile is the changed judge file that a runner means.
func (r *rounds) judgeFile(named string) string {
	named = strings.TrimPrefix(named, "./")
	best := ""
	for _, p := range r.c.Judges {
		stem := strings.TrimSuffix(p, path.Ext(p))
		if p == named || strings.HasSuffix(named, "/"+p) || strings.HasSuffix("/"+p, "/"+named) ||
			strings.HasSuffix("/"+stem, "/"+strings.ReplaceAll(named, ".", "/")) {
			if best == "" || len(p) < len(best) {
				best = p
			}
		}
	}
	return best
}

// replace has a judge file, or the function at a mistake in it, as the branch has it.
func (r *rounds) replace(file string, t runs.FailedTest) bool {
	if r.instead == nil {
		r.instead = map[string][]byte{}
	}
	is, before := r.c.now.text(file), r.instead[file]
	if before == nil && path.Ext(file) == ".go" && t.Line > 0 {
		before = r.c.old.text(file)
	}
	whole := before == nil || path.Ext(file) != ".go" || t.Line == 0
	if !whole {
		text, ok := replaceFunction(before, is, t.Line, r.c.now.definitions(file))
		if whole = !ok; ok {
			r.instead[file] = text
		}
	}
	if whole {
		if old, ok := r.instead[file]; ok && string(old) == string(is) {
			return false
		}
		r.instead[file] = append([]byte{}, is...)
		if is == nil && path.Ext(file) == ".go" { // Go takes no empty file
			r.instead[file] = []byte(packageClause(string(r.c.old.text(file))))
		}
	}
	if words := plain.Cut(plain.OneLine(t.Words), 160); words != "" && !slices.Contains(r.because, words) {
		r.because = append(r.because, words)
	}
	return true
}

func packageClause(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "package ") {
			return line
		}
	}
	return ""
}

// replaceFunction puts the branch's function of the same name in the place of the one at a line. It reports false if it
// cannot.
func replaceFunction(text, branch []byte, line int, has []definition) ([]byte, bool) {
	if branch == nil {
		return nil, false
	}
	for _, d := range goDefinitions(text) {
		if line < d.from || line > d.to || !strings.HasPrefix(d.text, "func") {
			continue
		}
		instead := ""
		for _, o := range has {
			if o.name == d.name {
				instead = o.text
			}
		}
		if instead == d.text || strings.Count(string(text), d.text) != 1 {
			return nil, false
		}
		return []byte(strings.Replace(string(text), d.text, instead, 1)), true
	}
	return nil, false
}

// notLoaded adds what could not be judged, because it does not load as the base has it.
func (r *rounds) notLoaded() {
	if len(r.instead) == 0 {
		return
	}
	var lost []string
	for file, text := range r.instead {
		now := definitions(file, text)
		for _, d := range r.c.old.definitions(file) {
			same := func(o definition) bool { return o.name == d.name && o.text == d.text }
			if d.test && !slices.ContainsFunc(now, same) {
				lost = append(lost, d.name)
			}
		}
	}
	why := plain.Some(r.because, 2)
	if gone := r.goneName(); gone != "" {
		why = gone + " is gone"
	}
	slices.Sort(lost)
	words := fmt.Sprintf("%s could not be judged (%s): %s", plain.Counted(len(lost), "old test"), plain.Some(lost, 3),
		why)
	grade := review.GradeDecide
	if len(lost) == 0 {
		grade, words = review.GradeTold, "main's tests load only with the branch's version of some files: "+why
	}
	files := []string{}
	for file := range r.instead {
		files = append(files, file)
	}
	slices.Sort(files)
	r.add(review.JudgedTest{Grade: grade, File: files[0], Words: words,
		Diff: unified(string(r.c.old.text(files[0])), string(r.c.now.text(files[0])))})
}

// goneName is a name that the code no longer has and that the reasons tell.
func (r *rounds) goneName() string {
	for _, why := range r.because {
		for _, w := range word.FindAllString(why, -1) {
			if r.c.goneNames()[w] {
				return w
			}
		}
	}
	return ""
}
