package rerun

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"markmill/cmd/internal/views"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// side is one of the two runs.
type side struct {
	run    *runs.Run
	source []byte
	output compare.Output
}

// comparison is in progress.
type comparison struct {
	*runs.Rerun
	was, now *side
	nb       *notebooks.Notebook
	rules    *safe.RuleBook
	more     safe.Rules // besides the notebook's
	trees    bool       // whole trees are compared: both began with the same
}

// Compare compares a run with one that repeats it, by their records alone. normalize are rules besides the notebook's.
func Compare(was, now *runs.Record, normalize []notebooks.Normalize) (*runs.Rerun, error) {
	c := comparison{Rerun: &runs.Rerun{Differences: []runs.RerunDifference{}, Notes: []string{}, Normalize: normalize}}
	var err error
	if c.more, err = safe.NewRules(normalize); err != nil {
		return nil, err
	}
	if c.was, err = load(was); err != nil {
		return nil, err
	}
	if c.now, err = load(now); err != nil {
		return nil, err
	}
	if c.nb, err = render.Recorded(c.was.run, c.was.source); err != nil {
		return nil, err
	}
	c.rules = safe.NewRuleBook(c.nb)
	c.Run, c.Rerun.Rerun = c.was.run.ID, c.now.run.ID
	if c.Sums, err = was.Sums(); err != nil {
		return nil, err
	}
	if c.RerunSums, err = now.Sums(); err != nil {
		return nil, err
	}
	if of := c.now.run.Started.Rerun; of != nil {
		c.OtherBase = of.Base
	}
	c.trees = c.OtherBase == ""
	c.whole()
	if err := c.steps(); err != nil {
		return nil, err
	}
	c.Agrees = len(c.Differences) == 0
	return c.Rerun, nil
}

// attemptsWords are how the summary of a step says that it took several attempts.
var attemptsWords = lazyregexp.New(` · \d+ attempts`)

func load(record *runs.Record) (*side, error) {
	run, source, err := record.Load()
	if err != nil {
		return nil, err
	}
	s := &side{run: run, source: source}
	name := run.OutputFile()
	var made bytes.Buffer // both are made by this version, whichever made the runs
	if err := views.FoldView(&made, record, run, source, name); err != nil {
		return nil, err
	}
	if !forms.IsJupyter(name, made.Bytes()) {
		s.output = compare.Markdown(region.Strip(name, made.Bytes()), render.ParametersRegion)
		for _, step := range s.output.Steps { // another number of attempts is a note
			if len(step.Lines) > 0 {
				step.Lines[0] = attemptsWords.ReplaceAllString(step.Lines[0], "")
			}
		}
		return s, nil
	}
	nb, err := ipynb.Parse(name, made.Bytes())
	if err != nil {
		return nil, err
	}
	cells, err := nb.StepCells(false)
	if err != nil {
		return nil, err
	}
	s.output = compare.Jupyter(nb, cells, compare.JupyterOptions{Paths: safe.NewNames(run.Started.Paths).Replace})
	return s, nil
}

// same compares two results.
func (c *comparison) same(step notebooks.StepID, what, was, now string) bool {
	c.Compared++
	if was != now {
		c.Differences = append(c.Differences, runs.RerunDifference{Step: string(step), What: what, Was: was, Now: now})
	}
	return was == now
}

