package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/runs"
	"markmill/runs/outfile"
)

// Policy is what a repository allows its runs: policy: of markmill.yaml. A notebook can tighten it but not loosen it.
type Policy struct {
	// Rules are the keys that the front matter has too. Timeout is the most that a step may take.
	Rules   notebooks.Front
	Signers string        // allowed_signers file; "" counts approvals without a signature
	ByOther bool          // who runs cannot approve
	Expires time.Duration // the longest that an approval holds; 0 leaves it to who approves
	// Acceptance keeps the change of a run from the checkout and from branches until an operator has accepted the run.
	Acceptance bool
	// Agents are the coding agents that may be used, of those that are admitted; nil leaves it to the admission.
	Agents    []string
	AgentMode string // the most that agents may do; one of agentModes, or ""
	// Reveal are the paths of test fixtures: keys that stand there are shown.
	Reveal []string
	// Path are folders of the repository that may stand on the PATH of steps.
	Path []string
	// Judges and NotJudges add to the table of judge files, and take from it.
	Judges, NotJudges []string
	DecideNote        bool       // what is to be decided is a note, and does not hold a review up
	Accepted          []Accepted // findings that a maintainer has accepted
}

// Accepted is a finding of review --judge that a maintainer has accepted. The id is bound to both trees and the test.
type Accepted struct {
	ID     string `yaml:"id"`
	By     string `yaml:"by"`
	Reason string `yaml:"reason"`
}

// Sandboxes are the values of sandbox:, the tightest last.
func Sandboxes() []string { return slices.Clone(sandboxScale) }

// policyKeys are read like those of the front matter, by the notebook's own readers.
var policyKeys = []string{"allow", "forbid", "protect", "protect-mode", "limits", "require", "forbidden_actions",
	"mode", "risk", "sandbox", "network", "tree", "processes", "timeout", "run-timeout"}

// readPolicy reads the value of policy:.
func readPolicy(file string, n *yaml.Node) (*Policy, error) {
	bad := func(at *yaml.Node, msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: at.Line, Col: at.Column,
			Msg: msg, Hint: hint}
	}
	if n.Kind != yaml.MappingNode {
		return nil, bad(n, "policy: a mapping was expected", "such as {allow: [src/**], require: [tests]}")
	}
	p := &Policy{}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		if seen[key.Value] {
			return nil, bad(key, fmt.Sprintf("the key %q stands twice in the policy", key.Value), "keep one")
		}
		seen[key.Value] = true
		var err error
		switch {
		case slices.Contains(policyKeys, key.Value):
			if err = markdown.ReadKey(&p.Rules, key.Value, value); err == nil {
				err = p.check(key.Value, value)
			}
		case key.Value == "approval":
			err = p.readApproval(value)
		case key.Value == acceptanceKey:
			if p.Acceptance = value.Value == approvalRequired; !slices.Contains(approvalScale, value.Value) {
				err = fmt.Errorf("expected one of %s", strings.Join(approvalScale, ", "))
			}
		case key.Value == "allowed_signers":
			err = p.readSigners(value)
		case key.Value == "agents":
			if p.Agents = []string{}; value.Kind != yaml.SequenceNode || value.Decode(&p.Agents) != nil {
				err = errors.New("expected a list of names, such as [codex]")
			}
		case key.Value == "agent-mode":
			if p.AgentMode = value.Value; !slices.Contains(agentModes, p.AgentMode) {
				err = fmt.Errorf("expected one of %s", strings.Join(agentModes, ", "))
			}
		case key.Value == "path":
			if p.Path, err = readPatterns(value); err == nil && strings.ContainsAny(strings.Join(p.Path, ""), "*?[") {
				err = errors.New("expected a list of folders, such as [tools/bin]")
			}
		case key.Value == "judges":
			p.Judges, err = readPatterns(value)
		case key.Value == "not-judges":
			p.NotJudges, err = readPatterns(value)
		case key.Value == "decide":
			if p.DecideNote = value.Value == "note"; value.Value != "note" && value.Value != "stop" {
				err = errors.New("expected note or stop")
			}
		case key.Value == "accepted":
			lacks := func(a Accepted) bool { return a.ID == "" || a.By == "" || a.Reason == "" }
			if value.Kind != yaml.SequenceNode || value.Decode(&p.Accepted) != nil ||
				slices.ContainsFunc(p.Accepted, lacks) {
				err = errors.New("expected a list of findings, each with id, by and reason")
			}
		case key.Value == "reveal":
			p.Reveal, err = readPatterns(value)
		default:
			known := append(slices.Clone(policyKeys), "approval", acceptanceKey, "allowed_signers", "agents",
				"agent-mode", "reveal", "path", "judges", "not-judges", "decide", "accepted")
			return nil, bad(key, fmt.Sprintf("unknown key %q; known here: %s", key.Value, strings.Join(known, ", ")),
				notebooks.DidYouMean(key.Value, known))
		}
		if err != nil {
			return nil, bad(value, fmt.Sprintf("policy: %s: %v", key.Value, err), "")
		}
	}
	if p.Acceptance && p.Signers == "" {
		return nil, bad(n, "policy: acceptance: required needs allowed_signers",
			"name the file with the keys that can accept")
	}
	return p, nil
}

