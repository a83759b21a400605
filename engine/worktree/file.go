package worktree

import (
	"fmt"
	"io/fs"
	"strings"

	"markmill/notebooks"
)

// Modes of the entries that File reads or goes through.
const (
	fileMode   = 0o100644
	scriptMode = 0o100755
	folderMode = 0o040000
)

// File reads a file as a commit has it. The path is slash-separated. A file that is not there is
// fs.ErrNotExist; a symbolic link, a folder or a submodule in its place is another error.
func (s *Source) File(commit OID, path string) ([]byte, error) {
	id, ok := s.fmt.parse(commit)
	if !ok {
		return nil, fmt.Errorf("%q is no commit", commit)
	}
	at, err := s.treeOf(id)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		data, err := s.read("tree", at)
		if err != nil {
			return nil, err
		}
		entries, err := parseTree(s.fmt, data)
		if err != nil {
			return nil, err
		}
		entry, found := entryOf(entries, part)
		last := i == len(parts)-1
		switch {
		case !found || !last && entry.mode != folderMode:
			return nil, fmt.Errorf("%s in commit %s: %w", path, commit, fs.ErrNotExist)
		case last && entry.mode == folderMode:
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
				Msg: fmt.Sprintf("is a folder in commit %s, and a file is expected", commit), Hint: "name a file in it, as REV:" + path + "/task.md"}
		case last && entry.mode != fileMode && entry.mode != scriptMode:
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: path,
				Msg: fmt.Sprintf("is no regular file in commit %s", commit), Hint: "commit it as one"}
		}
		at = entry.oid
	}
	return s.read("blob", at)
}

func entryOf(entries []treeEntry, name string) (treeEntry, bool) {
	for _, e := range entries {
		if e.name == name {
			return e, true
		}
	}
	return treeEntry{}, false
}

// Email is the user's by Git's settings, "" without one.
func (s *Source) Email() string {
	email, _ := s.conf.get("user", "", "email")
	return email
}
