package worktree

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// CheckStore returns an error for a store of records that a branch may have brought: a folder of the checkout that is a
// link, or of which Git tracks a file. Who wrote the branch may have written any record into it, a token of the queue,
// or a link that leads elsewhere. It reads the index; the Git program is started only for a split index.
func (s *Source) CheckStore(dir string) error {
	if s == nil {
		return nil
	}
	name, ok := s.Relative(dir)
	if !ok || name == "." {
		return nil
	}
	tracked, err := s.tracked(name)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindInput, File: dir, Msg: "whether Git tracks a file in it is not " +
			"known, because the index cannot be read: " + err.Error(), Hint: "mend the index: git reset", Err: err}
	}
	if tracked != "" {
		return &notebooks.Error{Kind: notebooks.KindInput, File: dir,
			Msg: fmt.Sprintf("Git tracks %s: the branch may have brought these records, so they are not used",
				quote.Escaped(tracked)),
			Hint: fmt.Sprintf("remove them: git rm -rf :/%s (if you made them here, keep the files: git rm -r "+
				"--cached :/%[1]s)", name)}
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &notebooks.Error{Kind: notebooks.KindInput, File: dir,
			Msg:  "is a symbolic link, and the store of records must be a folder",
			Hint: fmt.Sprintf("remove the link: rm %s; MARKMILL_DIR=FOLDER keeps records elsewhere", dir)}
	}
	return nil
}

// tracked returns the first path of the index that is name or below it. Letters of either case are the same, as file
// systems may have it.
func (s *Source) tracked(name string) (first string, err error) {
	last := strings.ToLower(name)[0]
	err = s.EachTracked(func(path []byte) bool {
		if len(path) >= len(name) && strings.EqualFold(string(path[:len(name)]), name) &&
			(len(path) == len(name) || path[len(name)] == '/') {
			first = string(path)
		}
		return first == "" && path[0] <= last // they are sorted
	})
	return first, err
}

// Tracked reports whether Git tracks a file of the checkout.
func (s *Source) Tracked(name string) (is bool, err error) {
	err = s.EachTracked(func(path []byte) bool { is = string(path) == name; return !is })
	return is, err
}

// EachTracked visits the paths that Git tracks in the checkout, in their order, until visit returns false.
func (s *Source) EachTracked(visit func(path []byte) bool) error {
	if split, err := fs.Glob(os.DirFS(s.GitDir()), "sharedindex.*"); err == nil && len(split) > 0 {
		list, err := repo.RunGit(context.Background(), s.Root(), nil, nil, "ls-files", "-z")
		for path := range bytes.SplitSeq(list, []byte{0}) {
			if len(path) > 0 && !visit(path) {
				break
			}
		}
		return err
	}
	return snapshot.EachTracked(filepath.Join(s.GitDir(), "index"), s.Format, visit)
}
