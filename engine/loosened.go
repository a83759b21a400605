package engine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"markmill/notebooks/contract"
)

// Loosened lists what the settings of a repository allow that they did not allow before: a policy that lost something,
// and kernels with another program. changed are settings that differ without allowing more.
func Loosened(old, now Config) (words, changed []string) {
	words = append(loosenedPolicy(old.Policy, now.Policy), loosenedJudges(old.Policy, now.Policy)...)
	for _, name := range slices.Sorted(maps.Keys(now.Kernels)) {
		was, had := old.Kernels[name]
		switch is := now.Kernels[name]; {
		case reflect.DeepEqual(was, is):
		case had:
			words = append(words, fmt.Sprintf("the kernel %s is another: %s instead of %s", name, is.words(),
				was.words()))
		case len(is.Command) > 0 && len(is.Languages) > 0:
			words = append(words, fmt.Sprintf("the kernel %s runs %s now: %s", name, strings.Join(is.Languages, ", "),
				is.words()))
		default:
			words = append(words, fmt.Sprintf("the kernel %s is another: %s instead of the built-in", name, is.words()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old.Kernels)) {
		if _, has := now.Kernels[name]; !has {
			words = append(words, fmt.Sprintf("the kernel %s is the built-in, or none, instead of %s", name,
				old.Kernels[name].words()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Agents)) {
		was, had := old.Agents[name]
		switch is := now.Agents[name]; {
		case !had:
			words = append(words, fmt.Sprintf("the agent %s is admitted: %s", name, is.Path))
		case !reflect.DeepEqual(was, is):
			words = append(words, fmt.Sprintf("the agent %s is admitted otherwise: %s", name, is.Path))
		}
	}
	if more := missing(now.Sandbox.Write, old.Sandbox.Write); len(more) > 0 {
		words = append(words, "the sandbox lets steps write "+strings.Join(more, ", "))
	}
	if gone := missing(old.Sandbox.Hide, now.Sandbox.Hide); len(gone) > 0 {
		words = append(words, "the sandbox no longer hides "+strings.Join(gone, ", "))
	}
	if gone := missing(old.Gate.Require, now.Gate.Require); len(gone) > 0 {
		words = append(words, "the gate no longer requires "+strings.Join(gone, ", "))
	}
	if gone := missing(old.Gate.Paths, now.Gate.Paths); len(gone) > 0 && len(now.Gate.Paths) > 0 ||
		len(old.Gate.Paths) == 0 && len(now.Gate.Paths) > 0 {
		words = append(words, "the gate judges other notebooks: "+strings.Join(now.Gate.Paths, ", "))
	}
	if more := missing(now.Gate.Ignore, old.Gate.Ignore); len(more) > 0 {
		words = append(words, "the gate ignores "+strings.Join(more, ", "))
	}
	if now.Gate.Removed == "allow" && old.Gate.Removed != "allow" {
		words = append(words, "the gate lets outputs be removed")
	}
	if !reflect.DeepEqual(old.Normalize, now.Normalize) {
		changed = append(changed, "normalize is another: it masks what a test compares")
	}
	if old.Output != now.Output {
		changed = append(changed, "output is another")
	}
	if old.Retention != now.Retention {
		changed = append(changed, "retention is another")
	}
	return words, changed
}

// missing are the items of a list that another list lacks.
func missing(list, in []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(in, s) })
}

// words name the program of a kernel.
func (k KernelConfig) words() string {
	if k.Program != "" {
		return k.Program
	}
	if k.Server != "" {
		return k.Server + " " + k.Kernel
	}
	return strings.Join(k.Command, " ")
}

// loosenedJudges says what the settings of review --judge let through, also where there was no policy.
func loosenedJudges(old, now *Policy) (words []string) {
	if now == nil {
		return nil // as a whole it was removed, or there was none
	}
	if old == nil {
		old = &Policy{}
	}
	if gone := missing(old.Judges, now.Judges); len(gone) > 0 {
		words = append(words, "judges lost "+strings.Join(gone, ", "))
	}
	if more := missing(now.NotJudges, old.NotJudges); len(more) > 0 {
		words = append(words, "files judge no more: "+strings.Join(more, ", "))
	}
	if more := missing(now.Path, old.Path); len(more) > 0 {
		words = append(words, "programs of the repository may run, from "+strings.Join(more, ", "))
	}
	if now.DecideNote && !old.DecideNote {
		words = append(words, "what a person must decide is a note (decide: note)")
	}
	if more := slices.DeleteFunc(slices.Clone(now.Accepted), func(a Accepted) bool {
		return slices.Contains(old.Accepted, a)
	}); len(more) > 0 {
		words = append(words, fmt.Sprintf("findings count as accepted: %d", len(more)))
	}
	return words
}

func loosenedPolicy(old, now *Policy) []string {
	if old == nil {
		return nil
	}
	if now == nil {
		return []string{"the policy was removed"}
	}
	words := contract.Wider(contract.Of(old.Rules), contract.Of(now.Rules))
	if old.ByOther && !now.ByOther {
		words = append(words, "who runs a notebook may approve it (by-other is gone)")
	}
	if old.Acceptance && !now.Acceptance {
		words = append(words, "changes of runs need no acceptance (acceptance is gone)")
	}
	longer := func(name string, was, is time.Duration) {
		switch {
		case was > 0 && is == 0:
			words = append(words, fmt.Sprintf("%s of %s was removed", name, was))
		case was > 0 && is > was:
			words = append(words, fmt.Sprintf("%s was raised from %s to %s", name, was, is))
		}
	}
	longer("expires", old.Expires, now.Expires)
	longer("timeout", old.Rules.Timeout, now.Rules.Timeout)
	longer("run-timeout", old.Rules.RunTimeout, now.Rules.RunTimeout)
	switch {
	case old.Signers != "" && now.Signers == "":
		words = append(words, "approvals without a signature count (allowed_signers is gone)")
	case old.Signers != "" && now.Signers != old.Signers:
		words = append(words, fmt.Sprintf("allowed_signers is %s instead of %s", now.Signers, old.Signers))
	}
	if gone := missing(old.Rules.ForbiddenActions, now.Rules.ForbiddenActions); len(gone) > 0 {
		words = append(words, "forbidden_actions lost "+strings.Join(gone, ", "))
	}
	switch more := missing(now.Agents, old.Agents); {
	case old.Agents == nil:
	case now.Agents == nil:
		words = append(words, "every admitted agent may be used (agents is gone)")
	case len(more) > 0:
		words = append(words, "the agents "+strings.Join(more, ", ")+" may be used")
	}
	was := slices.Index(agentModes, cmp.Or(old.AgentMode, defaultAgentMode))
	if is := cmp.Or(now.AgentMode, defaultAgentMode); slices.Index(agentModes, is) > was {
		words = append(words, "agent-mode is "+is+" instead of "+agentModes[was])
	}
	if was, is := slices.Index(riskScale, old.Rules.Risk), slices.Index(riskScale, now.Rules.Risk); is < was {
		words = append(words, "risk is lower")
	}
	return words
}