// readPatterns reads a list of patterns of paths.
func readPatterns(value *yaml.Node) (list []string, err error) {
	if value.Kind != yaml.SequenceNode || value.Decode(&list) != nil || len(list) == 0 || badPattern(list) != "" {
		err = errors.New("expected a list of patterns of paths, such as [testdata/**]")
	}
	return list, err
}

// JudgeFiles says which files judge a change by the settings, and by a notebook if it is not nil.
func (c *Config) JudgeFiles(nb *notebooks.Notebook) (files JudgeFiles) {
	if p := c.Policy; p != nil {
		files = JudgeFiles{Also: slices.Concat(p.Rules.Protect, p.Judges), Not: p.NotJudges}
	}
	if nb != nil {
		files.Also = append(files.Also, nb.Front.Protect...)
	}
	return files
}

// acceptanceKey is the key of a policy, and of the restriction in a contract, that requires an acceptance.
const acceptanceKey = "acceptance"

func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// check returns an error for a rule that allows more than it seems to.
func (p *Policy) check(key string, n *yaml.Node) error {
	if err := markdown.Vacuous(key, n); err != nil {
		return err
	}
	r := &p.Rules
	switch key {
	case "allow", "forbid", "protect":
		list := map[string][]string{"allow": r.Allow, "forbid": r.Forbid, "protect": r.Protect}[key]
		if pattern := badPattern(list); pattern != "" {
			return fmt.Errorf("%q is not a pattern of paths in the worktree; patterns are relative and use / , as "+
				"\"reports/**\"", pattern)
		}
	case "risk":
		if !slices.Contains(riskScale, r.Risk) {
			return fmt.Errorf("expected one of %s", strings.Join(riskScale, ", "))
		}
	case "timeout", "run-timeout":
		if map[string]time.Duration{"timeout": r.Timeout, "run-timeout": r.RunTimeout}[key] <= 0 {
			return errors.New("expected a time above 0, such as 10m")
		}
	}
	return nil
}

// readApproval reads "required", "none", or {required: true, by-other: true, expires: 24h}.
func (p *Policy) readApproval(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return markdown.ReadKey(&p.Rules, "approval", n)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, resolved(n.Content[i+1])
		if seen[key] {
			return fmt.Errorf("the key %q stands twice", key)
		}
		seen[key] = true
		switch key {
		case "required", "by-other":
			var on bool
			if value.Kind != yaml.ScalarNode || value.Decode(&on) != nil || value.Tag != "!!bool" {
				return fmt.Errorf("%s: expected true or false", key)
			}
			if key == "by-other" {
				p.ByOther = on
			} else if on {
				p.Rules.Approval = approvalRequired
			}
		case "expires":
			d, err := time.ParseDuration(value.Value)
			if err != nil || d <= 0 {
				return errors.New("expires: expected a time such as 8h")
			}
			p.Expires = d
		default:
			return fmt.Errorf("unknown key %q; known here: required, by-other, expires", key)
		}
	}
	return nil
}

// approvalRequired is the value of approval: that requires one.
const approvalRequired = "required"

