package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/keys"
	"markmill/runs"
)

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
