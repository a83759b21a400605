package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/runs"
)

// Floor is what a program that runs notebooks for others imposes on each run, whatever the notebook and the repository
// say. It narrows the front matter as a policy does.
type Floor struct {
	Sandbox string `json:"sandbox,omitzero"` // the least that steps are held by; "" imposes nothing
	Mode    string `json:"mode,omitzero"`
	// HeadOnly are the grants (secrets, copy, network) of notebooks that stand in the commit Head, byte for byte. Other
	// notebooks have none of them.
	HeadOnly []string     `json:"head_only,omitempty"`
	Head     worktree.OID `json:"head,omitzero"` // "": no notebook stands in it
}

// These are the words for what an operator lifts.
const (
	liftSandbox = "unsandboxed"
	liftMode    = "in-place"
	liftSecrets = "secrets"
	liftCopy    = "copy"
	liftNetwork = "network"
)

// FloorLifts are the words that NewFloor takes.
var FloorLifts = []string{liftSandbox, liftMode, liftSecrets, liftCopy, liftNetwork}

// NewFloor is the floor of a server that starts while head is checked out, without what the operator lifts.
func NewFloor(head worktree.OID, lifted []string) (*Floor, error) {
	f := &Floor{Sandbox: "required", Mode: runs.MutationWorktree, Head: head}
	for _, word := range lifted {
		if !slices.Contains(FloorLifts, word) {
			return nil, fmt.Errorf("%q is not known; known: %s", word, strings.Join(FloorLifts, ", "))
		}
	}
	if slices.Contains(lifted, liftSandbox) {
		f.Sandbox = ""
	}
	if slices.Contains(lifted, liftMode) {
		f.Mode = ""
	}
	for _, word := range []string{liftSecrets, liftCopy, liftNetwork} {
		if !slices.Contains(lifted, word) {
			f.HeadOnly = append(f.HeadOnly, word)
		}
	}
	return f, nil
}

// Unheld says why a system cannot hold the floor, and the word that lifts what it cannot hold; "" when it can. probe
// says what the system offers.
func (f *Floor) Unheld(probe func(sandbox.Need) sandbox.Offer) (why, lift string) {
	try := func(w sandbox.Wish) string { return sandbox.Refusal(w, sandbox.Decide(w, probe(w.Need()))) }
	if f.Sandbox != "" {
		if why = try(sandbox.Wish{Mode: f.Sandbox}); why != "" {
			return why, liftSandbox
		}
	}
	if slices.Contains(f.HeadOnly, liftNetwork) {
		if why = try(sandbox.Wish{Mode: "on", NetworkOff: true}); why != "" {
			return why, liftNetwork
		}
	}
	return "", ""
}

// impose makes the rules that narrow the notebook, and returns an error for what no rule can take away.
func (f *Floor) impose(p *Plan) error {
	if f == nil {
		return nil
	}
	p.floor = notebooks.Front{Sandbox: f.Sandbox, Mode: f.Mode}
	var errs errorList
	if f.Mode != "" && p.source == nil {
		errs.add(refused("the folder is in no Git repository, so that steps would change its files themselves",
			"make it a repository with a commit, or have the operator start the server with --allow "+liftMode))
	}
	if len(f.HeadOnly) == 0 || f.stands(p) {
		return errs.err()
	}
	for _, grant := range f.HeadOnly {
		if what := p.uses(grant); grant == liftNetwork {
			p.floor.Network = "off"
		} else if what != "" {
			errs.add(&notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Msg: what + " is only for " +
				"notebooks that are committed, byte for byte, when the server starts",
				Hint: "leave it out, or have a person commit the notebook and start the server anew, or start it " +
					"with --allow " + grant})
		}
	}
	return errs.err()
}

// stands reports whether the notebook is, byte for byte, that of the commit Head, apart from what runs left in it.
func (f *Floor) stands(p *Plan) bool {
	if f.Head == "" || p.source == nil {
		return false
	}
	name, ok := p.source.Relative(p.request.Path)
	if !ok {
		return false
	}
	committed, err := p.source.File(f.Head, name)
	if err != nil {
		return false
	}
	for _, given := range []bool{false, true} {
		if src, err := forms.Source(name, committed, given); err == nil && bytes.Equal(src, p.request.Source) {
			return true
		}
	}
	return false
}

// uses says with which key a notebook uses a grant; "" if it does not.
func (p *Plan) uses(grant string) string {
	f := p.notebook.Front
	switch {
	case grant == liftCopy && len(f.Copy)+len(p.request.Copy) > 0:
		return "copy:"
	case grant == liftCopy && len(f.Data)+len(p.request.Data) > 0:
		return "data:"
	case grant != liftSecrets:
		return ""
	case len(f.Secrets) > 0:
		return "secrets:"
	}
	for _, s := range append([]*notebooks.Step{{Env: f.Env}}, p.notebook.Steps...) {
		for name, value := range s.Env {
			if _, is := callersVariable(value); is {
				return "env: with the variable " + value + " of the server for " + name
			}
		}
	}
	for _, q := range p.notebook.Params {
		if q.Env != "" {
			return "the parameter " + q.Name + " with the variable " + q.Env + " of the server"
		}
	}
	return ""
}
