package engine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// fork decides where the fork of a run begins: at the step that was asked for, or at the first that did not pass. It
// begins earlier where it must: at the first step that differs from that of the run, that did not pass in it, or that
// reads a parameter which has another value now. That makes every carried step one that would do the same again, as far
// as its text tells.
func (i *InterruptedRun) fork(e *Engine, p *Plan) (*runs.ForkData, error) {
	f := &runs.ForkData{Asked: p.request.At, Digest: i.Run.Source,
		File: runs.ForkedSource(i.Run.ID, i.Run.Started.SourceFile)}
	then := p.request
	then.Path, then.Source = i.Run.Started.Notebook, i.Source
	was, err := e.Parse(then)
	if err != nil {
		return nil, i.refuse("its notebook cannot be read by this version", "run the notebook again")
	}
	now, err := e.Parse(p.request)
	if err != nil {
		return nil, err
	}
	other, ungiven := i.otherParameters(p)
	var errs errorList
	for _, name := range ungiven {
		errs.add(lostSecret(p.request.Path, name))
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	f.Parameters = other
	until := len(p.steps)
	if f.Asked != "" {
		until = slices.IndexFunc(p.steps, func(s PlannedStep) bool { return s.ID == f.Asked })
		if until < 0 {
			ids := make([]string, len(p.steps))
			for n, s := range p.steps {
				ids[n] = string(s.ID)
			}
			e := noStep("--at", string(p.request.At), ids)
			e.File = p.request.Path
			return nil, e
		}
	}
	files, err := i.beginsWith(p)
	if err != nil {
		return nil, err
	}
	if files != nil {
		defer files.Close()
	}
	at, reason := 0, otherFront(was.Front, now.Front)
	for reason == "" && at < until {
		s := &p.steps[at]
		reason = i.notCarried(s, was, f.Parameters)
		if reason == "" && files != nil && i.Run.Steps[s.Index].Finished.Reads != nil {
			reason, err = i.otherReads(e, runs.At(i.Dir), &i.Run.Steps[s.Index], p, files.View())
		}
		if err != nil {
			return nil, err
		}
		if reason == "" {
			at++
		}
	}
	if at < len(p.steps) {
		f.At = p.steps[at].ID
	}
	if f.At != f.Asked {
		f.Reason = reason
	}
	if f.Asked == "" && f.At == "" && i.Run.Status().Passed() && bytes.Equal(p.request.Source, i.Source) {
		return nil, i.refuse("it passed, and nothing differs now",
			"change the notebook or a parameter, or give --at STEP")
	}
	return f, nil
}

// beginsWith are the files that a fork begins with, if uncommitted changes are among them, which may be others than
// those that the run took along; else nil. It is nil, too, where it is not known what the run read: then each carried
// step must leave the tree that it left.
func (i *InterruptedRun) beginsWith(p *Plan) (*worktree.Files, error) {
	if p.request.Dirty != DirtyInclude || p.base == "" || i.Run.Inputs == nil || i.Run.Inputs.Unknown != "" {
		return nil, nil
	}
	return p.source.FilesOnDisk(p.base, p.uncommitted)
}

// notCarried says why a step cannot be carried from the run; "" if it can.
func (i *InterruptedRun) notCarried(s *PlannedStep, was *notebooks.Notebook, parameters []string) string {
	if s.Index >= len(was.Steps) || was.Steps[s.Index].ID != s.ID || s.Index >= len(i.Run.Steps) {
		return fmt.Sprintf("step %s is new, or stands elsewhere now", s.ID)
	}
	record := &i.Run.Steps[s.Index]
	switch {
	case !s.SameWork(was.Steps[s.Index]):
		return fmt.Sprintf("step %s has changed", s.ID)
	case record.Planned.Kernel != s.Session || record.Planned.Lang != s.Lang ||
		(record.Planned.Action == runs.ActionRun) != (s.Skip == ""):
		return fmt.Sprintf("step %s is run by another kernel, or is left out, in one of the two", s.ID)
	case record.Finished == nil:
		return fmt.Sprintf("step %s was not reached", s.ID)
	}
	if name := reads(s, parameters); name != "" {
		return fmt.Sprintf("step %s reads the parameter %s, which has another value now", s.ID, name)
	}
	done := record.Finished
	blames := func(b runs.Blocker) bool { return b.Step == s.ID }
	switch {
	case done.Status == runs.StepSkipped && done.Reason != interruptedWords:
		return "" // the same is decided again
	case !whole(record):
		return fmt.Sprintf("step %s did not come to its end", s.ID)
	case bad(done.Status) || done.HidesFailures() || slices.ContainsFunc(i.Run.Blockers(), blames):
		return fmt.Sprintf("step %s did not pass", s.ID)
	}
	return ""
}

// otherFront names the part of the front matter that every step runs under and that differs; "" for none.
func otherFront(was, now notebooks.Front) string {
	strict := func(f notebooks.Front) bool { return f.Strict == nil || *f.Strict }
	for _, part := range []struct {
		key  string
		same bool
	}{
		{"env", maps.Equal(was.Env, now.Env)}, {"copy", slices.Equal(was.Copy, now.Copy)},
		{"data", slices.Equal(was.Data, now.Data)},
		{"deps", slices.Equal(was.Deps, now.Deps)}, {"tree", was.Tree == now.Tree},
		{"strict", strict(was) == strict(now)},
		{"sandbox", was.Sandbox == now.Sandbox}, {"network", was.Network == now.Network},
		{"processes", was.Processes == now.Processes}, {"resources", was.Resources == now.Resources},
		{"mode", was.Mode == now.Mode}, {"allow_errors", was.AllowErrors == now.AllowErrors},
		{"interrupt_on_timeout", was.InterruptOnTimeout == now.InterruptOnTimeout},
	} {
		if !part.same {
			return part.key + ": in the front matter has changed, and holds for every step"
		}
	}
	return ""
}

// otherParameters are the names of the parameters that had another value, or none, in the run, and of those that are
// gone. ungiven were given to the run, and are not now. A secret cannot be compared.
func (i *InterruptedRun) otherParameters(p *Plan) (names, ungiven []string) {
	was := map[string]runs.ParamData{}
	for _, v := range i.Run.Contract.Parameters {
		was[v.Name] = v
	}
	for _, is := range p.Parameters() {
		then, there := was[is.Name]
		delete(was, is.Name)
		secret := then.Type == string(notebooks.TypeSecret) && is.Type == then.Type
		switch {
		case there && then.Given && !is.Given:
			ungiven = append(ungiven, is.Name)
		case !there, !secret && (is.Type != then.Type || !codec.Same(is.Value, then.Value)):
			names = append(names, is.Name)
		}
	}
	names = append(names, slices.Collect(maps.Keys(was))...)
	slices.Sort(names)
	return names, ungiven
}

// reads returns the first of the names that stands in a step as a word; "" for none. The block that declares parameters
// runs before values are given, and does not read them. A program that runs a step as a whole gets all parameters in
// its environment.
func reads(s *PlannedStep, names []string) string {
	if s.Parameters || len(names) == 0 {
		return ""
	}
	if s.stateless() {
		return names[0]
	}
	texts := []string{string(s.Code), s.If, s.Cwd}
	for _, value := range s.Env {
		texts = append(texts, value)
	}
	for _, name := range names {
		if slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, name) }) {
			return name
		}
	}
	return ""
}

// hasWord reports whether a name stands in a text and is no part of a longer one.
func hasWord(text, name string) bool {
	inWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		begin, end := from+at, from+at+len(name)
		if (begin == 0 || !inWord(text[begin-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = begin + 1
	}
}