func (c *comparison) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// whole compares the runs as a whole.
func (c *comparison) whole() {
	was, now := c.was.run, c.now.run
	c.same("", "source", string(was.Source), string(now.Source))
	c.same("", "status", string(was.Status()), string(now.Status()))
	c.same("", "blockers", blockers(was), blockers(now))
	c.same("", "parameters", parameters(was), parameters(now))
	if back := now.Contract.Reversed; len(back) > 0 {
		c.note("its change was in that commit already, and was taken back first: %s", plain.Some(back, 5))
	}
	if was.Diff == nil || was.Diff.Skipped != "" || now.Diff == nil || now.Diff.Skipped != "" {
		c.note("one of the runs ended before its whole change was looked at")
		return
	}
	varies := map[notebooks.StepID]bool{}
	for _, s := range was.Steps {
		varies[s.Planned.ID] = slices.Contains(s.Planned.Tags, notebooks.TagVolatile)
	}
	paths := changedPaths(was.Diff.Files, now.Diff.Files)
	differ := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return varies[was.ChangedBy(path)] })
	if n := len(paths) - len(differ); n > 0 {
		c.note("%s that a volatile step wrote: not compared", plain.Counted(n, "file"))
	}
	if !c.trees {
		c.change("", differ, was.Diff.Files, now.Diff.Files)
		return
	}
	c.same("", "base commit", was.Diff.BaseCommit, now.Diff.BaseCommit)
	if len(paths) > 0 && len(differ) == 0 {
		return
	}
	if !c.same("", "tree", was.Diff.ResultTree, now.Diff.ResultTree) {
		c.Differences[len(c.Differences)-1].Paths = differ
	}
}

