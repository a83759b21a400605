package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"markmill/engine/worktree"
	"markmill/engine/worktree/listing"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// readsFile is the list of what a step read, in the folder of the step.
const readsFile = "reads.jsonl"

// mostAgain is how many paths the event of a step lists by itself, so that no file is made for them.
const mostAgain = 20

// readsOff says why the run does not watch what its steps read; "" if it does.
func (w *workspace) readsOff() string {
	on := w.plan.notebook.Front.Reads
	if on == "" {
		on = w.eng.Config.Reads
	}
	if on == "off" {
		return "what its steps read was not watched (reads: off)"
	}
	return ""
}

// dependOn counts as read the checkout's folders of dependencies that the steps have, and those to which their
// environment leads, as that of an active virtual environment does. Steps that call nothing but the system's tools read
// a folder that their code names, or below which such a tool looks at every file, and no other. A tool that a folder of
// PATH stands in for is not the system's.
func (w *workspace) dependOn() {
	if !w.plan.mountable() {
		return
	}
	of := w.plan.listers()
	var led []string
	for _, v := range w.env {
		name, list, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "NODE_PATH"}, name) {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if rel, ok := w.plan.source.Relative(dir); ok && filepath.IsAbs(dir) {
				led = append(led, rel)
			}
		}
	}
	calls := slices.ContainsFunc(w.plan.steps, func(s PlannedStep) bool { return of(s.ID).Calls() }) ||
		slices.ContainsFunc(led, w.standsIn)
	for _, d := range w.opened.Dependencies {
		reads := func(s PlannedStep) bool {
			return bytes.Contains(s.Code, []byte(path.Base(d.Path))) || of(s.ID).Walks(d.Path)
		}
		if calls || slices.ContainsFunc(w.plan.steps, reads) {
			w.tree.DependOn(dependencyOf(d))
		}
	}
	for _, rel := range led {
		if calls {
			w.dependOnPath(rel)
		}
	}
}

// standsIn reports whether a folder of the checkout has a program of the name of a system's tool that a step names.
func (w *workspace) standsIn(folder string) bool {
	list, _ := os.ReadDir(filepath.Join(w.plan.source.Root(), filepath.FromSlash(folder))) // PATH may have any name
	return slices.ContainsFunc(list, func(f fs.DirEntry) bool {
		return listing.IsSystem(f.Name()) && slices.ContainsFunc(w.plan.steps, func(s PlannedStep) bool {
			return bytes.Contains(s.Code, []byte(f.Name()))
		})
	})
}

// listers returns what lists folders in a step, as far as its code tells. A function of Python may be that of an
// earlier step in its session; one of a shell that the step itself does not declare is not known. Nobody knows what an
// agent lists.
func (p *Plan) listers() func(step notebooks.StepID) listing.Lister {
	of := sync.OnceValue(func() map[notebooks.StepID]listing.Lister {
		steps, sessions := map[notebooks.StepID]listing.Lister{}, map[string]listing.Lister{}
		for i := range p.steps {
			s := &p.steps[i]
			if s.byAgent() || s.Kernel == nil {
				continue
			}
			l := listing.Of(s.Kernel.Name(), string(s.Code))
			if s.Kernel.Name() == listing.InPython {
				l = l.With(sessions[s.sessionKey()])
				sessions[s.sessionKey()] = l
			}
			steps[s.ID] = l
		}
		return steps
	})
	return func(step notebooks.StepID) listing.Lister {
		if l, known := of()[step]; known {
			return l
		}
		return listing.Every()
	}
}

// judges reports whether a step is a test or a review.
func (p *Plan) judges(step notebooks.StepID) bool {
	return slices.ContainsFunc(p.steps, func(s PlannedStep) bool { return s.ID == step && s.Judges() })
}

// ownOutput are the paths of the repository that the run itself writes at its end: OUTPUT, and the folder of its
// pictures.
func (p *Plan) ownOutput() []string {
	if p.source == nil || p.request.Output == "" || strings.Contains(p.request.Output, "://") {
		return nil
	}
	output, ok := p.source.Relative(p.request.Output)
	if !ok {
		return nil
	}
	own := []string{output}
	if p.request.Assets != "" {
		own = append(own, path.Join(path.Dir(output), filepath.ToSlash(p.request.Assets)))
	}
	return own
}

