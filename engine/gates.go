package engine

import (
	"context"
	"fmt"
	"markmill/notebooks"
	"markmill/runs"
	"slices"
	"strconv"
)

// decideGates decides what must hold before anything starts. What does not hold goes into p.gates.
func (p *Plan) decideGates(ctx context.Context, e *Engine) error {
	block := func(code, rule, words string) {
		p.gates = append(p.gates, runs.GateData{Code: code, Rule: rule, Words: words})
	}
	f := p.notebook.Front
	if v, ok := e.Getenv("MARKMILL_DEPTH"); ok && v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("MARKMILL_DEPTH is %q, not a number of runs",
				v), Hint: "unset it"}
		}
		p.depth = n
	}
	if p.depth > MaxDepth {
		block(runs.CodeDepthExceeded, "", fmt.Sprintf("this run is %d runs deep, and %d is the limit", p.depth, MaxDepth))
	}
	if (slices.Contains(f.Require, "clean") || p.request.Dirty == DirtyBlock) && len(p.dirtyPaths) > 0 {
		rule := "require: clean"
		if !slices.Contains(f.Require, "clean") {
			rule = "--dirty block"
		}
		p.gates = append(p.gates, runs.GateData{Code: runs.CodeDirtyStartingTree, Rule: rule, Paths: firstPaths(p.dirtyPaths),
			Words: fmt.Sprintf("a clean start is required, and these are not committed: %s; commit or stash them",
				firstOf(p.dirtyPaths))})
	}
	if slices.Contains(f.Require, "tests") && !slices.ContainsFunc(p.steps,
		func(s PlannedStep) bool { return s.Has(notebooks.TagTest) && s.Skip == "" }) {
		block(runs.CodeMissingTestCommand, "require: tests", "tests are required, and no step that runs is tagged test")
	}
	for _, m := range p.missingSecrets(e.Getenv, p.open()) {
		block(runs.CodeSecretMissing, "secrets", m.Msg+"; "+m.Hint)
	}
	if refusal := p.contain(ctx, e); refusal != "" {
		block(runs.CodeProviderUnavailable, "", refusal)
	}
	return nil
}
