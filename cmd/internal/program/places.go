package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/lookup"
	"markmill/cmd/internal/remote"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// Store is the store of a repository, nil outside one, unless a branch may have brought it.
func (p *Places) Store(repo *worktree.Source) (runs.Store, error) {
	store := p.StoreAt(engines.RootOf(repo))
	return store, repo.CheckStore(store.Dir)
}

// StoreAt is where the runs of a repository are kept; root is "" outside one.
func (p *Places) StoreAt(root string) runs.Store {
	if dir := p.Env("MARKMILL_DIR"); dir != "" {
		if abs, err := filepath.Abs(p.Path(dir)); err == nil {
			dir = abs
		}
		return runs.Store{Dir: dir}
	}
	if root != "" {
		return runs.Store{Dir: filepath.Join(root, ".markmill")}
	}
	return runs.Store{Dir: filepath.Join(p.UserDir("XDG_STATE_HOME", ".local/state"), "markmill")}
}

// UserDir is a folder of the XDG base directory specification.
func (p *Places) UserDir(variable, fallback string) string {
	if dir := p.Env(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, filepath.FromSlash(fallback))
}

// Cache is the folder of the worktrees of runs. A run inside a step uses that step's temporary folder: the sandbox of
// the step allows no writes where other runs are.
func (p *Places) Cache() string {
	if p.Env("MARKMILL_DEPTH") != "" {
		return filepath.Join(os.TempDir(), "markmill")
	}
	return filepath.Join(p.UserDir("XDG_CACHE_HOME", ".cache"), "markmill")
}

// Engine makes an engine with the settings of the repository at root.
func (p *Places) Engine(root string) (*engine.Engine, error) {
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, err
	}
	tools, err := p.Program()
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Version: Version().Version, Config: cfg, Store: p.StoreAt, Cache: p.Cache(),
		Tools: tools, Getenv: p.Getenv, Now: p.Now, Random: p.Random, User: p.UserName(), Ended: p.exporter()}, nil
}

// UserName is the name of the user, "unknown" when the system does not say, and before it that of a person for whom the
// user acts.
func (w *World) UserName() string {
	name := "unknown"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	if w.Actor != "" {
		return runs.Via(w.Actor, name)
	}
	return name
}

// EngineFor finds the repository that a notebook works on, and makes its engine. The repository is the one that was
// named, or else the one around the working directory, or else the one around the notebook, or none.
func (p *Places) EngineFor(notebook, named string) (*engine.Engine, *worktree.Source, error) {
	wd, err := p.Absolute()
	if err != nil {
		return nil, nil, err
	}
	places := []string{wd}
	if named != "" {
		places = []string{named}
	} else if notebook != "-" && !remote.Is(notebook) {
		places = append(places, filepath.Dir(p.Path(notebook)))
	}
	for _, place := range places {
		if place, err = filepath.Abs(place); err != nil {
			return nil, nil, err
		}
		src, err := worktree.Open(place)
		switch {
		case err == nil:
			eng, err := p.Engine(src.Root())
			if err == nil {
				eng.Source = src
			}
			return eng, src, err
		case !errors.Is(err, worktree.ErrNoRepository):
			return nil, nil, err
		}
	}
	if named != "" {
		return nil, nil, Usagef("--repo %s: there is no Git repository", named)
	}
	eng, err := p.Engine("")
	return eng, nil, err
}

// Lookup reads what words of a command line name.
func (a *App) Lookup() lookup.Reader {
	return lookup.Reader{
		In: a.Folder, Most: a.most,
		Store: func() (runs.Store, error) {
			store, _, err := a.Here()
			return store, err
		},
		Read:   a.ReadAny,
		Stream: func(word string) bool { return word == "-" || remote.Is(word) },
		Name:   Name,
	}
}

// Here is the store and the repository of the working directory, or of --repo.
func (p *Places) Here() (runs.Store, *worktree.Source, error) {
	store, src, err := p.Indexed()
	if err == nil {
		_ = store.EmptyTrash() // what a killed prune left; the next prune reports what cannot be removed
	}
	return store, src, err
}

// Indexed is here without a look through the folder of the runs, which takes long where there are many.
func (p *Places) Indexed() (runs.Store, *worktree.Source, error) {
	store, src, err := p.Repository("")
	if p.Repo == "" && errors.Is(err, worktree.ErrNoRepository) {
		store, err = p.Store(nil)
	}
	return store, src, err
}

