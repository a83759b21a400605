package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// fewCharacters is the length below which a value is likely to occur somewhere by chance.
const fewCharacters = 8

// secret is a value that must not be shown, with words for where it is from.
type secret struct{ what, value string }

// secrets are the values that must not be shown: parameters of type secret, also inside lists and maps, and the
// environment variables that the notebook names as secrets. Empty ones do not count.
func (p *Plan) secrets(getenv func(string) (string, bool)) []secret {
	var out []secret
	add := func(what, value string) {
		if value != "" {
			out = append(out, secret{what, value})
		}
	}
	var inside func(what string, v notebooks.Value)
	inside = func(what string, v notebooks.Value) {
		if v.Type == notebooks.TypeSecret {
			add(what, v.Reveal())
		}
		for _, item := range v.List {
			inside(what, item)
		}
		for _, entry := range v.Entries {
			inside(what, entry.Key)
			inside(what, entry.Value)
		}
	}
	for _, b := range p.bound {
		inside("parameter "+b.Param.Name, b.Value)
	}
	for _, name := range p.notebook.Front.Secrets {
		if v, ok := getenv(name); ok {
			add("variable "+name, v)
		}
	}
	return out
}

// missingSecrets are errors for the secrets that the environment lacks: variables that are not set, or empty, and that
// the notebook names as secrets or a required parameter takes its value from.
func (p *Plan) missingSecrets(getenv func(string) (string, bool),
	params []notebooks.Param) (missing []*notebooks.Error) {
	add := func(at notebooks.Place, what, name, hint string) {
		v, set := getenv(name)
		if v != "" {
			return
		}
		state := "is not set"
		if set {
			state = "is empty"
		}
		missing = append(missing, &notebooks.Error{Kind: notebooks.KindParameter, File: p.request.Path, Line: at.Line,
			Col: at.Col, Msg: fmt.Sprintf("%s: the environment variable %s %s", what, name, state), Hint: hint})
	}
	front := p.notebook.Front
	for i, name := range front.Secrets {
		var at notebooks.Place
		if i < len(front.SecretsAt) {
			at = front.SecretsAt[i]
		}
		add(at, "secrets", name, "set it, or take it out of secrets:")
	}
	for _, q := range params {
		if q.Type == notebooks.TypeSecret && q.Required && q.Env != "" {
			add(notebooks.Place{Line: q.Line, Col: q.Col}, "parameter "+q.Name, q.Env,
				"set it, or give the value with -p "+q.Name+"=…")
		}
	}
	return missing
}

// open are the parameters without a value.
func (p *Plan) open() (params []notebooks.Param) {
	for _, b := range p.bound {
		if b.Value.Type == notebooks.TypeNull {
			params = append(params, b.Param)
		}
	}
	return params
}

// remainders are what is left of values once another value within them is masked: in a text with control characters
// the shorter one may be found first.
func remainders(values []string) (left []string) {
	for _, value := range values {
		for _, part := range values {
			rest := strings.ReplaceAll(value, part, mask.Mark)
			if rest != value && len(rest) >= mask.Least {
				left = append(left, rest)
			}
		}
	}
	return left
}

// maskSecrets makes the plan's mask, and returns an error for values that cannot be masked.
func (p *Plan) maskSecrets(e *Engine) error {
	var errs errorList
	var values []string
	refuse := func(s secret, msg, hint string) {
		errs.add(&notebooks.Error{Kind: notebooks.KindParameter, File: p.request.Path, Msg: s.what + ": " + msg,
			Hint: hint})
	}
	for _, s := range append(p.secrets(e.Getenv), p.agentSecrets(e.Config.Agents, e.Getenv)...) {
		switch n := len(strings.TrimSpace(s.value)); {
		case n < mask.Least:
			refuse(s, fmt.Sprintf("a secret of fewer than %d characters stands in too many other texts to be masked",
				mask.Least),
				"give a longer one, or declare it as no secret")
			continue
		case len(s.value) > mask.Most:
			refuse(s, fmt.Sprintf("a secret of more than %d KiB cannot be masked", mask.Most>>10),
				"let the step read it from a file that it does not print")
			continue
		case n < fewCharacters:
			p.notebook.Warnings = append(p.notebook.Warnings, &notebooks.Error{Kind: notebooks.KindParameter,
				File: p.request.Path, Line: 1,
				Msg: fmt.Sprintf("%s: a secret of fewer than %d characters may stand somewhere by chance, and is "+
					"masked there too", s.what, fewCharacters),
				Hint: "a longer one is safer in every way"})
		}
		if mask.New([]string{s.value}).In(p.notebook.Source) {
			refuse(s, "its value stands in the notebook, which every run keeps",
				"take it out of the text, or let the secret be another")
		}
		values = append(values, s.value)
	}
	p.mask = mask.New(append(values, remainders(values)...))
	for _, name := range []struct{ what, text string }{{"OUTPUT", p.request.Output},
		{"the notebook's name", p.TaskID()}, {"--branch", p.request.Branch}, {"--cwd", p.request.Cwd}} {
		if p.mask.In([]byte(name.text)) {
			errs.add(&notebooks.Error{Kind: notebooks.KindParameter, File: p.request.Path,
				Msg:  name.what + ": the value of a secret stands in " + p.mask.Text(name.text),
				Hint: "give another name, which anybody may see"})
		}
	}
	return errs.err()
}

