package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/schedule"
	"markmill/engine"
	"markmill/engine/worktree/pool"
	"markmill/render/plain"
	"markmill/runs"
)

// Checkup is what doctor --json prints.
type Checkup struct {
	Markmill program.Build `json:"markmill"`
	*Report
	Folders checkedFolders `json:"folders"`
	Pool    checkedPool    `json:"pool"`
	// Schedules says what is due and was not looked at; "" where nothing is wrong.
	Schedules string `json:"schedules,omitzero"`
	// Unmarked says why records of this user's runs are not marked as made here; "" where they are.
	Unmarked string `json:"unmarked,omitzero"`
}

// checkedPool are the worktrees that are kept for later runs.
type checkedPool struct {
	On        bool  `json:"on"` // the file system of the cache permits it, and markmill.yaml
	Worktrees int   `json:"worktrees"`
	Bytes     int64 `json:"bytes"`
}

// checkPool looks at the pool of the cache.
func checkPool(cache string, cfg engine.Config) (c checkedPool, err error) {
	at := cache
	if _, err := os.Stat(at); err != nil {
		at = os.TempDir()
	}
	c.On = cfg.Pool != "off" && pool.Works(at)
	list, err := pool.New(filepath.Join(cache, "pool")).List()
	for _, s := range list {
		c.Worktrees++
		c.Bytes += s.Bytes
	}
	return c, err
}

func (c checkedPool) words() string {
	words := fmt.Sprintf("%d worktrees kept for reuse, %d MiB", c.Worktrees, c.Bytes>>20)
	if !c.On {
		words += "; not used here"
	}
	return words
}

type checkedFolders struct {
	Repository string `json:"repository,omitzero"`
	Records    string `json:"records"`
	Cache      string `json:"cache"`
	Worktrees  string `json:"worktrees"` // of runs whose steps find them where they are (tree: separate)
}

func Command(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check what this machine has for runs, and how to install what is missing",
		Long: `Starts each built-in kernel, and looks for the programs of configured kernels and of Jupyter's, for Git, and
for what the system offers the sandbox. Nothing is written except temporary files, and the key that marks records
as this user's, if there is none. If notebooks of the repository are scheduled, it warns when nothing has run markmill schedule run-due or a scheduler since one was due.

Exit codes: 0 checked, 1 a kernel that markmill.yaml configures is missing, no kernel starts, or nothing runs what is
scheduled.`,
		Example: "  markmill doctor\n  markmill doctor --json | jq '.kernels[] | select(.ok | not)'",
		Args:    program.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return doctor(c.Context(), a, asJSON) },
	}
	program.JSONFlag(c, &asJSON, "doctor")
	return c
}

func doctor(ctx context.Context, a *program.App, asJSON bool) error {
	store, src, err := a.Here()
	if err != nil {
		return err
	}
	cfg, err := engine.LoadConfig(engines.RootOf(src))
	if err != nil {
		return err
	}
	report, err := Check(ctx, cfg, a.Getenv)
	if err != nil {
		return err
	}
	kept, err := checkPool(a.Cache(), cfg)
	if err != nil {
		return err
	}
	doc := Checkup{program.Version(), report, checkedFolders{Repository: engines.RootOf(src), Records: store.Dir,
		Cache:     a.Cache(),
		Worktrees: engine.ApartFolder(a.Cache(), a.Getenv)},
		kept, "", ""}
	if err := runs.MakeKey(); err != nil {
		doc.Unmarked = err.Error()
	}
	if src != nil {
		if doc.Schedules, err = schedule.Unwatched(ctx, a, store, src); err != nil {
			return err
		}
	}
	if asJSON {
		err = a.PrintJSON("doctor", doc)
	} else {
		repository := doc.Folders.Repository
		if repository == "" {
			repository = "none here"
		}
		_, err = fmt.Fprintf(a.Stdout, "markmill %s, %s\n\n%s\n"+
			"folders\n  repository  %s\n  records     %s\n  cache       %s\n  worktrees   %s\n  pool        %s\n",
			doc.Markmill.Version, doc.Markmill.Platform, report.Text(),
			plain.Escape(repository), plain.Escape(doc.Folders.Records), plain.Escape(doc.Folders.Cache),
			plain.Escape(doc.Folders.Worktrees),
			doc.Pool.words())
		if doc.Unmarked != "" && err == nil {
			err = program.Say(a.Stdout, "\nrecords\n  ✗ gate, review and --reuse do not count the records of your "+
				"runs, "+
				"because they cannot be marked as yours: %s\n", plain.Escape(doc.Unmarked))
		}
		if doc.Schedules != "" && err == nil {
			err = program.Say(a.Stdout, "\nschedules\n  ✗ %s\n", doc.Schedules)
		}
	}
	if err != nil {
		return err
	}
	return program.PassIf(report.OK() && doc.Schedules == "")
}
