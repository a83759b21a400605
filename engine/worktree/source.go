package worktree

import (
	"context"
	"sync"
	"time"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
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
