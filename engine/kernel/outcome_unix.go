//go:build unix

package kernel

import (
	"context"
	"maps"
	"slices"
)

// before answers for a step that cannot be run at all: its time is over, or the session has ended.
func (l *live) before(ctx context.Context) (Outcome, bool) {
	if l.proc.over() {
		code, signal := l.proc.exit()
		out := Outcome{Exit: code, Died: true}
		if signal != "" {
			out.TerminatedBy = "signal " + signal
		}
		if code == 0 {
			out.Exit = 1
		}
		return out, true
	}
	if ctx.Err() != nil {
		return Outcome{Exit: 130, TerminatedBy: reason(ctx)}, true
	}
	return Outcome{}, false
}

func (e ending) outcome() Outcome {
	return Outcome{Exit: e.exit, TerminatedBy: e.by, Leftover: e.leftover, Left: e.left}
}

func sortedNames(env map[string]string) []string { return slices.Sorted(maps.Keys(env)) }
