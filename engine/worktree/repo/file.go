package repo

import (
	"fmt"
	"io/fs"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// Modes of the entries that File reads.
const (
	fileMode   = disk.ModeFile | 0o644
	scriptMode = disk.ModeFile | 0o755
)

// File reads a file of a commit. The path is slash-separated. A missing file is fs.ErrNotExist; a symbolic link, a
// folder or a submodule in its place is another error.
func (s *Repo) File(commit object.OID, path string) ([]byte, error) {
	files, err := s.CommitFiles(commit)
	if err != nil {
		return nil, err
	}
	entry, err := files.at(path)
	switch {
	case err != nil:
		return nil, err
	case entry.Mode == 0:
		return nil, fmt.Errorf("%s in commit %s: %w", path, commit, fs.ErrNotExist)
	case entry.Mode == disk.ModeDir:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
			Msg:  fmt.Sprintf("is a folder in commit %s, and a file is expected", commit),
			Hint: "name a file in it, as REV:" + path + "/task.md"}
	case entry.Mode != fileMode && entry.Mode != scriptMode:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
			Msg: fmt.Sprintf("is no regular file in commit %s", commit), Hint: "commit it as one"}
	}
	return s.Read("blob", entry.OID)
}

// Email is the user's address in Git's configuration, or "".
func (s *Repo) Email() string {
	email, _ := s.Config.Get("user", "", "email")
	return email
}
