package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// fewCharacters is the length below which a value is likely to stand somewhere by chance.
const fewCharacters = 8

// secret is one value that must not be shown, and the words that say whose it is.
type secret struct{ what, value string }

// secrets are the values that must not be shown: parameters of type secret, also inside lists and maps, and
// the environment variables that the notebook names as secrets. An empty one is none.
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
	for _, b := range p.Bound {
		inside("parameter "+b.Param.Name, b.Value)
	}
	for _, name := range p.Notebook.Front.Secrets {
		if v, ok := getenv(name); ok {
			add("variable "+name, v)
		}
	}
	return out
}

// missingSecrets are the secrets that the environment does not have: variables that are not set, or empty, which the
// notebook names as secrets, or from which a required one of some parameters takes its value.
func (p *Plan) missingSecrets(getenv func(string) (string, bool), params []notebooks.Param) (missing []*notebooks.Error) {
	add := func(at notebooks.Place, what, name, hint string) {
		v, set := getenv(name)
		if v != "" {
			return
		}
		state := "is not set"
		if set {
			state = "is empty"
		}
		missing = append(missing, &notebooks.Error{Kind: notebooks.KindParameter, File: p.Request.Path, Line: at.Line, Col: at.Col,
			Msg: fmt.Sprintf("%s: the environment variable %s %s", what, name, state), Hint: hint})
	}
	front := p.Notebook.Front
	for i, name := range front.Secrets {
		var at notebooks.Place
		if i < len(front.SecretsAt) {
			at = front.SecretsAt[i]
		}
		add(at, "secrets", name, "set it, or take it out of secrets:")
	}
	for _, q := range params {
		if q.Type == notebooks.TypeSecret && q.Required && q.Env != "" {
			add(notebooks.Place{Line: q.Line, Col: q.Col}, "parameter "+q.Name, q.Env, "set it, or give the value with -p "+q.Name+"=…")
		}
	}
	return missing
}

// open are the parameters without a value.
func (p *Plan) open() (params []notebooks.Param) {
	for _, b := range p.Bound {
		if b.Value.Type == notebooks.TypeNull {
			params = append(params, b.Param)
		}
	}
	return params
}

// maskSecrets makes the plan's mask, and refuses values that cannot be masked: nothing has run yet.
func (p *Plan) maskSecrets(getenv func(string) (string, bool)) error {
	var errs errorList
	var values []string
	refuse := func(s secret, msg, hint string) {
		errs.add(&notebooks.Error{Kind: notebooks.KindParameter, File: p.Request.Path, Msg: s.what + ": " + msg, Hint: hint})
	}
	for _, s := range p.secrets(getenv) {
		switch n := len(strings.TrimSpace(s.value)); {
		case n < mask.Least:
			refuse(s, fmt.Sprintf("a secret of fewer than %d characters stands in too many other texts to be masked", mask.Least),
				"give a longer one, or declare it as no secret")
			continue
		case len(s.value) > mask.Most:
			refuse(s, fmt.Sprintf("a secret of more than %d KiB cannot be masked", mask.Most>>10), "let the step read it from a file that it does not print")
			continue
		case n < fewCharacters:
			p.Notebook.Warnings = append(p.Notebook.Warnings, &notebooks.Error{Kind: notebooks.KindParameter, File: p.Request.Path, Line: 1,
				Msg:  fmt.Sprintf("%s: a secret of fewer than %d characters may stand somewhere by chance, and is masked there too", s.what, fewCharacters),
				Hint: "a longer one is safer in every way"})
		}
		if mask.New([]string{s.value}).In(p.Notebook.Source) {
			refuse(s, "its value stands in the notebook, which every run keeps", "take it out of the text, or let the secret be another")
		}
		values = append(values, s.value)
	}
	p.mask = mask.New(values)
	return errs.err()
}

// newKey is a random key for the digests that stand for secrets in the contract; nil when there is no secret.
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

// parameters are the plan's, with a keyed digest for each secret. The key is forgotten with the run: a digest
// that could be checked is one that a short secret can be guessed from. It tells, within one run, whether
// two secrets were the same.
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

// clean is the JSON of v, masked.
func (r *run) clean(v any) (codec.Raw, error) {
	raw, err := codec.Marshal(v)
	if err != nil || r.plan.mask == nil {
		return raw, err
	}
	return r.plan.mask.JSON(raw, false)
}

// conceal masks secrets in a text that is recorded whole.
func (r *run) conceal(s string) string { return r.plan.mask.Text(s) }

// concealError is an error whose words show no secret.
func (r *run) concealError(err error) error {
	if err == nil || !r.plan.mask.In([]byte(err.Error())) {
		return err
	}
	clean := &notebooks.Error{Kind: notebooks.KindInternal, Msg: r.conceal(err.Error())}
	var e *notebooks.Error
	if errors.As(err, &e) {
		clean.Kind = e.Kind
	}
	return clean
}