// RecordOf is the directory of one run.
func (p *Places) RecordOf(word string) (dir string, err error) {
	store, _, err := p.Here()
	if err == nil {
		_, dir, err = store.Find(word)
	}
	return dir, err
}

// Find loads one run.
func (p *Places) Find(word string) (*runs.Run, string, error) {
	dir, err := p.RecordOf(word)
	if err != nil {
		return nil, "", err
	}
	run, _, err := runs.At(dir).Load()
	return run, dir, err
}

// EngineHere makes the engine of the repository of the working directory. It returns an error outside of one; need
// says what needs which repository.
func (p *Places) EngineHere(need string) (*engine.Engine, error) {
	_, src, err := p.Here()
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, Usagef("%s, and the working directory is in none", need)
	}
	eng, err := p.Engine(src.Root())
	if err == nil {
		eng.Source = src
	}
	return eng, err
}

// OwnPath is the path of this program: that on PATH if it leads here, because it outlives an update.
func OwnPath() (path string, onPath bool, err error) {
	own, err := os.Executable()
	if err != nil {
		return "", false, err
	}
	if found, err := exec.LookPath("markmill"); err == nil && files.Same(found, own) {
		return found, true, nil
	}
	return own, false, nil
}

// Served is the root of the repository around a folder, or the folder and nil outside of one.
func (p *Places) Served(repo string) (string, *worktree.Source, error) {
	root, err := filepath.Abs(repo)
	if err != nil {
		return "", nil, err
	}
	src, err := worktree.Open(root)
	switch {
	case err == nil:
		_, err := p.Store(src)
		return src.Root(), src, err
	case !errors.Is(err, worktree.ErrNoRepository):
		return "", nil, Troubled(err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", nil, Usagef("--repo %s is no folder", repo)
	}
	return root, nil, nil
}

// Repository is the one that a folder is in, with its store; "" is --repo, or else the working directory.
func (p *Places) Repository(folder string) (store runs.Store, repo *worktree.Source, err error) {
	named := folder == "" && p.Repo != ""
	if folder, err = filepath.Abs(p.Path(cmp.Or(folder, p.Repo))); err == nil {
		repo, err = worktree.Open(folder)
	}
	if err != nil && named {
		err = fmt.Errorf("--repo %s: %w", plain.Escape(p.Repo), err)
	}
	if err == nil {
		store, err = p.Store(repo)
	}
	return store, repo, err
}

// RepoWords is " --repo FOLDER" for commands about a repository other than that of the working directory, else "".
func (p *Places) RepoWords(root string) string {
	if _, here, err := p.Repository("."); root == "" || err == nil && files.Same(here.Root(), root) {
		return ""
	}
	return " --repo " + plain.Shell(files.Short(root))
}

// SweepNamed is the directory of the sweep that a word names; "" where it names something else.
func (p *Places) SweepNamed(word string) (string, error) {
	store, _, err := p.Here()
	if err != nil {
		return "", err
	}
	return store.FindSweep(word)
}

// IndexOptions show notes, and on a terminal how far reading is.
func (a *App) IndexOptions() index.Options {
	o := index.Options{Note: func(words string) { a.Tell("markmill: %s\n", plain.OneLine(words)) }}
	if a.Terminal(a.Stderr) {
		o.Progress = func(done, total int) { a.Tell("\rreading records: %d of %d\x1b[K", done, total) }
	}
	return o
}

// WithIndex opens the index of the store here, brought up to date, for ask. An interrupt ends ctx.
func (a *App) WithIndex(c *cobra.Command, ask func(ctx context.Context, store runs.Store, x *index.Index) error) error {
	store, _, err := a.Indexed()
	if err != nil {
		return err
	}
	ctx, stop := UntilInterrupted(c.Context())
	defer stop()
	o := a.IndexOptions()
	x, err := index.Open(ctx, store, o)
	if err = a.IndexRead(ctx, o, err); err != nil {
		return err
	}
	defer x.Close()
	return a.IndexRead(ctx, index.Options{}, ask(ctx, store, x))
}

// IndexRead ends the line that shows how far reading is. What an interrupt cut is no error of the records.
func (a *App) IndexRead(ctx context.Context, o index.Options, err error) error {
	if o.Progress != nil {
		a.Tell("\r\x1b[K")
	}
	if err == nil || ctx.Err() == nil {
		return err
	}
	a.Tell("markmill: interrupted\n")
	return Exit(130)
}

// Reindex tells the index of runs that changed. What it misses, the next question finds.
func (p *Places) Reindex(store runs.Store, changed ...runs.RunID) {
	_ = index.Update(context.Background(), store, changed...)
}