// writer masks the plan's secrets in the files of the store.
func (p *Plan) writer() runs.Writer { return runs.Store{}.Masked(p.mask).Writer }

// Store is the store of the plan's runs, in which its secrets are masked.
func (p *Plan) Store(e *Engine) runs.Store { return e.Store(p.root()).Masked(p.mask) }

// Shown reports whether a text shows a secret of the plan.
func (p *Plan) Shown(text string) bool { return p.mask.In([]byte(text)) }

// newKey is a random key for the digests that stand for secrets in the contract; nil without secrets.
func (p *Plan) newKey(random io.Reader) ([]byte, error) {
	if p.mask == nil {
		return nil, nil
	}
	key := make([]byte, sha256.Size)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("random bytes for the key of secrets: %w", err)
	}
	return key, nil
}

// parameters are the plan's, with a keyed digest for each secret. The key is forgotten with the run, because a short
// secret could be guessed from a digest that can be checked. Within one run the digests tell whether two secrets are
// equal.
func (r *run) parameters() []runs.ParamData {
	list := r.plan.Parameters()
	for i, b := range r.plan.values() {
		if b.Value.Type == notebooks.TypeSecret && r.key != nil {
			sum := hmac.New(sha256.New, r.key)
			_, _ = io.WriteString(sum, b.Value.Reveal())
			list[i].Value = codec.Raw(`"hmac-sha256:` + hex.EncodeToString(sum.Sum(nil)) + `"`)
		}
	}
	return list
}

// concealError is an error whose text shows no secret.
func (p *Plan) concealError(err error) error {
	if err == nil || !p.mask.In([]byte(err.Error())) {
		return err
	}
	clean := &notebooks.Error{Kind: notebooks.KindInternal, Msg: p.mask.Text(err.Error())}
	var e *notebooks.Error
	if errors.As(err, &e) {
		clean.Kind = e.Kind
	}
	return clean
}

// withholdChange removes from a change what shows a secret: committed content cannot be masked without making it
// another change. Paths, blobs, trees and patch are searched. After the first leak the commits and trees of the run are
// not named either, because content can be guessed from its name, like from a digest.
func (r *run) withholdChange(step notebooks.StepID, c *worktree.Change) error {
	if r.plan.mask == nil {
		return nil
	}
	found := false
	for i := range c.Files {
		f := &c.Files[i]
		leaks := r.plan.mask.In([]byte(f.Path)) || r.plan.mask.In([]byte(f.OldPath))
		if !leaks && f.NewBlob != "" && f.NewMode != "160000" {
			content, err := r.ws.tree.Blob(worktree.OID(f.NewBlob))
			if err != nil {
				return err
			}
			leaks = r.plan.mask.In(content)
		}
		if leaks {
			found = true
			r.rec.leak(step, "the change of "+f.Path)
			f.NewBlob, f.Size = "", 0
		}
	}
	if !found && r.plan.mask.In(c.Patch) {
		found = true
		r.rec.leak(step, "the patch, in lines that the repository had before")
	}
	if found {
		c.Patch, c.PatchErr = []byte(runs.LeakNote), nil
	}
	if r.verdict.leaks() {
		c.Commit, c.Tree = "", ""
	}
	return nil
}
