package schedule

import (
	"context"
	"fmt"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/schedules"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
)

// overdue is how long after a due time somebody must have looked.
const overdue = 5 * time.Minute

// Unwatched says that notebooks are scheduled and nobody looks what is due: neither run-due nor a scheduler has looked
// since one of them was due. "" where all is well.
func Unwatched(ctx context.Context, a *program.App, store runs.Store, src *worktree.Source) (string, error) {
	list, err := schedules.Find(ctx, src)
	if err != nil {
		return "", err
	}
	return unwatched(a, store, src, list)
}

func unwatched(a *program.App, store runs.Store, src *worktree.Source, list []schedules.Notebook) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	s, err := runDueUnits(a, store, src)
	if err != nil {
		return "", err
	}
	kind, err := s.Installed()
	if err != nil {
		a.Tell("markmill: it is not known whether the system runs what is due: %s\n", plain.OneLine(err.Error()))
	}
	looked, now := schedules.LastBeat(store), a.Now()
	since, last := looked.Time, "the last was "+looked.By+" at "+looked.Time.Local().Format(schedules.TimeFormat)
	switch {
	case looked.Time.IsZero() && kind == "":
		return fmt.Sprintf("%s scheduled, and nothing runs what is due: let markmill schedule install --write have "+
			"the system do it, or run markmill schedule serve (one on another machine is not seen from here)",
			is(plain.Counted(len(list), "notebook"), len(list))), nil
	case looked.Time.IsZero(): // it was installed a moment ago, or it does not work
		since, last = now.Add(-time.Hour), kind+" never did"
	}
	for _, n := range list {
		keep := schedules.Keep(store, n.Path)
		state, err := keep.Load()
		if n.Err != nil || err != nil || state.Paused != nil {
			continue // markmill schedule shows that
		}
		if due := n.Times.Newest(since, now.Add(-overdue), n.Times.Zone); !due.IsZero() {
			return fmt.Sprintf("%s was due at %s, and nobody has looked since (%s): see whether the timer, cron or "+
				"scheduler runs", n.Path, due.Format(schedules.TimeFormat), last), nil
		}
	}
	return "", nil
}

func is(count string, n int) string {
	if n == 1 {
		return count + " is"
	}
	return count + " are"
}