// recordReads writes the list of what a step read; nil if that is not known.
func (r *run) recordReads(dir string, change *worktree.Change) (*runs.ReadsData, error) {
	if !r.ws.tree.SeesReads() {
		return nil, nil
	}
	data := &runs.ReadsData{Count: len(change.Reads), All: change.Opened != nil}
	again := change.Again()
	if len(change.Reads) == 0 && len(again) <= mostAgain {
		for _, in := range again {
			if in.Again == notebooks.AgainFolder {
				in.Path += "/"
			}
			data.Again = append(data.Again, in.Path)
		}
		return data, nil
	}
	var list bytes.Buffer
	for _, in := range slices.Concat(change.Reads, again) {
		if err := r.conceal(&in); err != nil {
			return nil, err
		}
		in.Step = "" // the file is that of the step
		line, err := codec.Marshal(in)
		if err != nil {
			return nil, err
		}
		list.Write(line)
		list.WriteByte('\n')
	}
	kept, err := r.rec.keep(path.Join(filepath.ToSlash(dir), readsFile), list.Bytes())
	if err != nil {
		return nil, err
	}
	data.File, data.Digest = kept.File, kept.Digest
	return data, nil
}

// conceal replaces the blob of a file that Git ignores by a keyed digest: it may hold a password, as .env does.
func (r *run) conceal(in *notebooks.Input) (err error) {
	if in.Ignored {
		in.Blob, err = r.eng.concealed(r.plan, in.Blob)
	}
	return err
}

func (e *Engine) concealed(p *Plan, blob string) (string, error) {
	return e.Store(p.root()).Approvals().ConcealBlob(blob, e.Random)
}

// reuseReads takes over what a carried step had read.
func (r *run) reuseReads(was *runs.StepRecord) error {
	known := was.Finished.Reads
	if known == nil {
		r.ws.tree.LoseReads(fmt.Sprintf("step %s is carried, and its run did not record what it read", was.Planned.ID))
		return nil
	}
	list, err := r.rec.record.Reads(known)
	if err != nil {
		return artifact(err)
	}
	r.ws.tree.CarryReads(list, known.All)
	return nil
}

// unread reports whether a carried step has read nothing that is another in the tree that this run begins with, and no
// declared input is another than then.
func (r *run) unread(ctx context.Context, was *runs.StepRecord) (bool, error) {
	then := r.reuse.from.Run.Inputs
	if was.Finished.Reads == nil || then == nil || then.Unknown != "" {
		return false, nil
	}
	list, err := r.rec.record.Reads(was.Finished.Reads)
	if err != nil {
		return false, artifact(err)
	}
	view, err := r.ws.tree.BaseView()
	if err != nil {
		return false, err
	}
	for i := range list {
		if same, err := r.eng.sameInput(r.plan, &list[i], view); err != nil || !same {
			return false, err
		}
	}
	if otherDependency(r.plan.root(), then.Dependencies) != "" {
		return false, nil
	}
	for _, d := range then.Declared {
		if now, err := LookUpInput(ctx, d, r.eng.Getenv, view); err != nil || now != d {
			return false, err
		}
	}
	return true, nil
}

// sameInput reports whether what was read is the same in a tree.
func (e *Engine) sameInput(p *Plan, in *notebooks.Input, view *worktree.View) (bool, error) {
	if in.Again != "" {
		return true, nil
	}
	if in.Path == notebooks.HistoryPath {
		return in.Blob == string(p.base), nil
	}
	blob, mode, err := view.Entry(in.Path)
	if err != nil {
		return false, err
	}
	var tree, names string
	if in.Tree != "" {
		tree, err = view.Below(in.Path, in.Of)
	}
	if err == nil && in.Names != "" {
		names, err = view.Names(in.Path, in.Of)
	}
	if err != nil {
		return false, err
	}
	attributes := ""
	if in.Blob+in.Tree != "" {
		attributes, err = view.Attributes(in.Path)
	}
	return !in.Ignored && attributes == in.Attributes && (in.Blob == "" || blob == in.Blob && mode == in.BlobMode()) &&
		(in.Tree == "" || tree == in.Tree) && (in.Names == "" || names == in.Names), err
}

