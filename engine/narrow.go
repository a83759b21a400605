package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// restrictions are what policies and a notebook require together. The zero value restricts nothing.
type restrictions struct {
	allows           [][]string // a path must match each list
	forbid, protect  []string
	protectMode      string
	limits           notebooks.Limits
	require, actions []string
	mode, risk       string
	approval         string
	sandbox, network string
	processes        string
	timeout          time.Duration // most of a step; 0 is none
	runTimeout       time.Duration // most of the run; 0 is none
}

// Ranks of the words that are ordered: a higher one is tighter. "" has the rank 0.
var (
	modeRank      = map[string]int{runs.MutationInPlace: 1, runs.MutationWorktree: 2, runs.MutationNone: 3}
	sandboxRank   = map[string]int{"off": 1, "on": 2, "required": 3, "strict": 4}
	processesRank = map[string]int{"run": 1, processesStep: 2}
	networkRank   = map[string]int{"on": 1, "off": 2}
	protectRank   = map[string]int{protectReport: 1, protectEnforce: 2}
)

// tighter is the tighter of two words.
func tighter(rank map[string]int, a, b string) string {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// riskier is the higher of two risk classes. A class on the scale wins over one that is not.
func riskier(a, b string) string {
	if a == "" || slices.Index(riskScale, b) > slices.Index(riskScale, a) {
		return b
	}
	return a
}

// smaller is the smaller of two limits; 0 is no limit.
func smaller[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// of are the restrictions of a front matter, or of the part of a policy that is like one.
func of(f notebooks.Front) restrictions {
	r := restrictions{forbid: f.Forbid, limits: f.Limits, require: f.Require, actions: f.ForbiddenActions, mode: f.Mode,
		risk:     f.Risk,
		approval: f.Approval, sandbox: f.Sandbox, network: f.Network, processes: f.Processes, protect: f.Protect,
		protectMode: f.ProtectMode, timeout: f.Timeout, runTimeout: f.RunTimeout}
	if len(f.Allow) > 0 {
		r.allows = [][]string{f.Allow}
	}
	return r
}

// and combines both: what either forbids is forbidden.
func (r restrictions) and(s restrictions) restrictions {
	for _, list := range s.allows {
		if !slices.ContainsFunc(r.allows, func(have []string) bool { return slices.Equal(have, list) }) {
			r.allows = append(slices.Clone(r.allows), list)
		}
	}
	r.forbid, r.require, r.actions = union(r.forbid, s.forbid), union(r.require, s.require), union(r.actions, s.actions)
	r.limits = notebooks.Limits{Files: smaller(r.limits.Files, s.limits.Files),
		Lines: smaller(r.limits.Lines, s.limits.Lines),
		Bytes: smaller(r.limits.Bytes, s.limits.Bytes)}
	r.mode = tighter(modeRank, r.mode, s.mode)
	r.sandbox = tighter(sandboxRank, r.sandbox, s.sandbox)
	r.network = tighter(networkRank, r.network, s.network)
	r.protect, r.protectMode = union(r.protect, s.protect), tighter(protectRank, r.protectMode, s.protectMode)
	r.processes = tighter(processesRank, r.processes, s.processes)
	r.risk = riskier(r.risk, s.risk)
	if s.approval == approvalRequired || r.approval == "" {
		r.approval = s.approval
	}
	r.timeout, r.runTimeout = smaller(r.timeout, s.timeout), smaller(r.runTimeout, s.runTimeout)
	return r
}

// narrow makes the notebook's front matter obey the policies, and records who restricts what.
func (p *Plan) narrow() {
	var policy restrictions
	for _, each := range p.policies {
		rules := of(each.Rules)
		rules.forbid = union(rules.forbid, each.protected())
		if len(rules.protect) > 0 && rules.protectMode == "" {
			rules.protectMode = protectEnforce
		}
		policy = policy.and(rules)
	}
	// A policy that only says what is the widest restricts nothing, and must not stand in for the notebook's default.
	policy.mode, policy.sandbox = unless(runs.MutationInPlace, policy.mode), unless("off", policy.sandbox)
	policy.network, policy.approval = unless("on", policy.network), unless("none", policy.approval)
	policy.processes = unless("run", policy.processes)
	f := &p.notebook.Front
	own := of(*f)
	own.timeout = 0 // a default of steps that set none, and not their most
	both := policy.and(own)
	n := narrowings{}
	n.allow(policy.allows, f.Allow)
	n.union("forbid", policy.forbid, f.Forbid)
	n.union("protect", policy.protect, f.Protect)
	n.word("protect-mode", policy.protectMode, f.ProtectMode, both.protectMode)
	n.limit("limits.files", int64(policy.limits.Files), int64(f.Limits.Files))
	n.limit("limits.lines", int64(policy.limits.Lines), int64(f.Limits.Lines))
	n.limit("limits.bytes", policy.limits.Bytes, f.Limits.Bytes)
	n.union("require", policy.require, f.Require)
	n.union("forbidden_actions", policy.actions, f.ForbiddenActions)
	n.word("mode", policy.mode, f.Mode, both.mode)
	n.word("risk", policy.risk, f.Risk, both.risk)
	n.word("approval", policy.approval, f.Approval, both.approval)
	n.word("sandbox", policy.sandbox, f.Sandbox, both.sandbox)
	n.word("network", policy.network, f.Network, both.network)
	n.word("processes", policy.processes, f.Processes, both.processes)
	n.timeout(policy.timeout, f.Timeout, p.notebook.Steps)
	p.runTimeout = n.runTimeout(policy.runTimeout, f.RunTimeout, p.request.RunTimeout)
	if p.request.Dirty == DirtyBlock {
		n.add("dirty", runs.ByCommandLine, string(DirtyBlock), nil)
	}
	p.narrowed = n.list

	// the notebook's own list, or else the first of the policies', is the contract's; the others hold too
	if len(both.allows) > 0 {
		last := len(both.allows) - 1
		if len(f.Allow) == 0 {
			last = 0
		} else if i := slices.IndexFunc(both.allows,
			func(list []string) bool { return slices.Equal(list, f.Allow) }); i >= 0 {
			last = i
		}
		f.Allow = both.allows[last]
		p.allowAlso = slices.Delete(slices.Clone(both.allows), last, last+1)
	}
	f.Forbid, f.Limits, f.Require, f.ForbiddenActions = both.forbid, both.limits, both.require, both.actions
	f.Protect, f.ProtectMode = both.protect, both.protectMode
	f.Mode, f.Risk, f.Approval, f.Sandbox, f.Network = both.mode, both.risk, both.approval, both.sandbox, both.network
	f.Processes = both.processes
	p.stepTimeoutMax, f.Timeout = policy.timeout, smaller(f.Timeout, policy.timeout)
	f.RunTimeout = p.runTimeout
}

func unless(widest, word string) string {
	if word == widest {
		return ""
	}
	return word
}

// inPlaceRefused returns an error for --in-place if a policy keeps runs out of the checkout: an option must not be
// ignored silently.
func (p *Plan) inPlaceRefused() error {
	if !p.request.InPlace {
		return nil
	}
	for _, each := range p.policies {
		if mode := each.Rules.Mode; mode == runs.MutationWorktree || mode == runs.MutationNone {
			return &notebooks.Error{Kind: notebooks.KindOption, Msg: "--in-place: the policy of the repository says mode: " +
				mode,
				Hint: "leave the option out"}
		}
	}
	return nil
}

// protected are the files that decide what a run may do. No run of a repository with a policy may change them.
func (p placedPolicy) protected() []string {
	out := []string{ConfigFile}
	if p.Signers != "" && !strings.HasPrefix(p.Signers, "/") && !strings.Contains(p.Signers, ":") {
		out = append(out, literal(p.Signers))
	}
	return out
}

// literal is the pattern that matches exactly one path.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// narrowings collects who restricts what.
type narrowings struct{ list []runs.NarrowedData }

// add records a restriction. Its values are texts, numbers and lists, which always have a JSON form.
func (n *narrowings) add(key, by string, value, instead any) {
	d := runs.NarrowedData{Key: key, By: by, Value: rawOf(value)}
	if instead != nil {
		d.InsteadOf = rawOf(instead)
	}
	n.list = append(n.list, d)
}

// rawOf is a value as JSON. It is UTF-8: notebooks and settings are checked.
func rawOf(v any) codec.Raw {
	b, err := codec.Marshal(v)
	if err != nil {
		b, _ = codec.Marshal(strings.ToValidUTF8(fmt.Sprint(v), "\uFFFD"))
	}
	return b
}

func (n *narrowings) allow(policy [][]string, own []string) {
	for _, list := range policy {
		n.add("allow", runs.ByPolicy, list, nil)
	}
	if len(own) > 0 && !slices.ContainsFunc(policy, func(list []string) bool { return slices.Equal(list, own) }) {
		n.add("allow", runs.ByNotebook, own, nil)
	}
}

func (n *narrowings) union(key string, policy, own []string) {
	if len(policy) > 0 {
		n.add(key, runs.ByPolicy, policy, nil)
	}
	if more := slices.DeleteFunc(slices.Clone(own),
		func(s string) bool { return slices.Contains(policy, s) }); len(more) > 0 {
		n.add(key, runs.ByNotebook, more, nil)
	}
}

func (n *narrowings) limit(key string, policy, own int64) {
	switch {
	case policy > 0 && own > policy:
		n.add(key, runs.ByPolicy, policy, own)
	case policy > 0 && (own == 0 || own == policy):
		n.add(key, runs.ByPolicy, policy, nil)
	case own > 0:
		n.add(key, runs.ByNotebook, own, nil)
	}
}

// word records a word that applies, with the policy that it is from.
func (n *narrowings) word(key, policy, own, both string) {
	switch {
	case policy != "" && both == policy && own != "" && own != policy:
		n.add(key, runs.ByPolicy, policy, own)
	case policy != "" && both == policy:
		n.add(key, runs.ByPolicy, policy, nil)
	case own != "" && !widest(key, own):
		n.add(key, runs.ByNotebook, own, nil)
	}
}

// widest reports whether a word of the notebook restricts nothing.
func widest(key, word string) bool {
	switch key {
	case "mode":
		return word != "none"
	case "approval":
		return word == "none"
	case "sandbox":
		return word == "off"
	case "network":
		return word == "on"
	case "protect-mode":
		return true // of its own files a notebook may say what it wants
	case "processes":
		return word == "run"
	}
	return false
}

// timeout records the time limit of steps, and the longest time that a step asked for.
func (n *narrowings) timeout(policy, own time.Duration, steps []*notebooks.Step) {
	if policy == 0 {
		if own > 0 {
			n.add("timeout", runs.ByNotebook, own.String(), nil)
		}
		return
	}
	asked := own
	for _, s := range steps {
		asked = max(asked, s.Timeout)
	}
	if asked > policy {
		n.add("timeout", runs.ByPolicy, policy.String(), asked.String())
		return
	}
	n.add("timeout", runs.ByPolicy, policy.String(), nil)
	if own > 0 && own < policy {
		n.add("timeout", runs.ByNotebook, own.String(), nil)
	}
}

// runTimeout is the time limit of the run, and records its origin. The command line wins over the notebook, and a
// policy over both.
func (n *narrowings) runTimeout(policy, own, given time.Duration) time.Duration {
	asked, by := own, runs.ByNotebook
	if given > 0 {
		asked, by = given, runs.ByCommandLine
	}
	switch {
	case policy > 0 && asked > policy:
		n.add("run-timeout", runs.ByPolicy, policy.String(), asked.String())
	case policy > 0 && (asked == 0 || asked == policy):
		n.add("run-timeout", runs.ByPolicy, policy.String(), nil)
	case asked > 0:
		n.add("run-timeout", by, asked.String(), nil)
	}
	return smaller(asked, policy)
}
