package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// narrowed is a notebook's front matter after policies.
func narrowed(front notebooks.Front, policies ...notebooks.Front) *Plan {
	p := &Plan{notebook: &notebooks.Notebook{Front: front}}
	for _, rules := range policies {
		p.policies = append(p.policies, placedPolicy{Policy: &Policy{Rules: rules}})
	}
	p.narrow()
	return p
}

func TestNarrow(t *testing.T) {
	type front = notebooks.Front
	limits := func(files, lines int, bytes int64) notebooks.Limits {
		return notebooks.Limits{Files: files, Lines: lines, Bytes: bytes}
	}
	for _, c := range []struct {
		name     string
		own      front
		policies []front
		want     front
		narrowed string // key=by:value, and <instead
	}{
		{"no policy", front{Allow: []string{"a"}, Mode: "in-place"}, nil, front{Allow: []string{"a"}, Mode: "in-place"},
			`allow=notebook:["a"]`},
		{"nothing at all", front{}, nil, front{}, ""},
		{"the smaller limit", front{Limits: limits(9, 5, 0)}, []front{{Limits: limits(3, 10, 7)}},
			front{Forbid: []string{ConfigFile}, Limits: limits(3, 5, 7)},
			`forbid=policy:["markmill.yaml"] limits.files=policy:3<9 limits.lines=notebook:5 limits.bytes=policy:7`},
		{"of two policies the smaller", front{}, []front{{Limits: limits(3, 0, 0)}, {Limits: limits(2, 0, 9)}},
			front{Forbid: []string{ConfigFile}, Limits: limits(2, 0, 9)},
			`forbid=policy:["markmill.yaml"] limits.files=policy:2 limits.bytes=policy:9`},
		{"unions", front{Forbid: []string{"b", "a"}, Require: []string{"tests", "diff"},
			ForbiddenActions: []string{"push"}}, []front{{Forbid: []string{"a"}, Require: []string{"diff"},
			ForbiddenActions: []string{"deploy"}}}, front{Forbid: []string{"a", ConfigFile, "b"},
			Require:          []string{"diff", "tests"},
			ForbiddenActions: []string{"deploy", "push"}},
			`forbid=policy:["a","markmill.yaml"] forbid=notebook:["b"] require=policy:["diff"] require=notebook:["tests"] forbidden_actions=policy:["deploy"] forbidden_actions=notebook:["push"]`},
		{"words cannot be loosened", front{Mode: "in-place", Sandbox: "off", Network: "on", Approval: "none",
			Risk: "low"}, []front{{Mode: "worktree", Sandbox: "required", Network: "off", Approval: "required",
			Risk: "high"}}, front{Forbid: []string{ConfigFile}, Mode: "worktree", Sandbox: "required", Network: "off",
			Approval: "required",
			Risk:     "high"},
			`forbid=policy:["markmill.yaml"] mode=policy:"worktree"<"in-place" risk=policy:"high"<"low" approval=policy:"required"<"none" sandbox=policy:"required"<"off" network=policy:"off"<"on"`},
		{"words can be tightened", front{Mode: "none", Sandbox: "strict", Network: "off", Approval: "required",
			Risk: "critical"},
			[]front{{Mode: "worktree", Sandbox: "on", Network: "on", Approval: "none", Risk: "high"}},
			front{Forbid: []string{ConfigFile}, Mode: "none", Sandbox: "strict", Network: "off", Approval: "required",
				Risk: "critical"},
			`forbid=policy:["markmill.yaml"] mode=notebook:"none" risk=notebook:"critical" approval=notebook:"required" sandbox=notebook:"strict" network=notebook:"off"`},
		{"the widest words of a policy do not become the notebook's", front{},
			[]front{{Mode: "in-place", Sandbox: "off", Network: "on", Approval: "none"}},
			front{Forbid: []string{ConfigFile}}, `forbid=policy:["markmill.yaml"]`},
		{"a risk of one's own words", front{Risk: "spicy"}, []front{{Risk: "low"}},
			front{Forbid: []string{ConfigFile}, Risk: "low"},
			`forbid=policy:["markmill.yaml"] risk=policy:"low"<"spicy"`},
		{"a default time limit is cut", front{Timeout: time.Hour}, []front{{Timeout: time.Minute}},
			front{Forbid: []string{ConfigFile}, Timeout: time.Minute},
			`forbid=policy:["markmill.yaml"] timeout=policy:"1m0s"<"1h0m0s"`},
		{"and given where there is none", front{}, []front{{Timeout: time.Minute}},
			front{Forbid: []string{ConfigFile}, Timeout: time.Minute},
			`forbid=policy:["markmill.yaml"] timeout=policy:"1m0s"`},
	} {
		p := narrowed(c.own, c.policies...)
		if got := p.notebook.Front; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		var words []string
		for _, n := range p.narrowed {
			word := n.Key + "=" + n.By + ":" + string(n.Value)
			if n.InsteadOf != nil {
				word += "<" + string(n.InsteadOf)
			}
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != c.narrowed {
			t.Errorf("%s: narrowed\n%s, want\n%s", c.name, got, c.narrowed)
		}
	}
}

func TestProtectedFiles(t *testing.T) {
	p := &Plan{notebook: &notebooks.Notebook{}, policies: []placedPolicy{{Policy: &Policy{Signers: "keys/[a]*"}}}}
	p.narrow()
	for path, want := range map[string]bool{ConfigFile: false, "keys/[a]*": false, "keys/ab": true,
		"sub/" + ConfigFile: true} {
		if p.allowed(path) != want {
			t.Errorf("%s may change: %v", path, !want)
		}
	}
}

// Whatever a notebook says, it may do nothing that one of the policies forbids; and it may do what it
// could and all of them let.
func TestNarrowNeverLoosens(t *testing.T) {
	patterns := rapid.SampledFrom([]string{"a/**", "b/**", "a/x", "*", "**", "c/*"})
	fronts := rapid.Custom(func(t *rapid.T) notebooks.Front {
		number := rapid.IntRange(0, 5)
		return notebooks.Front{
			Allow: rapid.SliceOfN(patterns, 0, 2).Draw(t, "allow"), Forbid: rapid.SliceOfN(patterns, 0,
				1).Draw(t, "forbid"),
			Limits: notebooks.Limits{Files: number.Draw(t, "files"), Lines: number.Draw(t, "lines"),
				Bytes: int64(number.Draw(t, "bytes"))},
			Require: rapid.SliceOfN(rapid.SampledFrom([]string{"diff", "tests", "clean", "approval"}), 0,
				2).Draw(t, "require"),
			Mode:     rapid.SampledFrom([]string{"", "worktree", "in-place", "none"}).Draw(t, "mode"),
			Approval: rapid.SampledFrom([]string{"", "none", "required"}).Draw(t, "approval"),
			Sandbox:  rapid.SampledFrom([]string{"", "off", "on", "required", "strict"}).Draw(t, "sandbox"),
			Network:  rapid.SampledFrom([]string{"", "on", "off"}).Draw(t, "network"),
			Timeout:  time.Duration(number.Draw(t, "timeout")) * time.Minute,
			Risk:     rapid.SampledFrom(append([]string{""}, riskScale...)).Draw(t, "risk"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		own := fronts.Draw(t, "notebook")
		policies := rapid.SliceOfN(fronts, 0, 3).Draw(t, "policies")
		p := narrowed(own, policies...)
		got := p.notebook.Front
		for i, rules := range append([]notebooks.Front{own}, policies...) {
			for _, w := range []struct {
				scale      []string
				got, asked string
			}{{modeScale, got.Mode, rules.Mode}, {sandboxScale, got.Sandbox, rules.Sandbox},
				{networkScale, got.Network, rules.Network}} {
				if asked := slices.Index(w.scale, w.asked); slices.Index(w.scale, w.got) < asked && asked > 0 {
					t.Fatalf("%q is in force and %d asked for %q", w.got, i, w.asked)
				}
			}
			for _, l := range [][2]int64{{int64(got.Limits.Files), int64(rules.Limits.Files)},
				{int64(got.Limits.Lines), int64(rules.Limits.Lines)}, {got.Limits.Bytes, rules.Limits.Bytes},
				{int64(got.Timeout), int64(rules.Timeout)}} {
				if l[1] > 0 && (l[0] == 0 || l[0] > l[1]) {
					t.Fatalf("the limit is %d and %d asked for %d", l[0], i, l[1])
				}
			}
			if rules.Approval == approvalRequired && got.Approval != approvalRequired || slices.Index(riskScale,
				got.Risk) < slices.Index(riskScale, rules.Risk) {
				t.Fatalf("approval %q, risk %q, and %d asked for %q, %q", got.Approval, got.Risk, i, rules.Approval,
					rules.Risk)
			}
			for _, want := range rules.Require {
				if !slices.Contains(got.Require, want) {
					t.Fatalf("%s is not required any more", want)
				}
			}
		}
		for _, path := range []string{"a/x", "a/y", "b/x", "c/x", "x", ConfigFile} {
			all := len(policies) == 0 || path != ConfigFile
			for _, rules := range append([]notebooks.Front{own}, policies...) {
				all = all && (len(rules.Allow) == 0 || MatchesAny(rules.Allow, path)) &&
					!MatchesAny(rules.Forbid, path) && rules.Mode != "none"
			}
			if p.allowed(path) != all {
				t.Fatalf("%s may change: %v; all let it: %v", path, !all, all)
			}
		}
	})
}

func TestReadPolicy(t *testing.T) {
	text := `
policy:
  allow: &list [src/**]
  forbid: *list
  limits: {files: 2, bytes: 1MB}
  require: tests
  approval: {required: true, by-other: true, expires: 8h}
  allowed_signers: .keys/signers
  sandbox: on
  network: off
  timeout: 10m
  mode: worktree
  risk: high
  forbidden_actions: [push]
`
	cfg, err := ParseConfig(ConfigFile, []byte(text))
	want := &Policy{Rules: notebooks.Front{Allow: []string{"src/**"}, Forbid: []string{"src/**"},
		Limits:  notebooks.Limits{Files: 2, Bytes: 1e6},
		Require: []string{"tests"}, Approval: approvalRequired, Sandbox: "on", Network: "off",
		Timeout: 10 * time.Minute,
		Mode:    "worktree", Risk: "high",
		ForbiddenActions: []string{"push"}}, Signers: ".keys/signers", ByOther: true, Expires: 8 * time.Hour}
	if err != nil || !reflect.DeepEqual(cfg.Policy, want) {
		t.Errorf("got %+v, %v", cfg.Policy, err)
	}
	if cfg.digest != runs.DigestOf([]byte(text)) {
		t.Error("the digest is not of the file")
	}
	for text, want := range map[string]string{
		"policy: {}\npolicy: {}\n":                           "markmill.yaml",
		"policy:\n":                                          "1:8: policy: a mapping was expected",
		"policy: [a]\n":                                      "a mapping was expected",
		"policy:\n  alow: [a]\n":                             `2:3: unknown key "alow"`,
		"policy:\n  <<: {allow: [a]}\n":                      `2:3: unknown key "<<"`,
		"policy:\n  env: {A: b}\n":                           `2:3: unknown key "env"`,
		"policy:\n  risk: low\n  risk: high\n":               "markmill.yaml",
		"policy:\n  allow: []\n":                             "2:10: policy: allow: an empty list says nothing",
		"policy:\n  require: []\n":                           "2:12: policy: require: an empty list says nothing",
		"policy:\n  protect: []\n":                           "2:12: policy: protect: an empty list says nothing",
		"policy:\n  limits: {}\n":                            "2:11: policy: limits: no limit is named",
		"policy:\n  allow:\n":                                "policy: allow: expected a list",
		"policy:\n  allow: [/etc]\n":                         "is not a pattern of paths",
		"policy:\n  forbid: [\"a[\"]\n":                      "is not a pattern of paths",
		"policy:\n  limits: {files: 0}\n":                    "files: 0 is no limit",
		"policy:\n  limits: {files: -1}\n":                   "expected a whole number",
		"policy:\n  limits: {file: 1}\n":                     "unknown limit",
		"policy:\n  require: [test]\n":                       "unknown requirement",
		"policy:\n  risk: spicy\n":                           "expected one of low, medium, high, critical",
		"policy:\n  timeout: 0\n":                            "timeout",
		"policy:\n  mode: here\n":                            "expected worktree, in-place, none",
		"policy:\n  sandbox: maybe\n":                        "expected on, off, strict, required",
		"policy:\n  approval: maybe\n":                       "expected required, none",
		"policy:\n  approval: {by_other: true}\n":            `unknown key "by_other"`,
		"policy:\n  approval: {required: 1}\n":               "expected true or false",
		"policy:\n  approval: {required: yes}\n":             "expected true or false",
		"policy:\n  approval: {expires: never}\n":            "expected a time such as 8h",
		"policy:\n  approval: {expires: 1h, expires: 99h}\n": "markmill.yaml",
		"policy:\n  allowed_signers: ../keys\n":              "nor one inside the repository",
		"policy:\n  allowed_signers: [a]\n":                  "expected the path of a file",
		"policy:\n  allowed_signers:\n":                      "expected the path of a file",
	} {
		if cfg, err := ParseConfig(ConfigFile, []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), ConfigFile) {
			t.Errorf("%q: %+v, %v", text, cfg.Policy, err)
		}
	}
}

// A notebook alone never has a run work in the checkout: the option or every policy that applies says so, too.
func TestInPlaceByNotebook(t *testing.T) {
	says := func(modes ...string) (out []placedPolicy) {
		for _, mode := range modes {
			out = append(out, placedPolicy{Policy: &Policy{Rules: notebooks.Front{Mode: mode}}})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		option   bool
		policies []placedPolicy
		refused  bool
		mode     string
	}{
		{"nobody", false, nil, true, runs.MutationInPlace},
		{"the option", true, nil, false, runs.MutationInPlace},
		{"a policy without a word", false, says(""), true, runs.MutationInPlace},
		{"the policy", false, says(runs.MutationInPlace), false, runs.MutationInPlace},
		{"one of two policies", false, says(runs.MutationInPlace, ""), true, runs.MutationInPlace},
		{"a tighter policy", false, says(runs.MutationInPlace, runs.MutationWorktree), false, runs.MutationWorktree},
	} {
		p := &Plan{notebook: &notebooks.Notebook{Front: notebooks.Front{Mode: runs.MutationInPlace}},
			source: &worktree.Source{}, policies: c.policies, request: Request{InPlace: c.option}}
		p.narrow()
		if err := p.inPlaceByNotebook(nil); (len(err) > 0) != c.refused || p.mode() != c.mode {
			t.Errorf("%s: refused: %v; mode %s", c.name, err, p.mode())
		}
	}
}

// Where a change must be accepted, no notebook changes the checkout itself, and the contract says why.
func TestNarrowAcceptance(t *testing.T) {
	p := &Plan{notebook: &notebooks.Notebook{Front: notebooks.Front{Mode: runs.MutationInPlace}},
		policies: []placedPolicy{{Policy: &Policy{Signers: "keys", Acceptance: true}}}}
	p.narrow()
	if mode := p.notebook.Front.Mode; mode != runs.MutationWorktree {
		t.Errorf("the mode is %q", mode)
	}
	if !NeedsAcceptance(&runs.Run{Contract: runs.ContractData{Narrowed: p.narrowed}}) {
		t.Errorf("the contract does not say it: %v", p.narrowed)
	}
	if p.request.InPlace = true; p.inPlaceRefused() == nil {
		t.Error("--in-place is not refused")
	}
	if NeedsAcceptance(&runs.Run{}) {
		t.Error("a contract without a policy needs an acceptance")
	}
}

// TestNarrowFloor: a notebook and a policy can ask for more than the floor, and not for less; what a floor leaves open
// stays as it was.
func TestNarrowFloor(t *testing.T) {
	required := notebooks.Front{Sandbox: "required", Mode: runs.MutationWorktree}
	for _, c := range []struct{ floor, own, policy, want notebooks.Front }{
		{required, notebooks.Front{}, notebooks.Front{}, required},
		{required, notebooks.Front{Sandbox: "off", Mode: runs.MutationInPlace}, notebooks.Front{Sandbox: "on"},
			required},
		{required, notebooks.Front{Sandbox: "strict", Mode: runs.MutationNone}, notebooks.Front{},
			notebooks.Front{Sandbox: "strict", Mode: runs.MutationNone}},
		{required, notebooks.Front{}, notebooks.Front{Sandbox: "strict", Mode: runs.MutationNone},
			notebooks.Front{Sandbox: "strict", Mode: runs.MutationNone}},
		{notebooks.Front{Sandbox: "on"}, notebooks.Front{Sandbox: "off"}, notebooks.Front{},
			notebooks.Front{Sandbox: "on"}},
		{notebooks.Front{Sandbox: "off"}, notebooks.Front{}, notebooks.Front{}, notebooks.Front{}},
		{notebooks.Front{Sandbox: "off"}, notebooks.Front{Sandbox: "strict"}, notebooks.Front{},
			notebooks.Front{Sandbox: "strict"}},
	} {
		p := &Plan{notebook: &notebooks.Notebook{Front: c.own}, floor: c.floor,
			policies: []placedPolicy{{Policy: &Policy{Rules: c.policy}}}}
		p.narrow()
		if got := p.notebook.Front; got.Sandbox != c.want.Sandbox || got.Mode != c.want.Mode {
			t.Errorf("floor %v, policy %v, notebook %v: %q, %q", c.floor, c.policy, c.own, got.Sandbox, got.Mode)
		}
	}
}
