package engines

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"time"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/runs"
)

// RootOf is the root of a repository; "" without one.
func RootOf(repo *worktree.Source) string {
	if repo == nil {
		return ""
	}
	return repo.Root()
}

// New returns an engine with the settings of the repository around a folder, and that repository (nil outside
// of one). If the program markmill is on the PATH, steps have the commands glue and scrap, and the sandbox is
// complete.
func New(folder string) (*engine.Engine, *worktree.Source, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, nil, err
	}
	root := ""
	repo, err := worktree.Open(folder)
	switch {
	case err == nil:
		root = repo.Root()
	case errors.Is(err, worktree.ErrNoRepository):
		repo = nil
	default:
		return nil, nil, err
	}
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, nil, err
	}
	if err := repo.CheckStore(filepath.Join(root, ".markmill")); err != nil {
		return nil, nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "markmill")
	tools, err := exec.LookPath("markmill")
	if err == nil {
		tools, err = filepath.Abs(tools)
	}
	if err != nil {
		tools = ""
	}
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return &engine.Engine{Version: "program", Config: cfg, Source: repo, Cache: cache, Tools: tools,
		Getenv: os.LookupEnv, Now: time.Now, Random: rand.Reader, User: who,
		Store: func(root string) runs.Store {
			if root == "" {
				return runs.Store{Dir: filepath.Join(cache, "runs")}
			}
			return runs.Store{Dir: filepath.Join(root, ".markmill")}
		}}, repo, nil
}