// blockers are the reasons why a run did not pass, without their words, which have times and paths.
func blockers(run *runs.Run) string {
	var words []string
	for _, b := range run.Blockers() {
		word := b.Code
		if b.Step != "" {
			word += " in " + string(b.Step)
		}
		if b.Rule != "" {
			word += " (" + b.Rule + ")"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// parameters are the values that a run worked with, but for those that only an interpreter knows, and for secrets,
// whose digests are those of one record.
func parameters(run *runs.Run) string {
	var words []string
	for _, p := range run.Contract.Parameters {
		value := string(p.Value)
		if p.Type == string(notebooks.TypeSecret) {
			value = "(secret)"
		}
		words = append(words, p.Name+"="+value)
	}
	return strings.Join(words, " ")
}

// change compares two changes; paths are those that they leave with different content.
func (c *comparison) change(step notebooks.StepID, paths []string, was, now []runs.ChangedFile) {
	c.Compared++
	if len(paths) > 0 {
		c.Differences = append(c.Differences, runs.RerunDifference{Step: string(step), What: "change",
			Was: render.ChangeWords(was), Now: render.ChangeWords(now), Paths: paths})
	}
}

// changedPaths are the paths that two changes leave with different content, sorted.
func changedPaths(was, now []runs.ChangedFile) []string {
	left := func(files []runs.ChangedFile) map[string]string {
		out := map[string]string{}
		for _, f := range files {
			out[f.Path] = f.NewMode + " " + f.NewBlob
			if f.OldPath != "" && f.OldPath != f.Path && f.Status == "renamed" {
				out[f.OldPath] = " "
			}
		}
		return out
	}
	a, b := left(was), left(now)
	paths := map[string]bool{}
	for path, is := range a {
		if other, there := b[path]; !there || other != is {
			paths[path] = true
		}
	}
	for path := range b {
		if _, there := a[path]; !there {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// steps compares the steps, and what they left.
func (c *comparison) steps() error {
	results, err := compare.Compare(c.nb, c.now.run, c.was.output, c.now.output, compare.Options{
		Rules: c.more, From: string(c.was.run.ID), To: string(c.now.run.ID)})
	if err != nil {
		return err
	}
	texts := map[string]compare.Result{}
	for _, r := range results {
		texts[r.Step] = r
	}
	again := map[notebooks.StepID]*runs.StepRecord{}
	for i := range c.now.run.Steps {
		again[c.now.run.Steps[i].Planned.ID] = &c.now.run.Steps[i]
	}
	for i := range c.was.run.Steps {
		was := &c.was.run.Steps[i]
		id := was.Planned.ID
		now := again[id]
		delete(again, id)
		if now == nil {
			c.same(id, "step", "planned", "not in the plan")
			continue
		}
		if err := c.step(was, now, texts[string(id)]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(again)) {
		c.same(id, "step", "not in the plan", "planned")
	}
	return nil
}

func (c *comparison) step(was, now *runs.StepRecord, text compare.Result) error {
	id := was.Planned.ID
	same := c.same(id, "status", ended(was), ended(now))
	if was.Finished == nil || now.Finished == nil {
		return nil
	}
	if a, b := attempts(was), attempts(now); a != b {
		c.note("step %s took %s then, and %s now", id, a, b)
	}
	if slices.Contains(was.Planned.Tags, notebooks.TagVolatile) {
		c.note("step %s is volatile: its output, scraps and change are not compared by themselves", id)
		return nil
	}
	same = c.same(id, "error", errorOf(was), errorOf(now)) && same
	same = c.same(id, "tests", tests(was), tests(now)) && same
	c.change(id, changedPaths(filesOf(was), filesOf(now)), filesOf(was), filesOf(now))
	rules, err := c.rules.Of(c.stepOf(id))
	if err != nil {
		return err
	}
	rules = append(slices.Clip(rules), c.more...)
	a, b := scraps(was, rules), scraps(now, rules)
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.same(id, "scrap "+name, a[name], b[name])
	}
	c.same(id, "results", displays(was), displays(now))
	c.Compared++
	if text.Diff != "" {
		words := ""
		if same { // what ended another way says so above; the text is shown all the same
			words = text.Words
		}
		c.Differences = append(c.Differences, runs.RerunDifference{Step: string(id), What: "output",
			Was: words, Diff: text.Diff})
		if len(text.Normalize) > 0 {
			c.note("step %s: normalize: [%s] would mask the difference of its output", id, strings.Join(text.Normalize,
				", "))
		}
	}
	return nil
}

func (c *comparison) stepOf(id notebooks.StepID) *notebooks.Step {
	if s := c.nb.Step(id); s != nil {
		return s
	}
	return &notebooks.Step{ID: id}
}

// ended says how a step ended.
func ended(s *runs.StepRecord) string {
	words := string(s.Status())
	if f := s.Finished; f != nil {
		if s.Step != nil {
			words += fmt.Sprintf(", exit %d", f.Exit)
		}
		if f.TerminatedBy != "" {
			words += ", ended by " + f.TerminatedBy
		}
	}
	return words
}

func attempts(s *runs.StepRecord) string {
	return plain.Counted(max(1, s.Finished.Attempts), "attempt")
}

// errorOf is the error of a step without its value, which the output has, and which normalize rules apply to there.
func errorOf(s *runs.StepRecord) string {
	if e := s.Finished.Error; e != nil {
		return e.Name
	}
	return ""
}

func tests(s *runs.StepRecord) string {
	t := s.Finished.Tests
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
}

func filesOf(s *runs.StepRecord) []runs.ChangedFile {
	if s.Patch == nil {
		return nil
	}
	return s.Patch.Files
}

// scraps are the values of a step's scraps; of one recorded more than once, the last.
func scraps(s *runs.StepRecord, rules safe.Rules) map[string]string {
	out := map[string]string{}
	for _, scrap := range s.Scraps {
		value := string(scrap.Digest)
		if value == "" {
			value = rules.Line(canonical(scrap.Value))
		}
		out[scrap.Name] = cmp.Or(scrap.Type, "json") + " " + value
	}
	return out
}

// canonical is a JSON value with sorted keys.
func canonical(value codec.Raw) string {
	var v any
	if codec.Unmarshal(value, &v) == nil {
		if text, err := codec.Marshal(v); err == nil {
			return string(text)
		}
	}
	return string(value)
}

// displays are the digests of a step's pictures and other results that are no text: the output shows those that are.
func displays(s *runs.StepRecord) string {
	var words []string
	for _, d := range s.Finished.Displays {
		if !strings.HasPrefix(d.MIME, "text/") && d.MIME != "application/json" {
			words = append(words, d.MIME+" "+string(d.Digest))
		}
	}
	return strings.Join(words, ", ")
}
