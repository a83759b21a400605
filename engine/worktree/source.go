package worktree

import (
	"context"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
	"sync"
	"time"
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
