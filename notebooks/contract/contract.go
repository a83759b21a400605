package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
)

// Terms are what holds for a run. The zero value restricts nothing.
type Terms struct {
	Allow, Forbid, Protect []string // patterns of paths
	ProtectReport          bool     // what protected judges say decides nothing
	Artifacts              []string
	Require                []string
	Limits                 map[string]int64 // files, lines, bytes; what is not in it has no limit
	Mode                   string
	Sandbox                string
	Network                string
	Approval               bool // somebody has to approve the run, or did
	AllowErrors            bool // a step that fails lets the run pass
	InterruptOnTimeout     bool // so does one that its time limit interrupted
	// What the run gets besides the worktree. An output notebook does not say it.
	Secrets, Copy, Deps []string
}

// Of returns the terms of a front matter, or of a policy, which has the same keys.
func Of(f notebooks.Front) Terms {
	t := Terms{Allow: f.Allow, Forbid: f.Forbid, Protect: f.Protect, Artifacts: f.Artifacts,
		ProtectReport: f.ProtectMode == "report",
		Require:       f.Require, Limits: map[string]int64{}, Mode: f.Mode, Sandbox: f.Sandbox, Network: f.Network,
		Approval: f.Approval == "required" || slices.Contains(f.Require, "approval"), AllowErrors: f.AllowErrors,
		InterruptOnTimeout: f.InterruptOnTimeout, Secrets: f.Secrets, Copy: f.Copy,
		Deps: slices.DeleteFunc(slices.Clone(f.Deps), func(name string) bool { return name == "none" })}
	for name, n := range map[string]int64{"files": int64(f.Limits.Files), "lines": int64(f.Limits.Lines),
		"bytes": f.Limits.Bytes} {
		if n > 0 {
			t.Limits[name] = n
		}
	}
	return t
}

// OfManifest returns the terms that an output notebook says its run had.
func OfManifest(c *notebooks.ManifestContract) Terms {
	if c == nil {
		return Terms{}
	}
	t := Terms{Allow: c.Allow, Forbid: c.Forbid, Protect: c.Protect, Artifacts: c.Artifacts,
		ProtectReport: c.Report, Require: c.Require,
		Limits: map[string]int64{}, Mode: c.Mode, Sandbox: c.Sandbox, Network: c.Network,
		Approval: c.Approval != "" || slices.Contains(c.Require, "approval")}
	for part := range strings.SplitSeq(c.Limits, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			t.Limits[name] = n
		}
	}
	return t
}

// Ranks of the words that are ordered: a higher one is tighter. A word that is not here, also none, has the rank of the
// default.
var (
	modes    = map[string]int{"in-place": -1, "none": 1}
	sandbox  = map[string]int{"off": -1, "required": 1, "strict": 2}
	networks = map[string]int{"on": -1, "off": 1}
)

// Wider says in words what the new terms allow that the old ones did not, the gravest first.
func Wider(old, now Terms) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch more := without(now.Allow, old.Allow); {
	case len(old.Allow) > 0 && len(now.Allow) == 0:
		say("allow was removed (it was %s): every file may change", strings.Join(old.Allow, ", "))
	case len(old.Allow) > 0 && len(more) > 0:
		say("allow has %s now, beside or instead of %s", strings.Join(more, ", "), strings.Join(old.Allow, ", "))
	}
	for _, list := range []struct {
		name     string
		old, now []string
	}{{"forbid", old.Forbid, now.Forbid}, {"protect", old.Protect, now.Protect}} {
		if gone := without(list.old, list.now); len(gone) > 0 {
			say("%s lost %s", list.name, strings.Join(gone, ", "))
		}
	}
	if more := without(now.Artifacts, old.Artifacts); len(more) > 0 {
		say("artifacts has %s now: such files belong to no change", strings.Join(more, ", "))
	}
	kept := func(r string) bool { return slices.Contains(now.Require, r) }
	if gone := slices.DeleteFunc(slices.Clone(old.Require), kept); len(gone) > 0 {
		say("require lost %s", strings.Join(gone, ", "))
	}
	for _, name := range []string{"files", "lines", "bytes"} {
		was, had := old.Limits[name]
		is, has := now.Limits[name]
		switch {
		case had && !has:
			say("the limit of %d %s was removed", was, name)
		case had && is > was:
			say("the limit of %s was raised from %d to %d", name, was, is)
		}
	}
	word := func(name string, ranks map[string]int, was, is string) {
		if ranks[is] < ranks[was] {
			say("%s went from %s to %s", name, cmp.Or(was, "the default"), cmp.Or(is, "the default"))
		}
	}
	if len(old.Protect) > 0 && now.ProtectReport && !old.ProtectReport {
		say("protect-mode is report now: what the protected judges say decides nothing")
	}
	word("mode", modes, old.Mode, now.Mode)
	word("sandbox", sandbox, old.Sandbox, now.Sandbox)
	word("network", networks, old.Network, now.Network)
	for _, list := range []struct {
		words    string
		old, now []string
	}{{"secrets has", old.Secrets, now.Secrets}, {"copy takes along", old.Copy, now.Copy},
		{"deps takes along", old.Deps, now.Deps}} {
		if more := without(list.now, list.old); len(more) > 0 {
			say("%s %s now", list.words, strings.Join(more, ", "))
		}
	}
	if old.Approval && !now.Approval {
		say("no approval is asked for any more")
	}
	if now.AllowErrors && !old.AllowErrors {
		say("a step that fails lets the run pass now")
	}
	if now.InterruptOnTimeout && !old.InterruptOnTimeout {
		say("a step that passes its time limit lets the run pass now")
	}
	return out
}

// without returns the patterns of a list that no pattern of another covers.
func without(list, other []string) []string {
	var out []string
	for _, p := range list {
		if !slices.ContainsFunc(other, func(by string) bool { return covers(by, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// covers reports whether whatever one pattern matches another does, too, as far as that is easy to tell.
func covers(by, pattern string) bool {
	by, pattern = tidy(by), tidy(pattern)
	if by == pattern || by == "**" {
		return true
	}
	folder, all := strings.CutSuffix(by, "/**")
	return all && !strings.ContainsAny(folder, "*?[\\") && strings.HasPrefix(pattern, folder+"/") &&
		!strings.Contains(pattern, "..")
}

func tidy(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "./")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return pattern
}
