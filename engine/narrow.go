package engine

import (
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// restrictions are what policies and a notebook require together, in the keys of a front matter. The zero value
// restricts nothing.
type restrictions struct {
	notebooks.Front
	allows [][]string // a path must match each list
}

// Scales of the words that are ordered, the tightest last.
var (
	modeScale      = []string{runs.MutationInPlace, runs.MutationWorktree, runs.MutationNone}
	riskScale      = []string{"low", "medium", "high", "critical"} // the classes that a policy may use
	approvalScale  = []string{"none", approvalRequired}
	sandboxScale   = []string{"off", "on", "required", "strict"}
	networkScale   = []string{"on", "off"}
	processesScale = []string{"run", processesStep}
	protectScale   = []string{protectReport, protectEnforce}
)

// rule is a key that restricts: a list, a word of a scale, or a number, and who says it.
type rule struct {
	key    string
	list   func(*notebooks.Front) *[]string
	number func(*notebooks.Front) int64
	word   func(*notebooks.Front) *string
	scale  []string
	// What the words below these places of the scale say restricts nothing, in a policy and in a notebook. A policy's
	// must not stand in for the notebook's default.
	policy, own int
}

// rules are in the order in which they are recorded.
var rules = []rule{
	{key: "forbid", list: func(f *notebooks.Front) *[]string { return &f.Forbid }},
	{key: "protect", list: func(f *notebooks.Front) *[]string { return &f.Protect }},
	{key: "protect-mode", word: func(f *notebooks.Front) *string { return &f.ProtectMode }, scale: protectScale,
		own: len(protectScale)}, // of its own files a notebook may say what it wants
	{key: "limits.files", number: func(f *notebooks.Front) int64 { return int64(f.Limits.Files) }},
	{key: "limits.lines", number: func(f *notebooks.Front) int64 { return int64(f.Limits.Lines) }},
	{key: "limits.bytes", number: func(f *notebooks.Front) int64 { return f.Limits.Bytes }},
	{key: "require", list: func(f *notebooks.Front) *[]string { return &f.Require }},
	{key: "forbidden_actions", list: func(f *notebooks.Front) *[]string { return &f.ForbiddenActions }},
	{key: "mode", word: func(f *notebooks.Front) *string { return &f.Mode }, scale: modeScale, policy: 1, own: 2},
	{key: "risk", word: func(f *notebooks.Front) *string { return &f.Risk }, scale: riskScale, policy: -1, own: -1},
	{key: "approval", word: func(f *notebooks.Front) *string { return &f.Approval }, scale: approvalScale, policy: 1,
		own: 1},
	{key: "sandbox", word: func(f *notebooks.Front) *string { return &f.Sandbox }, scale: sandboxScale,
		policy: 1, own: 1},
	{key: "network", word: func(f *notebooks.Front) *string { return &f.Network }, scale: networkScale,
		policy: 1, own: 1},
	{key: "tree", word: func(f *notebooks.Front) *string { return &f.Tree }, scale: treeScale, policy: 1, own: 1},
	{key: "processes", word: func(f *notebooks.Front) *string { return &f.Processes }, scale: processesScale, policy: 1,
		own: 1},
}

// tighter is the tighter of two words. One on the scale is tighter than one that is not.
func tighter(scale []string, a, b string) string {
	if a == "" || slices.Index(scale, b) > slices.Index(scale, a) {
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
	r := restrictions{Front: f}
	if len(f.Allow) > 0 {
		r.allows = [][]string{f.Allow}
	}
	return r
}

// and combines both: what either forbids is forbidden.
func (r restrictions) and(s restrictions) restrictions {
	for _, list := range s.allows {
		if !hasList(r.allows, list) {
			r.allows = append(slices.Clone(r.allows), list)
		}
	}
	for _, k := range rules {
		switch {
		case k.list != nil:
			*k.list(&r.Front) = union(*k.list(&r.Front), *k.list(&s.Front))
		case k.word != nil:
			*k.word(&r.Front) = tighter(k.scale, *k.word(&r.Front), *k.word(&s.Front))
		}
	}
	r.Limits = notebooks.Limits{Files: smaller(r.Limits.Files, s.Limits.Files),
		Lines: smaller(r.Limits.Lines, s.Limits.Lines), Bytes: smaller(r.Limits.Bytes, s.Limits.Bytes)}
	r.Timeout, r.RunTimeout = smaller(r.Timeout, s.Timeout), smaller(r.RunTimeout, s.RunTimeout)
	return r
}

func hasList(lists [][]string, list []string) bool {
	return slices.ContainsFunc(lists, func(have []string) bool { return slices.Equal(have, list) })
}

// narrow makes the notebook's front matter obey the policies, and records who restricts what.
func (p *Plan) narrow() {
	policy := of(p.floor)
	for _, each := range p.policies {
		restricts := of(each.Rules)
		restricts.Forbid = union(restricts.Forbid, each.protected())
		if len(restricts.Protect) > 0 && restricts.ProtectMode == "" {
			restricts.ProtectMode = protectEnforce
		}
		if each.Acceptance {
			restricts.Mode = tighter(modeScale, restricts.Mode, runs.MutationWorktree)
		}
		policy = policy.and(restricts)
	}
	f, n := &p.notebook.Front, narrowings{}
	n.allow(policy.allows, f.Allow)
	for _, k := range rules {
		switch {
		case k.list != nil:
			n.union(k.key, *k.list(&policy.Front), *k.list(f))
		case k.number != nil:
			n.limit(k.key, k.number(&policy.Front), k.number(f))
		default:
			word := k.word(&policy.Front)
			if slices.Index(k.scale, *word) < k.policy {
				*word = ""
			}
			n.word(k, *word, *k.word(f))
		}
	}
	n.timeout(policy.Timeout, f.Timeout, p.notebook.Steps)
	p.runTimeout = n.runTimeout(policy.RunTimeout, f.RunTimeout, time.Duration(p.request.RunTimeoutNS))
	if p.needsAcceptance() {
		n.add(acceptanceKey, runs.ByPolicy, approvalRequired, nil)
	}
	if p.request.Dirty == DirtyBlock {
		n.add("dirty", runs.ByCommandLine, string(DirtyBlock), nil)
	}
	p.narrowed = n.list

	// the notebook's own list, or else the first of the policies', is the contract's; the others hold too
	both := policy.and(of(*f))
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
	for _, k := range rules {
		switch {
		case k.list != nil:
			*k.list(f) = *k.list(&both.Front)
		case k.word != nil:
			*k.word(f) = *k.word(&both.Front)
		}
	}
	f.Limits, f.Timeout, f.RunTimeout, p.stepTimeoutMax = both.Limits, both.Timeout, p.runTimeout, policy.Timeout
}

// inPlaceRefused returns an error for --in-place if a policy keeps runs out of the checkout: an option must not be
// ignored silently.
func (p *Plan) inPlaceRefused() error {
	if !p.request.InPlace {
		return nil
	}
	if p.floor.Mode != "" {
		return refused("--in-place: whoever runs notebooks here keeps them out of the checkout", "leave the option out")
	}
	for _, each := range p.policies {
		if each.Acceptance {
			return refused("--in-place: the policy of the repository says acceptance: required, and a run in place "+
				"changes the checkout before anybody can accept it",
				"leave the option out, then: markmill runs accept, and markmill apply")
		}
		if mode := each.Rules.Mode; mode == runs.MutationWorktree || mode == runs.MutationNone {
			return refused("--in-place: the policy of the repository says mode: "+mode, "leave the option out")
		}
	}
	return nil
}

// inPlaceByNotebook returns an error if the notebook alone says that the run works in the checkout: neither an option,
// nor the policies, nor the operator of the server that imposes a floor.
func (p *Plan) inPlaceByNotebook(floor *Floor) notebooks.ErrorList {
	silent := func(policy placedPolicy) bool { return policy.Rules.Mode != runs.MutationInPlace }
	if p.source == nil || p.request.InPlace || p.mode() != runs.MutationInPlace || floor != nil && floor.Mode == "" ||
		len(p.policies) > 0 && !slices.ContainsFunc(p.policies, silent) {
		return nil
	}
	at := p.notebook.Front.ModeAt
	return notebooks.ErrorList{{Kind: notebooks.KindOption, File: p.request.Path, Line: at.Line, Col: at.Col,
		Msg:  "mode: in-place changes the checkout itself, and a notebook alone cannot ask for that",
		Hint: "run it with --in-place, or write mode: in-place into the policy of " + ConfigFile}}
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
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(path)
}

// narrowings collects who restricts what.
type narrowings struct{ list []runs.NarrowedData }

// add records a restriction. Its values are texts, numbers and lists, which always have a JSON form.
func (n *narrowings) add(key, by string, value, instead any) {
	d := runs.NarrowedData{Key: key, By: by, Value: codec.RawOf(value)}
	if instead != nil {
		d.InsteadOf = codec.RawOf(instead)
	}
	n.list = append(n.list, d)
}

func (n *narrowings) allow(policy [][]string, own []string) {
	for _, list := range policy {
		n.add("allow", runs.ByPolicy, list, nil)
	}
	if len(own) > 0 && !hasList(policy, own) {
		n.add("allow", runs.ByNotebook, own, nil)
	}
}

func (n *narrowings) union(key string, policy, own []string) {
	if len(policy) > 0 {
		n.add(key, runs.ByPolicy, policy, nil)
	}
	if more := missing(own, policy); len(more) > 0 {
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

// word records a word that applies: the policy's, if it is at least as tight as the notebook's.
func (n *narrowings) word(k rule, policy, own string) {
	applies := policy != "" && tighter(k.scale, policy, own) == policy
	switch {
	case applies && own != "" && own != policy:
		n.add(k.key, runs.ByPolicy, policy, own)
	case applies:
		n.add(k.key, runs.ByPolicy, policy, nil)
	case own != "" && slices.Index(k.scale, own) >= k.own:
		n.add(k.key, runs.ByNotebook, own, nil)
	}
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
