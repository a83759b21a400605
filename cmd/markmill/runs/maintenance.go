package runs

import (
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/maintenance"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

func runsSizes(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "sizes", Short: "Show what is kept, how much it is, and what pruning would remove",
		Long: `Shows how much disk the records, sweeps and the index use, and the folders that all repositories share:
worktrees kept for reuse, work (private folders of runs that are going, or whose worktree was kept) and caches (of the
programs that steps call). Below it stands what markmill runs prune would remove now, when the next run becomes old
enough, and who prunes. Nothing is changed.

Every run prunes at its end. markmill runs maintain install has the system do it every day, for a repository that
rests.

Exit codes: 0 shown, 1 something cannot be read, 2 usage.`,
		Example: "  markmill runs sizes\n  markmill runs sizes --json | jq .due_bytes",
		Args:    program.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			store, schedule, cfg, err := schedule(a)
			if err != nil {
				return err
			}
			ctx, stop := program.UntilInterrupted(c.Context())
			defer stop()
			report, err := maintenance.Look(ctx, store, a.Cache(), cfg.Retention, a.Now())
			if err != nil {
				return err
			}
			if report.Daily, err = schedule.Installed(); err != nil {
				a.Tell("markmill: it is not known who prunes: %s\n", plain.OneLine(err.Error()))
			}
			if asJSON {
				return a.PrintJSON("runs-maintenance", report)
			}
			return printMaintenance(a, report, schedule)
		},
	}
	program.JSONFlag(c, &asJSON, "runs-maintenance")
	return c
}

func printMaintenance(a *program.App, r *maintenance.Report, s *maintenance.Schedule) error {
	if err := program.Say(a.Stdout, "%-10s  %7s  %10s  path\n", "kept", "count", "size"); err != nil {
		return err
	}
	for _, k := range r.Kept {
		if err := program.Say(a.Stdout, "%-10s  %7d  %10s  %s\n", k.Kind, k.Count, plain.Size(k.Bytes),
			k.Path); err != nil {
			return err
		}
	}
	next, daily := "", "every run, at its end; markmill runs maintain install has the system do it every day"
	if at := r.Due.Next; !at.IsZero() {
		next = "; the next is due at " + at.UTC().Format(time.DateTime) + "Z"
	}
	if r.Daily != "" {
		daily = "every run, at its end, and " + r.Daily + " every day (" + s.Name() + ")"
	}
	return program.Say(a.Stdout, "\nretention  the newest %d runs, and those younger than %d days\n"+
		"prunable   %s, %s and %s, of %s%s\npruned by  %s\n", r.Runs, r.Days, plain.Counted(len(r.Due.Runs), "run"),
		plain.Counted(len(r.Due.Sweeps), "sweep"), plain.Counted(r.DueWorktrees, "worktree"), plain.Size(r.DueBytes),
		next, daily)
}

// schedule is that of the store here.
func schedule(a *program.App) (store runs.Store, s *maintenance.Schedule, cfg engine.Config, err error) {
	store, src, err := a.Indexed()
	if err != nil {
		return store, nil, cfg, err
	}
	if cfg, err = engine.LoadConfig(engines.RootOf(src)); err != nil {
		return store, nil, cfg, err
	}
	program, _, err := program.OwnPath()
	if err != nil {
		return store, nil, cfg, err
	}
	s = &maintenance.Schedule{Store: store.Dir, Config: a.UserDir("XDG_CONFIG_HOME", ".config"),
		Command: []string{program, "runs", "prune", "--quiet"}}
	if src != nil {
		s.Command = append(s.Command, "--repo", src.Root())
	}
	if src == nil || a.Env("MARKMILL_DIR") != "" {
		s.Env = append(s.Env, "MARKMILL_DIR="+store.Dir)
	}
	if cache := a.Env("XDG_CACHE_HOME"); cache != "" {
		s.Env = append(s.Env, "XDG_CACHE_HOME="+cache)
	}
	return store, s, cfg, nil
}

func maintenanceInstall(a *program.App) *cobra.Command {
	var dry, cron bool
	c := &cobra.Command{
		Use: "install", Short: "Install a timer or a crontab line that prunes runs every day", Args: program.Args(0, 0),
		Long: `Installs a timer of the user's systemd, or where there is none a line in the user's crontab, that calls
markmill runs prune every day, with the retention in markmill.yaml. Each repository has a timer or line of its own.
Other units and lines are not touched, and installing again is harmless. The timers of a user's systemd run while the
user is logged in, or always after loginctl enable-linger.

Exit codes: 0 installed, 1 systemctl or crontab failed, 2 there is neither.`,
		Example: "  markmill runs maintain install --dry-run\n  markmill runs maintain install",
		RunE: func(*cobra.Command, []string) error {
			_, s, _, err := schedule(a)
			if err != nil {
				return err
			}
			kind := maintenance.Crontab
			if !cron {
				if kind, err = s.Choose(); err != nil {
					return err
				}
			}
			if !dry {
				if err := s.Install(kind); err != nil {
					return err
				}
				a.Tell("%s prunes the runs in %s every day (%s)\n", kind, plain.Escape(s.Store), s.Name())
				return nil
			}
			return maintenance.PrintUnits(a, s, kind)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "print what it would write")
	c.Flags().BoolVar(&cron, "crontab", false, "use the crontab, also where systemd runs")
	return c
}

func maintenanceRemove(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove", Short: "Remove the timer or the line that install made", Args: program.Args(0, 0),
		Long: `Removes the units or the line of the crontab that install made for this repository, and nothing else.
Remove them before you move or delete the repository.

Exit codes: 0 removed, or there was none; 1 systemctl or crontab failed.`,
		Example: "  markmill runs maintain remove",
		RunE: func(*cobra.Command, []string) error {
			_, s, _, err := schedule(a)
			if err != nil {
				return err
			}
			kind, err := s.Remove()
			switch {
			case err != nil:
				return err
			case kind == "":
				a.Tell("nothing is installed for the runs in %s\n", plain.Escape(s.Store))
			default:
				a.Tell("removed %s from %s\n", s.Name(), kind)
			}
			return nil
		},
	}
}

// Reindexed is what runs maintain reindex --json prints.
type Reindexed struct {
	Index   string  `json:"index"`   // path of the database
	Runs    int     `json:"runs"`    // how many runs it has
	Seconds float64 `json:"seconds"` // that it took
}

func runsReindex(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "reindex", Short: "Rebuild the index of the runs from their records", Args: program.Args(0, 0),
		Long: `Reads every journal and makes .markmill/index.db again. Nothing needs this in daily use: the commands that
read the index bring it up to date, and make a damaged one again by themselves. It is for a journal that was
changed after its run, and for a machine that lost its power. The records are only read.

Exit codes: 0 made, 1 it cannot be written, 2 usage, 130 interrupted.`,
		Example: "  markmill runs maintain reindex\n  markmill runs maintain reindex --json",
		RunE: func(c *cobra.Command, _ []string) error {
			store, _, err := a.Here()
			if err != nil {
				return err
			}
			ctx, stop := program.UntilInterrupted(c.Context())
			defer stop()
			o, began := a.IndexOptions(), time.Now()
			count, err := index.Rebuild(ctx, store, o)
			if err = a.IndexRead(ctx, o, err); err != nil {
				return err
			}
			a.Tell("indexed %s\n", plain.Counted(count, "run"))
			if !asJSON {
				return nil
			}
			return a.PrintJSON("runs-reindex", Reindexed{store.IndexFile(), count, time.Since(began).Seconds()})
		},
	}
	program.JSONFlag(c, &asJSON, "runs-reindex")
	return c
}