func (p *Policy) readSigners(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag != "!!str" {
		return errors.New("expected the path of a file in OpenSSH's ALLOWED SIGNERS format")
	}
	p.Signers = n.Value
	if !filepath.IsAbs(p.Signers) && (path.IsAbs(p.Signers) || path.Clean(p.Signers) != p.Signers ||
		!filepath.IsLocal(filepath.FromSlash(p.Signers))) {
		return fmt.Errorf("%q is neither an absolute path nor one inside the repository, such as .markmill-signers",
			p.Signers)
	}
	return nil
}

// placedPolicy is a policy with its place.
type placedPolicy struct {
	*Policy
	commit  worktree.OID // "" is the checkout
	digest  runs.Digest  // of its markmill.yaml
	signers []byte       // of the allowed_signers file
	missing string       // why that file cannot be read, "" when it can
}

// place names the file that the policy stands in.
func (p *placedPolicy) place() string {
	if p.commit == "" {
		return ConfigFile
	}
	return fmt.Sprintf("%s of commit %.12s", ConfigFile, p.commit)
}

// policies are all policies that apply to a run: those of the base commit, of the commit that is checked out, and of
// the checkout. Each can only add to the others, so that neither an old base nor an uncommitted edit loosens anything,
// while an edit that tightens applies at once.
func (e *Engine) policies(src *worktree.Source, base worktree.OID) ([]placedPolicy, error) {
	if src == nil {
		return nil, nil
	}
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	var out []placedPolicy
	add := func(p placedPolicy) {
		for _, other := range out {
			if reflect.DeepEqual(other.Policy, p.Policy) && string(other.signers) == string(p.signers) &&
				other.missing == p.missing {
				return
			}
		}
		out = append(out, p)
	}
	for _, commit := range slices.Compact([]worktree.OID{base, head}) {
		if commit == "" {
			continue
		}
		data, err := src.File(commit, ConfigFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		cfg, err := ParseConfig((&placedPolicy{commit: commit}).place(), data)
		if err != nil {
			return nil, err
		}
		if cfg.Policy != nil {
			p := placedPolicy{Policy: cfg.Policy, commit: commit, digest: runs.DigestOf(data)}
			p.readSignersFile(func(name string) ([]byte, error) { return src.File(commit, name) })
			add(p)
		}
	}
	if e.Config.Policy != nil {
		p := placedPolicy{Policy: e.Config.Policy, digest: e.Config.digest}
		p.readSignersFile(func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(src.Root(), filepath.FromSlash(name)))
		})
		add(p)
	}
	return out, nil
}

// readSignersFile reads a path inside the repository from the place of the policy, so that a key counts if it was
// committed with the policy that names the file. An absolute path is the machine's.
func (p *placedPolicy) readSignersFile(inside func(string) ([]byte, error)) {
	if p.Signers == "" {
		return
	}
	read := inside
	if filepath.IsAbs(p.Signers) {
		read = os.ReadFile
	}
	var err error
	if p.signers, err = read(p.Signers); err != nil {
		p.missing = fmt.Sprintf("the policy's allowed_signers file cannot be read: %v", err)
	}
}

// OutputRules say where a command may write for a person: where the policies of the repository around the file forbid
// nothing. force is set if a person at a terminal insists.
func OutputRules(force bool) outfile.Rules {
	return outfile.Rules{Force: force, Checkout: checkoutAround}
}

func checkoutAround(folder string) (*outfile.Checkout, error) {
	src, err := worktree.Open(folder)
	if errors.Is(err, worktree.ErrNoRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cfg, err := LoadConfig(src.Root())
	if err != nil {
		return nil, err
	}
	policies, err := (&Engine{Config: cfg}).policies(src, "")
	if err != nil {
		return nil, err
	}
	var forbidden []string
	for _, p := range policies {
		forbidden = append(append(forbidden, p.Rules.Forbid...), p.protected()...)
	}
	root, err := filepath.EvalSymlinks(src.Root())
	hooks := src.Config.Path("core", "hookspath")
	if hooks != "" && !filepath.IsAbs(hooks) {
		hooks = filepath.Join(root, hooks)
	}
	return &outfile.Checkout{Root: root, Tracked: src.Tracked, Hooks: hooks,
		Forbidden: func(path string) bool { return MatchesAny(forbidden, path) }}, err
}
