package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/keys"
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

// errLeaked says that a file of the record showed a secret: the verdict must be derived again.
var errLeaked = errors.New("a secret was written")

// withhold searches every file of the run directory and its name for secrets, whoever wrote it, and replaces a file
// that shows one.
func (c *recorder) withhold() (replaced []string, err error) {
	if c.plan.mask == nil {
		return nil, nil
	}
	root, err := os.OpenRoot(c.record.Path())
	if err != nil {
		return nil, artifact(err)
	}
	defer root.Close()
	err = filepath.WalkDir(c.record.Path(), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.record.Path(), name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if c.plan.mask.In([]byte(entry.Name())) || c.linksTo(name, entry) {
			c.leak("", "the name of a file or a link in "+path.Dir(rel)+" of the run directory")
			if err := root.RemoveAll(rel); err != nil || !entry.IsDir() {
				return err
			}
			return fs.SkipDir
		}
		// they were looked at before: what a bundle holds is compressed
		if !entry.Type().IsRegular() || rel == c.plan.sourceFile() || rel == runs.BundleFile {
			return nil
		}
		shows, err := c.shows(root, rel)
		if err != nil || !shows {
			return err
		}
		c.leak("", rel)
		if rel == runs.JournalFile {
			return nil // a chain cannot be mended; its texts were masked before they were linked
		}
		replaced = append(replaced, rel)
		return c.record.Write(rel, []byte(runs.LeakNote))
	})
	return replaced, artifact(err)
}

// linksTo reports whether the target of a symbolic link shows a secret.
func (c *recorder) linksTo(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := os.Readlink(name)
	return err == nil && c.plan.mask.In([]byte(target))
}

// shows reports whether a file shows a secret (runs.Writer.Shows).
func (c *recorder) shows(root *os.Root, rel string) (bool, error) {
	f, err := root.Open(rel)
	if err != nil {
		return false, err
	}
	defer f.Close()
	find := c.plan.mask.Find()
	if _, err := io.Copy(find, f); err != nil || !find.Found() {
		return false, err
	}
	b, err := root.ReadFile(rel)
	return err == nil && c.plan.writer().Shows(rel, b), err
}

// Shows reports whether a file of a run directory, or its name, shows a secret of the plan. It is for observers that
// send files away before the run has ended: a run itself searches its files at its end.
func (p *Plan) Shows(dir *os.Root, file string) (bool, error) {
	switch {
	case p.mask == nil:
		return false, nil
	case p.mask.In([]byte(file)):
		return true, nil
	}
	return (&recorder{plan: p}).shows(dir, file)
}

// mostFixture bounds the test fixtures whose keys are shown, in bytes.
const mostFixture = 1 << 20

// hidden are the keys that nobody declared as secrets and that a run found.
type hidden struct {
	shown keys.Shown // those of test fixtures, which are none
	mu    sync.Mutex
	found map[notebooks.StepID][]runs.HiddenData
}

// hide masks secrets in a text of a step, and hides keys that nobody declared.
func (c *recorder) hide(step notebooks.StepID, where, text string) string {
	out, what := c.hidden.shown.Hide([]byte(c.conceal(text)))
	c.noteHidden(step, where, what)
	return string(out)
}

// noteHidden notes keys that were hidden in what a step left.
func (c *recorder) noteHidden(step notebooks.StepID, where string, what []string) {
	for _, w := range what {
		c.hidden.add(step, runs.HiddenData{What: w, Where: where})
	}
}

// hiddenIn is what was hidden of a step.
func (c *recorder) hiddenIn(step notebooks.StepID) []runs.HiddenData {
	c.hidden.mu.Lock()
	defer c.hidden.mu.Unlock()
	return c.hidden.found[step]
}

func (h *hidden) add(step notebooks.StepID, d runs.HiddenData) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found == nil {
		h.found = map[notebooks.StepID][]runs.HiddenData{}
	}
	if !slices.Contains(h.found[step], d) {
		h.found[step] = append(h.found[step], d)
	}
}

// noteInChange notes the keys in what a step changed. The change keeps them; views leave them out.
func (c *recorder) noteInChange(step notebooks.StepID, change *worktree.Change) {
	if len(keys.Find(change.Patch)) == 0 {
		return
	}
	c.hidden.shown.HidePatch(change.Patch, func(file int, what []string) bool {
		if file < len(change.Files) && !c.plan.reveals(change.Files[file].Path) {
			for _, w := range what {
				c.hidden.add(step, runs.HiddenData{What: w, Where: "diff", Path: change.Files[file].Path, Index: file})
			}
		}
		return false
	})
}

// reveals reports whether all policies name a path as a test fixture, whose keys are shown.
func (p *Plan) reveals(name string) bool {
	return len(p.policies) > 0 && !slices.ContainsFunc(p.policies, func(policy placedPolicy) bool {
		return !MatchesAny(policy.Reveal, name)
	})
}

// readShown reads the keys of the test fixtures in the worktree, before the first step.
func (r *run) readShown() error {
	if !slices.ContainsFunc(r.plan.policies, func(p placedPolicy) bool { return len(p.Reveal) > 0 }) {
		return nil
	}
	root, shown := r.ws.tree.Dir(), keys.Shown{}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return artifact(err)
	}
	defer folder.Close()
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, name)
		if err != nil || !entry.Type().IsRegular() || !r.plan.reveals(filepath.ToSlash(rel)) {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() > mostFixture {
			return err
		}
		text, err := folder.ReadFile(rel)
		shown.Add(text)
		return err
	})
	r.rec.hidden.shown = shown
	return artifact(err)
}
