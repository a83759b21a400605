package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/patch"
	"markmill/engine/worktree/repo"
	"markmill/notebooks"
	"markmill/runs"
)

// Applied says what Apply found and did.
type Applied struct {
	There   bool // the checkout had every file as the run left it: nothing was to be done
	Resumed bool // an earlier Apply of the same run was cut, and this one finished it
}

// Apply puts a run's patch on the user's checkout, all of it or nothing. The index is left alone. The new files are
// written beside the checkout first and then renamed into place, so that a kill leaves each file either old or new;
// another Apply of the same run finishes what the first began. begin is called before the first file changes; if it
// returns an error, nothing is changed. A conflict is an error that names the files. Cancelling ctx has an effect only
// until begin was called.
func Apply(ctx context.Context, s *repo.Repo, runID string, files []runs.ChangedFile, patch []byte,
	begin func() error) (Applied, error) {
	return perform(ctx, s, runID, files, patch, false, begin)
}

// RevertedSuffix tells the stage of a Revert from that of an Apply of the same run.
const RevertedSuffix = ".back"

// Revert takes a run's patch back, as Apply puts it on. It needs the program git.
func Revert(ctx context.Context, s *repo.Repo, runID string, files []runs.ChangedFile, patch []byte,
	begin func() error) (Applied, error) {
	if !repo.HaveGit() {
		return Applied{}, &notebooks.Error{Kind: notebooks.KindOption, Msg: "taking a change back needs Git",
			Hint: "install it, or check the files out by other means"}
	}
	var back []runs.ChangedFile
	for _, f := range files {
		f.NewMode, f.NewBlob, f.OldMode, f.OldBlob = f.OldMode, f.OldBlob, f.NewMode, f.NewBlob
		if f.OldPath != "" {
			f.Path, f.OldPath = f.OldPath, f.Path
		}
		back = append(back, f)
	}
	return perform(ctx, s, runID+RevertedSuffix, back, patch, true, begin)
}

func perform(ctx context.Context, s *repo.Repo, runID string, files []runs.ChangedFile, patch []byte, reverse bool,
	begin func() error) (Applied, error) {
	st, err := openStage(s.Root(), runID, patch)
	if err != nil {
		return Applied{}, err
	}
	defer st.close()
	if st.pending() {
		if err := begin(); err != nil {
			return Applied{}, err
		}
		return Applied{Resumed: true}, st.resume()
	}
	if hasResult(s, files) {
		return Applied{There: true}, nil
	}
	list, err := planChanges(ctx, s, patch, st.making, reverse)
	if err != nil {
		return Applied{}, err
	}
	if err := st.prepare(list); err != nil {
		return Applied{}, err
	}
	if err = ctx.Err(); err == nil {
		err = begin()
	}
	if err != nil {
		return Applied{}, errors.Join(err, st.drop())
	}
	return Applied{}, st.perform()
}

// planChanges computes the new content of each path. Where the Git program is installed, it works on copies below
// scratch: it knows filters, line endings and lines that have moved. Otherwise this package does it.
func planChanges(ctx context.Context, s *repo.Repo, text []byte, scratch string, reverse bool) ([]change, error) {
	parts, err := patch.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	if !repo.HaveGit() {
		return planOwn(s.Root(), parts)
	}
	args := []string{"-c", "apply.ignoreWhitespace=no", "apply", "--whitespace=nowarn", "-p1"}
	if reverse {
		args = append(args, "-R")
		for i := range parts {
			p := &parts[i]
			p.OldPath, p.NewPath = p.NewPath, p.OldPath
		}
	}
	return planGit(ctx, s, parts, text, filepath.Join(scratch, "scratch"), append(args, "-"))
}

// planGit lets `git apply` change copies of the files.
func planGit(ctx context.Context, s *repo.Repo, parts []patch.File, text []byte, scratch string, args []string) (
	[]change, error) {
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	var bad []string
	copied := map[string]bool{}
	for _, p := range parts {
		for _, path := range []string{p.OldPath, p.NewPath} {
			if path == "" || copied[path] {
				continue
			}
			copied[path] = true
			if !safePath(path) || copyPath(s.Root(), path, scratch) != nil {
				bad = append(bad, path)
			}
		}
	}
	if len(bad) > 0 {
		return nil, conflict(s.Root(), bad, patch.ErrConflict)
	}
	for path := range copied { // the rules that say how Git writes them
		for dir := slashDir(path); ; dir = slashDir(dir) {
			at := strings.TrimPrefix(dir+"/.gitattributes", "/")
			if !copied[at] {
				copied[at] = true
				if err := copyPath(s.Root(), at, scratch); err != nil {
					return nil, err
				}
			}
			if dir == "" {
				break
			}
		}
	}
	env := []string{"GIT_DIR=" + s.GitDir(), "GIT_WORK_TREE=" + scratch}
	_, err := repo.RunGit(ctx, scratch, env, text, args...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, conflict(s.Root(), conflictingFiles(err), err)
	}
	var goes, comes []change
	for _, p := range parts {
		if p.Goes() {
			goes = append(goes, change{path: p.OldPath})
		}
		if p.NewPath == "" {
			continue
		}
		made, err := stateOf(scratch, p.NewPath)
		if err != nil {
			return nil, err
		}
		if made.Mode == disk.ModeDir {
			made.Mode = disk.ModeGitlink
		}
		comes = append(comes, change{p.NewPath, made.data, made.Mode})
	}
	return inOrder(goes, comes), nil
}

