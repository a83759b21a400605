package worktree

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// Source is the user's repository and checkout, which a run only ever reads.
type Source struct {
	*repo.Repo

	mu    sync.Mutex
	print *snapshot.Node // the last walk of the checkout: the next one lists only what changed
	at    time.Time      // when it began
	seen  bool           // the next fingerprint may take it as it is
}

// Open finds the repository that dir is in, by looking upwards. GIT_DIR and its like are ignored: a run belongs to the
// folder that it was started for.
func Open(dir string) (*Source, error) {
	r, err := repo.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Source{Repo: r}, nil
}

// OnWarning sets what tells the user of a revision that means several things; see repo.Warn.
func OnWarning(tell func(words string)) { repo.Warn = tell }

// CheckoutFiles are the files of the checkout that Git has or would take up: those of HEAD as they are on disk, and
// untracked ones that are not ignored. Close gives it back.
func (s *Source) CheckoutFiles(ctx context.Context) (*repo.Files, error) {
	paths, err := s.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	head, err := s.Resolve("HEAD")
	if err != nil {
		return nil, err
	}
	return s.FilesOnDisk(head, paths)
}

// What users of a worktree need of the packages below it.
type (
	OID        = object.OID
	Identity   = object.Identity
	Bundle     = object.Bundle
	NewBranch  = repo.NewBranch
	NewFiles   = repo.NewFiles
	Files      = repo.Files
	View       = repo.View
	PathChange = repo.PathChange
	Commit     = repo.Commit
	History    = repo.History
	Dependency = repo.Dependency
)

// Modules is the name of the folder of Node's packages.
const Modules = repo.Modules

// RunTrailer is the line of a commit's message that names the run.
const RunTrailer = object.RunTrailer

// OutputTrailer is the line of a commit's message that names the output notebook that it is of.
const OutputTrailer = object.OutputTrailer

// ErrNoRepository is what Open wraps when no folder upwards holds a Git repository.
var ErrNoRepository = repo.ErrNoRepository

// OpenBundle reads a run's bundle through; see object.OpenBundle.
func OpenBundle(path string) (*Bundle, error) { return object.OpenBundle(path) }

// Changes lists the regular files that differ; see repo.Changes.
func Changes(old, new *Files, want func(name string) bool) ([]PathChange, error) {
	return repo.Changes(old, new, want)
}

// LookUpDependency identifies a folder of dependencies; see repo.LookUpDependency.
func LookUpDependency(root, name string) (Dependency, bool) { return repo.LookUpDependency(root, name) }

// Differing lists the files and links that differ in content or mode; see repo.Differing.
func Differing(old, new *Files) ([]string, error) { return repo.Differing(old, new) }

// QuotedPath writes a path as Git prints it: as it is, or quoted where it has unusual bytes.
func QuotedPath(path string) string { return quote.Path(path) }

// ShownPath writes a path as records do: bytes that are not UTF-8 as \xNN.
func ShownPath(path string) string {
	text, _ := quote.Shown(path)
	return text
}

// RawPath returns the bytes of a path that is recorded as quoted.
func RawPath(text string) string { return quote.Raw(text) }

// RunGit runs the Git program on a repository; see repo.RunGit.
func RunGit(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	return repo.RunGit(ctx, dir, env, nil, args...)
}

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
