package markdown

import (
	"cmp"
	"fmt"
	"strconv"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/params"
)

// nameSteps gives every step without an id one made of its place, and finds ids given twice.
func (r *parser) nameSteps() {
	taken := map[notebooks.StepID]*notebooks.Step{}
	for _, s := range r.nb.Steps {
		if s.ID == "" {
			continue
		}
		if first := taken[s.ID]; first != nil {
			r.mistake(notebooks.KindSyntax, s.Fence.Start, s.ID,
				fmt.Sprintf("the id is also that of the step in line %d", first.Line),
				"give one of them another id")
			continue
		}
		taken[s.ID] = s
	}
	for _, s := range r.nb.Steps {
		if s.ID != "" {
			continue
		}
		place := "step-" + strconv.Itoa(s.Index+1)
		s.ID = notebooks.StepID(place)
		for n := 2; taken[s.ID] != nil; n++ {
			s.ID = notebooks.StepID(place + "-" + strconv.Itoa(n))
		}
		taken[s.ID] = s
	}
}

// checkNeeds finds needs= of a step that is not there, or not there yet: so there can be no circle.
func (r *parser) checkNeeds() {
	index := make(map[notebooks.StepID]int, len(r.nb.Steps))
	ids := make([]string, 0, len(r.nb.Steps))
	for _, s := range r.nb.Steps {
		if _, ok := index[s.ID]; !ok {
			index[s.ID] = s.Index
		}
		ids = append(ids, string(s.ID))
	}
	for _, s := range r.nb.Steps {
		at := r.optionAt[option{s, "needs"}]
		for _, id := range s.Needs {
			needed, ok := index[id]
			switch {
			case !ok:
				hint := cmp.Or(notebooks.DidYouMean(string(id), ids), "name the id of a step before this one")
				r.mistake(notebooks.KindOption, at, s.ID, "needs: there is no step "+quote(string(id)), hint)
			case needed == s.Index:
				r.mistake(notebooks.KindOption, at, s.ID, "needs: the step needs itself", "take it out")
			case needed > s.Index:
				r.mistake(notebooks.KindOption, at, s.ID,
					fmt.Sprintf("needs: step %s comes later, in line %d", quote(string(id)), r.nb.Steps[needed].Line),
					"move this step after it")
			}
		}
	}
}

// addParameters reads a block of YAML or JSON that declares parameters.
func (r *parser) addParameters(f *blocks.Fence, in *info) {
	for _, w := range in.wrong {
		r.mistake(notebooks.KindSyntax, w.at, "", w.msg, w.hint)
	}
	line, _ := r.nb.Position(f.Tick)
	params, errs := params.ParseBlock(r.nb.Name, f.Code(r.nb.Source), line+1)
	r.nb.Params = append(r.nb.Params, params...)
	r.errs = append(r.errs, errs...)
	r.blockAt = cmp.Or(r.blockAt, f.Span.End)
}

// checkParams finds parameters that two places declare, and says where injected ones go: after the first block, or
// after the front matter that declares them.
func (r *parser) checkParams() {
	nb := r.nb
	nb.ParamsAt = cmp.Or(r.blockAt, r.frontAt, nb.ParamsAt)
	first := map[string]notebooks.Param{}
	kept := nb.Params[:0]
	for _, p := range nb.Params {
		other, twice := first[p.Name]
		if !twice {
			first[p.Name] = p
			kept = append(kept, p)
			continue
		}
		if p.Code && other.Code { // assigned again: the code's business
			continue
		}
		r.errs = append(r.errs, &notebooks.Error{Kind: notebooks.KindParameter, File: nb.Name, Line: p.Line, Col: p.Col,
			Msg:  fmt.Sprintf("the parameter %s is also declared in line %d", quote(p.Name), other.Line),
			Hint: "keep one of the two"})
	}
	nb.Params = kept
	for _, s := range nb.Steps {
		if len(kept) == 0 && s.Explicit && !s.Parameters && nearTag(string(s.ID)) == notebooks.TagParameters {
			r.warn(s.Fence.Start, s.ID, "the step declares no parameters: an id is no tag", "write {.parameters}")
			nb.AlmostParams = cmp.Or(nb.AlmostParams, nb.Warnings[len(nb.Warnings)-1])
		}
	}
}