// slashDir is the folder of a path, "" at the top.
func slashDir(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// inOrder puts removals before additions. A path that is in both is replaced.
func inOrder(goes, comes []change) []change {
	goes = slices.DeleteFunc(goes, func(g change) bool {
		return slices.ContainsFunc(comes, func(c change) bool { return c.path == g.path })
	})
	return append(goes, comes...)
}

// copyPath copies what is at a path of the checkout to the same path below another folder. A missing path is no error.
func copyPath(root, path, to string) error {
	is, err := stateOf(root, path)
	if err != nil || is.Mode == 0 {
		return err
	}
	full := filepath.Join(to, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		return err
	}
	if is.Mode == disk.ModeDir {
		return os.MkdirAll(full, 0o777)
	}
	return disk.Copy(root, path, full)
}

// ignoreMissing returns nil when the folder of a path is missing or is a file, and the error when the path lies behind
// a symbolic link.
func ignoreMissing(root, path string, err error) error {
	for dir := slashDir(path); dir != ""; dir = slashDir(dir) {
		info, lerr := os.Lstat(filepath.Join(root, filepath.FromSlash(dir)))
		switch {
		case disk.Gone(lerr):
		case lerr != nil:
			return lerr
		case info.Mode().IsRegular():
			return nil
		case !info.IsDir():
			return err
		}
	}
	return nil
}

// hasResult reports whether every file is as the run left it.
func hasResult(s *repo.Repo, files []runs.ChangedFile) bool {
	if len(files) == 0 {
		return false
	}
	for _, f := range files {
		if f.Quoted || f.NewMode == "160000" {
			return false
		}
		is, err := stateOf(s.Root(), f.Path)
		if err != nil {
			return false
		}
		if f.OldPath != "" {
			if was, err := stateOf(s.Root(), f.OldPath); err != nil || was.Mode != 0 {
				return false
			}
		}
		if f.NewMode == "" {
			if is.Mode != 0 {
				return false
			}
			continue
		}
		if fmt.Sprintf("%06o", is.Mode) != f.NewMode ||
			string(s.Format.OID(s.Format.Sum("blob", is.data))) != f.NewBlob {
			return false
		}
	}
	return true
}

// conflictingFiles extracts file names from the errors of `git apply`.
func conflictingFiles(err error) (files []string) {
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
	return files
}

func conflict(root string, files []string, cause error) error {
	slices.Sort(files)
	files = slices.Compact(files)
	return &notebooks.Error{Kind: notebooks.KindInput, File: root,
		Msg: "the patch does not fit the checkout, nothing was changed: " + strings.Join(files, ", "), Err: cause,
		Hint: "commit or stash what changed there since, or apply it to the run's base commit (`git apply -3`)"}
}

// change is the new state of one path.
type change struct {
	path string
	data []byte
	mode uint32 // 0: the path goes
}

// planOwn is planGit without the Git program. Lines must be exactly where the patch says.
func planOwn(root string, parts []patch.File) ([]change, error) {
	var goes, comes []change
	var bad []string
	removed := map[string]bool{}
	for _, p := range parts {
		removed[p.OldPath] = removed[p.OldPath] || p.Goes()
	}
	for _, p := range parts {
		next, err := planFile(root, &p, removed[p.NewPath])
		if err != nil {
			bad = append(bad, max(p.NewPath, p.OldPath))
			continue
		}
		if p.Goes() {
			goes = append(goes, change{path: p.OldPath})
		}
		if p.NewPath != "" {
			comes = append(comes, change{p.NewPath, next.Data, next.Mode})
		}
	}
	if len(bad) > 0 {
		return nil, conflict(root, bad, patch.ErrConflict)
	}
	return inOrder(goes, comes), nil
}

// safePath reports whether a patch may name a path: one inside the checkout and outside of Git directories.
func safePath(path string) bool {
	return filepath.IsLocal(filepath.FromSlash(path)) && !slices.Contains(strings.Split(strings.ToLower(path), "/"),
		".git")
}

// planFile computes what the new path of a change holds; free says that another part of the patch clears its place.
func planFile(root string, p *patch.File, free bool) (patch.State, error) {
	var was patch.State
	for _, name := range []string{p.OldPath, p.NewPath} {
		if name != "" && !safePath(name) {
			return was, patch.ErrConflict
		}
	}
	if p.OldPath != "" {
		is, err := stateOf(root, p.OldPath)
		if err != nil {
			return was, err
		}
		if is.Mode == disk.ModeDir || p.OldMode != 0 && p.OldMode&disk.ModeType != is.Mode&disk.ModeType {
			return was, patch.ErrConflict
		}
		was = patch.State{Mode: is.Mode, Data: is.data}
	}
	if p.NewPath != "" && p.NewPath != p.OldPath && !free {
		_, err := disk.StatAt(root, p.NewPath)
		if err == nil && !disk.IsFolder(filepath.Join(root, p.NewPath)) {
			return was, patch.ErrConflict // in the way
		}
	}
	return p.On(was)
}
