package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks"
)

// Apply puts a patch on the user's checkout, all of it or nothing; the index is left alone. It is
// tried in full first: a conflict is an error that names the files.
func Apply(ctx context.Context, s *Source, patch []byte) error {
	if len(patch) == 0 {
		return nil
	}
	if !haveGit() {
		return applyOwn(s.root, patch)
	}
	args := []string{"apply", "--whitespace=nowarn", "-p1", "-"}
	_, err := runGit(ctx, s.root, nil, patch, append([]string{"-c", "apply.ignoreWhitespace=no"}, args...)...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	var files []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, line, _ = strings.Cut(line, "error: ")
		if rest, ok := strings.CutPrefix(line, "patch failed: "); ok {
			line = rest[:max(0, strings.LastIndexByte(rest, ':'))]
		} else if name, _, ok := strings.Cut(line, ": "); ok {
			line = name
		}
		if line != "" {
			files = append(files, line)
		}
	}
	return conflict(s.root, files, err)
}

func conflict(root string, files []string, cause error) error {
	slices.Sort(files)
	files = slices.Compact(files)
	return &notebooks.Error{Kind: notebooks.KindInput, File: root, Msg: "the patch does not fit the checkout, nothing was changed: " + strings.Join(files, ", "), Err: cause,
		Hint: "commit or stash what changed there since, or apply it to the run's base commit (`git apply -3`)"}
}

// change is what applyOwn does to one path.
type change struct {
	path   string
	data   []byte
	mode   uint32 // 0: the path goes
	backup string
}

// applyOwn is Apply without the Git program. Lines must be exactly where the patch says.
func applyOwn(root string, patch []byte) error {
	parts, err := parsePatch(patch)
	if err != nil {
		return fmt.Errorf("reading the patch: %w", err)
	}
	var goes, comes []change
	var bad []string
	removed := map[string]bool{}
	for _, p := range parts {
		if p.oldPath != "" && (p.newPath == "" || p.rename) {
			removed[p.oldPath] = true
		}
	}
	for i := range parts {
		p := &parts[i]
		next, err := planFile(root, p, removed)
		if err != nil {
			bad = append(bad, max(p.newPath, p.oldPath))
			continue
		}
		if p.oldPath != "" && (p.newPath == "" || p.rename) {
			goes = append(goes, change{path: p.oldPath})
		}
		if p.newPath != "" {
			comes = append(comes, next)
		}
	}
	if len(bad) > 0 {
		return conflict(root, bad, errConflict)
	}
	return perform(root, append(goes, comes...))
}

// planFile computes the new content of one path from what the checkout holds.
func planFile(root string, p *filePatch, removed map[string]bool) (c change, err error) {
	c.path = p.newPath
	for _, name := range []string{p.oldPath, p.newPath} {
		if name != "" && (!filepath.IsLocal(filepath.FromSlash(name)) || slices.Contains(strings.Split(strings.ToLower(name), "/"), ".git")) {
			return c, errConflict
		}
	}
	var old []byte
	var mode uint32
	if p.oldPath != "" {
		f, name, err := reach(root, p.oldPath)
		if err != nil {
			return c, err
		}
		defer f.close()
		st, err := f.lstat(name)
		if err != nil {
			return c, err
		}
		mode = st.gitMode()
		if mode == modeLink {
			target, err := f.readlink(name)
			if err != nil {
				return c, err
			}
			old = []byte(target)
		} else if old, _, err = f.content(name, st.size); err != nil {
			return c, err
		}
		if p.oldMode != 0 && p.oldMode&modeType != mode&modeType {
			return c, errConflict
		}
	}
	if p.newPath != "" && p.newPath != p.oldPath && !removed[p.newPath] {
		f, name, err := reach(root, p.newPath)
		if err == nil {
			_, err = f.lstat(name)
			f.close()
		}
		if err == nil && !isFolder(filepath.Join(root, p.newPath)) {
			return c, errConflict // in the way
		}
	}
	if p.binary && p.oldPath != "" && !p.madeFor(old) {
		return c, errConflict
	}
	if c.data, err = p.apply(old); err != nil {
		return c, err
	}
	c.mode = p.newMode
	if c.mode == 0 {
		c.mode = mode
	}
	return c, nil
}

// perform makes the changes, and takes them back when one fails.
func perform(root string, list []change) (err error) {
	keep, err := os.MkdirTemp(root, ".markmill-apply-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(keep)
	done := 0
	defer func() {
		if err == nil {
			return
		}
		for _, c := range slices.Backward(list[:done+1]) {
			full := filepath.Join(root, filepath.FromSlash(c.path))
			if c.mode != 0 {
				os.Remove(full)
			}
			if c.backup != "" {
				err = errors.Join(err, os.MkdirAll(filepath.Dir(full), 0o777), os.Rename(c.backup, full))
			}
		}
	}()
	for done = range list {
		c := &list[done]
		full := filepath.Join(root, filepath.FromSlash(c.path))
		if fi, e := os.Lstat(full); e == nil && !fi.IsDir() {
			backup := filepath.Join(keep, fmt.Sprint(done))
			if err := os.Rename(full, backup); err != nil {
				return err
			}
			c.backup = backup
		}
		if c.mode == 0 {
			if err := removeUp(root, c.path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return err
		}
		switch c.mode {
		case modeLink:
			err = os.Symlink(string(c.data), full)
		case modeGitlink:
			err = os.MkdirAll(full, 0o777)
		default:
			err = writeNew(full, c.data, os.FileMode(0o666|c.mode&0o111))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