// leak notes that a secret's value would be written; where never shows it.
func (r *run) leak(step notebooks.StepID, where string) {
	words := "the value of a secret would stand in " + r.conceal(where)
	for _, b := range r.blockers {
		if b.Code == runs.CodeSecretLeaked && b.Step == step && b.Message == words {
			return
		}
	}
	r.blockers = append(r.blockers, runs.Blocker{Code: runs.CodeSecretLeaked, Step: step, Message: words})
}

// leaked are the words of a step's leak, "" without one.
func (r *run) leaked(step notebooks.StepID) string {
	for _, b := range r.blockers {
		if b.Code == runs.CodeSecretLeaked && b.Step == step {
			return b.Message
		}
	}
	return ""
}

// leaks says whether the run has written a secret, so that nothing of it may go into the repository.
func (r *run) leaks() bool {
	return slices.ContainsFunc(r.blockers, func(b runs.Blocker) bool { return b.Code == runs.CodeSecretLeaked })
}

// withholdChange takes out of a change what shows a secret: the content that was committed cannot be masked
// without making it another change. Paths, blobs, trees and patch are looked at. From the first leak on no
// commit and no tree of the run is named either: the name of a content can be guessed from, like a digest.
func (r *run) withholdChange(step notebooks.StepID, c *worktree.Change) error {
	if r.plan.mask == nil {
		return nil
	}
	found := false
	for i := range c.Files {
		f := &c.Files[i]
		leaks := r.plan.mask.In([]byte(f.Path)) || r.plan.mask.In([]byte(f.OldPath))
		if !leaks && f.NewBlob != "" && f.NewMode != "160000" {
			content, err := r.tree.Blob(worktree.OID(f.NewBlob))
			if err != nil {
				return err
			}
			leaks = r.plan.mask.In(content)
		}
		if leaks {
			found = true
			r.leak(step, "the change of "+f.Path)
			f.NewBlob, f.Size = "", 0
		}
	}
	if !found && r.plan.mask.In(c.Patch) {
		found = true
		r.leak(step, "the patch, in lines that the repository had before")
	}
	if found {
		c.Patch, c.PatchErr = []byte(runs.LeakNote), nil
	}
	if r.leaks() {
		c.Commit, c.Tree = "", ""
	}
	return nil
}

// keepFile copies a regular file into the record, never following a link that a step put in its place. Text is
// masked; a file that is none, and shows a secret, is left out for a note.
func (r *run) keepFile(step notebooks.StepID, from, to string) (int64, runs.Digest, error) {
	info, err := os.Lstat(from)
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	return r.keepFrom(step, in, to)
}

// keepFrom is keepFile of what stands in memory, or in a file that is open.
func (r *run) keepFrom(step notebooks.StepID, in io.ReadSeeker, to string) (_ int64, _ runs.Digest, err error) {
	var source io.Reader = in
	if r.plan.mask != nil {
		if source, err = r.cleanFile(step, in, to); err != nil {
			return 0, "", err
		}
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, "", err
	}
	sum := runs.NewHasher()
	n, err := io.Copy(io.MultiWriter(out, sum), source)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return n, sum.Digest(), err
}

// cleanFile reads a file once to see what it is, and gives what may be kept of it.
func (r *run) cleanFile(step notebooks.StepID, in io.ReadSeeker, to string) (io.Reader, error) {
	find, kind := r.plan.mask.Find(), &textTest{text: true}
	if _, err := io.Copy(io.MultiWriter(find, kind), in); err != nil {
		return nil, err
	}
	if find.Found() && !kind.text {
		rel, err := filepath.Rel(r.record.Path(), to)
		if err != nil {
			return nil, err
		}
		r.leak(step, filepath.ToSlash(rel))
		return strings.NewReader(runs.LeakNote), nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil || !find.Found() {
		return in, err
	}
	return &maskReader{from: in, mask: r.plan.mask.Stream()}, nil
}

// textTest sees whether a file is text: it has no NUL and no byte that UTF-8 never has.
type textTest struct{ text bool }

func (t *textTest) Write(b []byte) (int, error) {
	for i := 0; i < len(b) && t.text; i++ {
		t.text = b[i] != 0 && b[i] != 0xc0 && b[i] != 0xc1 && b[i] < 0xf5
	}
	return len(b), nil
}

// maskReader masks what is read through it.
type maskReader struct {
	from io.Reader
	mask *mask.Stream
	out  []byte
	buf  [32 << 10]byte
	err  error
}

func (m *maskReader) Read(b []byte) (int, error) {
	for len(m.out) == 0 && m.err == nil {
		n, err := m.from.Read(m.buf[:])
		m.out, m.err = m.mask.Next(m.buf[:n]), err
		if err != nil {
			m.out = append(slices.Clone(m.out), m.mask.Rest()...)
		}
	}
	if len(m.out) == 0 {
		return 0, m.err
	}
	n := copy(b, m.out)
	m.out = m.out[n:]
	return n, nil
}