// sameChange reports whether a change is, file by file, the one that a patch made.
func sameChange(now []runs.ChangedFile, was *runs.PatchData) bool {
	if was == nil {
		return len(now) == 0
	}
	return slices.Equal(now, was.Files)
}

// recordInputs records what the run depended on.
func (r *run) recordInputs(ctx context.Context) error {
	in, err := r.ws.tree.Inputs()
	if err != nil {
		return fmt.Errorf("what the run read cannot be told: %w", err)
	}
	if err := r.ws.data.inputs(in); err != nil {
		return fmt.Errorf("what the run read of data: cannot be told: %w", err)
	}
	for i := range in.Read {
		if err := r.conceal(&in.Read[i]); err != nil {
			return err
		}
	}
	var view *worktree.View
	for _, d := range r.plan.notebook.Front.Inputs {
		if d.Kind == notebooks.InputPath && view == nil {
			if view, err = r.ws.tree.BaseView(); err != nil {
				return err
			}
		}
		now, err := LookUpInput(ctx, d, r.eng.Getenv, view)
		if err != nil {
			return err
		}
		if d.Kind == notebooks.InputHistory {
			now.Version = string(r.plan.base)
		}
		in.Declared = append(in.Declared, now)
	}
	for i := range in.Dependencies {
		for _, d := range r.ws.opened.Dependencies {
			if in.Dependencies[i].Path == d.Path && d.Differs {
				in.Dependencies[i].Differs = d.Lock
			}
		}
	}
	if in.Unknown == "" {
		in.Tests = r.verdict.tested.reads
		if in.Programs, err = programs(r.rec.events); err != nil {
			return err
		}
	}
	return r.rec.emit(runs.InputsRecorded, "", in)
}

// programPatience is how long a program may take to say its version.
const programPatience = 10 * time.Second

// LookUpInput says what a declared input is now: patterns of paths in view, files and programs on this machine, and
// variables in the environment of the caller. A missing one has neither digest nor version.
func LookUpInput(ctx context.Context, in notebooks.DeclaredInput, getenv func(string) (string, bool),
	view *worktree.View) (notebooks.DeclaredInput, error) {
	in.Digest, in.Version = "", ""
	var err error
	switch in.Kind {
	case notebooks.InputEnv:
		if v, ok := getenv(in.Name); ok {
			in.Digest = string(runs.DigestOf([]byte(v)))
		}
	case notebooks.InputFile:
		in.Digest, err = digestOfInput(in.Name, getenv)
	case notebooks.InputHistory: // the caller knows the commit
	case notebooks.InputProgram:
		in.Version, in.Digest, err = versionOf(ctx, in.Name, getenv)
	default:
		in.Digest, err = digestOfPaths(in.Name, view)
	}
	if err != nil {
		err = fmt.Errorf("the declared input %s cannot be read: %w", in.Name, err)
	}
	return in, err
}

func digestOfInput(name string, getenv func(string) (string, bool)) (string, error) {
	if rest, below := strings.CutPrefix(name, "~/"); below {
		home, _ := getenv("HOME")
		name = filepath.Join(home, rest)
	}
	digest, err := digestOfFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(digest), err
}

// versionOf is the first line that a program prints of its version. Of one that prints none, it is the digest of its
// file.
func versionOf(ctx context.Context, name string, getenv func(string) (string, bool)) (version, digest string,
	err error) {
	found := ""
	list, _ := getenv("PATH")
	for _, dir := range filepath.SplitList(list) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(p) {
			found = p
			break
		}
	}
	if found == "" {
		return "", "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, programPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, "--version")
	cmd.Dir = os.TempDir()
	if out, err := cmd.CombinedOutput(); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				return strings.ToValidUTF8(line[:min(len(line), 200)], "?"), "", nil
			}
		}
	}
	sum, err := digestOfFile(found)
	return "", string(sum), err
}

// digestOfPaths is the digest of the paths that a pattern matches, with their blobs; "" if it matches none.
func digestOfPaths(pattern string, view *worktree.View) (string, error) {
	if view == nil {
		return "", nil
	}
	var list []string
	err := view.Paths(func(name, blob string) {
		if matchPath(pattern, name) {
			list = append(list, name+"\x00"+blob+"\n")
		}
	})
	if err != nil || len(list) == 0 {
		return "", err
	}
	slices.Sort(list)
	return string(runs.DigestOf([]byte(strings.Join(list, "")))), nil
}
