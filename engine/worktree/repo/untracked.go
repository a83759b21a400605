package repo

import (
	"os"
	"path"
	"path/filepath"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/snapshot"
)

// Untracked lists what the checkout has and its index does not, slash-separated: files, and folders in which nothing is
// tracked. Submodules are among them. Links are not.
func (s *Repo) Untracked() ([]string, error) {
	tracked, err := s.tracked()
	if err != nil {
		return nil, err
	}
	leads := map[string]bool{".": true}
	for name := range tracked {
		for dir := path.Dir(name); !leads[dir]; dir = path.Dir(dir) {
			leads[dir] = true
		}
	}
	var out []string
	var look func(dir string) error
	look = func(dir string) error {
		entries, err := os.ReadDir(filepath.Join(s.Root(), filepath.FromSlash(dir)))
		if disk.Gone(err) {
			return nil
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.Type()&os.ModeSymlink != 0:
			case e.IsDir() && leads[name]:
				if err := look(name); err != nil {
					return err
				}
			case !tracked[name]:
				out = append(out, name)
			}
		}
		return err
	}
	return out, look(".")
}

// tracked are the files of the index, or of HEAD where the index is of a kind that the Git program reads.
func (s *Repo) tracked() (map[string]bool, error) {
	out := map[string]bool{}
	index, err := snapshot.ReadIndex(filepath.Join(s.GitDir(), "index"), s.Format)
	for name, e := range index {
		if uint32(e.Mode) != disk.ModeGitlink {
			out[name] = true
		}
	}
	if err == nil {
		return out, nil
	}
	head, err := s.Head()
	if err != nil {
		return nil, err
	}
	files, err := s.CommitFiles(head)
	if err != nil {
		return nil, err
	}
	return out, files.View().Paths(func(name, _ string) { out[name] = true })
}
