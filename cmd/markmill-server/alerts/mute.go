package alerts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

func alertsMute(a *program.App, o *jobqueue.Options) *cobra.Command {
	until, reason := "", ""
	c := &cobra.Command{
		Use: "mute NOTEBOOK [CHECK]", Short: "Mute a notebook, or one of its checks, for a time",
		Args: program.Args(1, 2),
		Long: `Suppresses the alerts of a notebook, or of one of its checks, until a given time. States, history and objectives are
still recorded, and markmill health alerts list shows the suppressed alerts as muted. When the mute ends, each target is told
what is still bad, and what has recovered since it was last told that it was bad. A second mute of the same notebook or
check replaces the first. docs/alerts.md has more.

Exit codes: 0 muted, 2 usage, or there is no such notebook, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts mute observatory.md disk --until 2h --reason 'the disk is being " +
			"replaced'\n" +
			"  markmill health alerts mute observatory.md --until 2026-12-01T08:00 --reason 'server migration'",
		RunE: func(c *cobra.Command, words []string) error {
			m, err := muteOf(a, o, words)
			if err != nil {
				return err
			}
			if m.Until, err = untilOption(until, a.Now()); err != nil {
				return err
			}
			return changeMute(c.Context(), a, o, m, reason, true)
		},
	}
	c.Flags().StringVar(&until, "until", "",
		"`WHEN` it ends: in 30m, 2h, 3d or 1w, or at 2026-12-01T08:00 local time; at most a year from now")
	program.ReasonFlag(c, &reason)
	return c
}

func alertsUnmute(a *program.App, o *jobqueue.Options) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: "unmute NOTEBOOK [CHECK]", Short: "End a mute early", Args: program.Args(1, 2),
		Long: `Ends a mute now, and sends what is sent at the end of a mute.

Exit codes: 0 the mute has ended, 2 nothing of that name is muted, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts unmute observatory.md disk --reason 'the new disk is in'",
		RunE: func(c *cobra.Command, words []string) error {
			m, err := muteOf(a, o, words)
			if err != nil {
				return err
			}
			return changeMute(c.Context(), a, o, m, reason, false)
		},
	}
	program.ReasonFlag(c, &reason)
	return c
}

func alertsMutes(a *program.App, o *jobqueue.Options) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "mutes", Short: "List what is muted, by whom and why", Args: program.Args(0, 0),
		Long: `Lists the active mutes, the next to end first.

Exit codes: 0 listed, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts mutes",
		RunE: func(*cobra.Command, []string) error {
			return jobqueue.InQueue(a, "alerts mutes", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error { return q.ListMutes(ctx, asJSON) }))
		},
	}
	program.JSONFlag(c, &asJSON, "mutes")
	return c
}

// muteOf names a notebook by its path in the repository, as its alerts do, and perhaps a check.
func muteOf(a *program.App, o *jobqueue.Options, words []string) (*queue.Mute, error) {
	_, src, err := a.Here()
	if err != nil {
		return nil, err
	}
	m := &queue.Mute{}
	if m.Notebook, err = notebookIn(src, words[0]); err != nil {
		return nil, err
	}
	if len(words) == 2 {
		if m.Check = words[1]; strings.TrimSpace(m.Check) == "" || len(m.Check) > 200 {
			return nil, program.Usagef("CHECK %q: give the name of a check", plain.Cut(m.Check, 50))
		}
	}
	return m, nil
}

// notebookIn is the path of a notebook in its repository; outside one it is as given.
func notebookIn(src *worktree.Source, path string) (string, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", program.Usagef("there is no notebook %s", path)
	}
	if src == nil {
		return filepath.ToSlash(path), nil
	}
	rel, ok := src.Relative(files.Absolute(path))
	if !ok {
		return "", program.Usagef("%s is not in the repository %s", path, src.Root())
	}
	return rel, nil
}

func changeMute(ctx context.Context, a *program.App, o *jobqueue.Options, m *queue.Mute, reason string,
	begin bool) error {
	if err := program.CheckReason(reason); err != nil {
		return err
	}
	store, src, err := a.Here()
	if err != nil {
		return err
	}
	if m.Check != "" && begin && !hasReported(ctx, a, store, m) {
		a.Tell("markmill: no run of %s that is kept here has reported the check %s\n", plain.OneLine(m.Notebook),
			plain.OneLine(m.Check))
	}
	m.Reason = strings.TrimSpace(reason)
	return jobqueue.UseQueue(a, "alerts mute", jobqueue.ConnectionOf(a, o, store, src), false,
		jobqueue.Only(func(ctx context.Context, q program.Queue) error {
			if begin {
				return q.Mute(ctx, *m)
			}
			return q.Unmute(ctx, *m)
		}))
}

// hasReported reports whether a run has reported a check; true if the index cannot be read.
func hasReported(ctx context.Context, a *program.App, store runs.Store, m *queue.Mute) bool {
	x, err := index.Open(ctx, store, index.Options{})
	if err != nil {
		return true
	}
	defer x.Close()
	list, err := x.Health(a.Now().Add(-queue.MostMute), a.Now())
	return err != nil || slices.ContainsFunc(list, func(w *index.Watched) bool {
		return w.Notebook == m.Notebook && w.Check == m.Check
	})
}

// untilOption parses --until: a duration from now, or a local time.
func untilOption(text string, now time.Time) (at time.Time, err error) {
	bad := func(why string) error {
		return program.Usagef("--until %q: %s; give 30m, 2h, 3d or 1w, or a time: 2026-12-01T08:00", text, why)
	}
	if text == "" {
		return at, program.Usagef("--until is needed: give 30m, 2h, 3d or 1w, or a time: 2026-12-01T08:00")
	}
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit := units[text[len(text)-1]]
	if n, err := strconv.ParseUint(text[:len(text)-1], 10, 32); err == nil && unit > 0 {
		if time.Duration(n) > queue.MostMute/unit {
			return at, bad("that is more than a year")
		}
		at = now.Add(time.Duration(n) * unit)
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
			if at, err = time.ParseInLocation(layout, text, time.Local); err == nil {
				break
			}
		}
		if err != nil {
			return at, bad("not a duration or a time")
		}
	}
	switch {
	case !at.After(now):
		return at, bad("that time has passed")
	case at.After(now.Add(queue.MostMute)):
		return at, bad("that is more than a year")
	}
	return at.UTC(), nil
}
