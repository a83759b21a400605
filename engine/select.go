package engine

import (
	"fmt"
	"markmill/notebooks"
	"slices"
	"strings"
)

// selectSteps decides which steps run.
func (p *Plan) selectSteps() error {
	var ids []string
	for _, s := range p.steps {
		ids = append(ids, string(s.ID))
	}
	from, until, err := p.bounds(ids)
	if err != nil {
		return err
	}
	skipped := map[notebooks.StepID]string{}
	for i := range p.steps {
		s := &p.steps[i]
		if s.Skip, s.LeftOut = p.skips(s, i < from, i > until); s.Skip != "" {
			skipped[s.ID] = s.Skip
		}
	}
	var errs errorList
	for _, s := range p.steps {
		for _, need := range s.Needs {
			if why := skipped[need]; s.Skip == "" && why != "" {
				errs.add(&notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: s.Line, Step: s.ID,
					Msg:  fmt.Sprintf("needs %q, which does not run: %s", need, why),
					Hint: fmt.Sprintf("let %s run too", need)})
			}
		}
	}
	return errs.err()
}

// bounds are the indices of --from and --until. The error names every option with a step that does not exist.
func (p *Plan) bounds(ids []string) (from, until int, err error) {
	var errs errorList
	find := func(flag, id string) int {
		at := slices.Index(ids, id)
		if at < 0 {
			e := &notebooks.Error{Kind: notebooks.KindOption,
				Msg: fmt.Sprintf("%s: no step has the id %q; steps: %s", flag, id, strings.Join(ids, ", "))}
			if near := notebooks.Suggest(id, ids); near != "" {
				e.Hint = fmt.Sprintf("did you mean %s?", near)
			}
			errs.add(e)
		}
		return at
	}
	req := p.request
	for _, id := range req.Only {
		find("--only", id)
	}
	until = len(ids) - 1
	if req.From != "" {
		from = find("--from", string(req.From))
	}
	if req.Until != "" {
		until = find("--until", string(req.Until))
	}
	if errs.list == nil && req.From != "" && req.Until != "" && from > until {
		errs.add(&notebooks.Error{Kind: notebooks.KindOption,
			Msg:  fmt.Sprintf("--from %s stands after --until %s, so that no step would run", req.From, req.Until),
			Hint: "exchange the two"})
	}
	return from, until, errs.err()
}

// skips says why a step does not run, and which option leaves it out.
func (p *Plan) skips(s *PlannedStep, before, after bool) (why, option string) {
	req := p.request
	always := s.Parameters || s.Has(notebooks.TagSetup) || s.Has(notebooks.TagFinally)
	switch {
	case s.Has(notebooks.TagSkip):
		return "it is tagged skip", ""
	case slices.ContainsFunc(req.SkipTags, s.Has):
		return "its tag was left out by --skip-tag", "--skip-tag"
	case always:
	case len(req.Only) > 0 && !slices.Contains(req.Only, string(s.ID)):
		return "--only names other steps", "--only"
	case before:
		return "it stands before --from", "--from"
	case after:
		return "it stands after --until", "--until"
	}
	return "", ""
}

// checkText returns an error for a name that the record cannot hold.
func (p *Plan) checkText(e *Engine) error {
	if err := p.request.checkText(); err != nil {
		return err
	}
	home, _ := e.Getenv("HOME")
	for _, path := range []string{p.root(), e.Cache, e.Store(p.root()).Dir, home} {
		if err := notUTF8("the path", path); err != nil {
			return err
		}
	}
	return nil
}
