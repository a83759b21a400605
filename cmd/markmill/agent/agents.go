package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/agent"
	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// agentGuide prints docs/for-agents.md.
func agentGuide(a *program.App) *cobra.Command {
	return &cobra.Command{Use: "guide", Short: "What a coding agent must know, in 40 lines",
		Long: help.ForAgents, Args: program.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
}

// agentProbe tries whether the admitted agents can be used here.
func agentProbe(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "probe NAME", Short: "Start the program of an admitted agent, and say whether it can be used here",
		Args: program.Args(1, 1),
		Long: `Looks at the agent NAME of markmill.yaml as a run would: the policy allows it, its program is the admitted one, its
credentials are set. Then it starts the program with --version, as agent admit does, and compares.

Exit codes: 0 it can be used, 1 it cannot, 2 markmill.yaml admits no agent of this name.`,
		Example: "  markmill agent probe codex",
		RunE:    func(c *cobra.Command, words []string) error { return probeAgent(c.Context(), a, words[0]) },
	}
}

func probeAgent(ctx context.Context, a *program.App, name string) error {
	here, err := agentsHere(a)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(here.Agents, func(one agentHere) bool { return one.Name == name })
	if i < 0 {
		return program.Usagef("markmill.yaml admits no agent %s; %s does", name, engine.AdmitCommand(name))
	}
	one := here.Agents[i]
	if one.Denied == nil && one.Tested != nil {
		if found := programVersion(ctx, one.path); found != one.Version {
			one.Denied = &runs.DeniedAgent{Code: "version", Reason: "its program says that it is " +
				cmp.Or(found, "no version") + ", and " + one.Version + " was admitted; admit it again"}
		}
	}
	here.Agents = []agentHere{one}
	fmt.Fprint(a.Stdout, here.words())
	return program.PassIf(one.Denied == nil)
}

// admission is what agent admit is told.
type admission struct {
	program, model, endpoint string
	credentials              []string
}

func agentsAdmit(a *program.App) *cobra.Command {
	var o admission
	c := &cobra.Command{
		Use:   "admit NAME [-- ARGUMENT...]",
		Short: "Admit a coding agent to this repository, by program, digest and version",
		Long: `Finds the program of a coding agent (claude, codex, gemini, opencode), starts it with --version, and writes its
path, SHA-256, version and the environment variable with its credentials into markmill.yaml. Every other byte
of that file stays. A step of the language agent can then be done by it; a program that changes must be admitted
again. Any other program can be admitted by a NAME of its own with --program: it gets the prompt on standard
input, and prints text or events (docs/agents.md).

Exit codes: 0 admitted, 2 there is no such program, or markmill.yaml cannot be changed.`,
		Example: `  markmill agent admit codex --model gpt-5
  markmill agent admit mine --program ./agent.py -- --quiet`,
		Args: program.Args(1, -1),
		RunE: func(c *cobra.Command, words []string) error { return admitAgent(a, c, words[0], words[1:], o) },
	}
	f := c.Flags()
	f.StringVar(&o.program, "program", "", "the program's file (default: found on PATH)")
	f.StringVar(&o.model, "model", "", "the model that it asks (default: its own choice)")
	f.StringVar(&o.endpoint, "endpoint", "", "base URL of the model's API (default: its own)")
	f.StringSliceVar(&o.credentials, "credential", nil, "environment variable that it gets (default: its usual one)")
	return c
}

func agentsList(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the coding agents that markmill.yaml admits, and whether they can be used",
		Long: `Lists the coding agents that markmill.yaml admits, with the code and the reason for those that cannot be used here:
the policy names others, the program is missing or has changed, or no credentials are set; and what a run with an agent
may change (policy: agent-mode).

Exit codes: 0 all can be used, or none is admitted, 1 one cannot.`,
		Example: "  markmill agent list\n  markmill agent list --json",
		Args:    program.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return listAgents(a, asJSON) },
	}
	program.JSONFlag(c, &asJSON, "agents")
	return c
}

// AgentsHere is what agent list --json prints.
type AgentsHere struct {
	Agents       []agentHere `json:"agents"`
	MutationMode string      `json:"mutation_mode"` // of runs with an agent, by the policies
}

// agentHere is an admitted agent.
type agentHere struct {
	Name    string              `json:"name"`
	Version string              `json:"version,omitzero"`
	Model   string              `json:"model,omitzero"`
	Tested  []string            `json:"tested,omitempty"` // the versions that Markmill was tested with
	Backend *runs.AdmittedAgent `json:"backend,omitempty"`
	Denied  *runs.DeniedAgent   `json:"denied,omitempty"`
	path    string              // of its program
}

// agentsHere are the agents that markmill.yaml admits, by name.
func agentsHere(a *program.App) (here AgentsHere, err error) {
	_, src, err := a.Here()
	if err != nil {
		return here, err
	}
	eng, err := a.Engine(engines.RootOf(src))
	if err != nil {
		return here, err
	}
	usable, denials, mode, err := eng.AgentsHere(src)
	if err != nil {
		return here, err
	}
	here = AgentsHere{Agents: []agentHere{}, MutationMode: mode}
	for _, name := range slices.Sorted(maps.Keys(eng.Config.Agents)) {
		c := eng.Config.Agents[name]
		one := agentHere{Name: name, Version: c.Version, Model: c.Model, path: c.Path}
		if b, ok := agent.Find(name); ok {
			one.Tested = b.Tested()
		}
		one.Backend, one.Denied = usable[name], denials[name]
		here.Agents = append(here.Agents, one)
	}
	return here, nil
}

func listAgents(a *program.App, asJSON bool) error {
	here, err := agentsHere(a)
	if err != nil {
		return err
	}
	denied := slices.ContainsFunc(here.Agents, func(one agentHere) bool { return one.Denied != nil })
	if asJSON {
		err = a.PrintJSON("agents", here)
	} else {
		fmt.Fprintf(a.Stdout, "%s", here.words())
	}
	if err == nil && denied {
		return program.Exit(program.ExitFail)
	}
	return err
}

func (h AgentsHere) words() string {
	if len(h.Agents) == 0 {
		return "no agent is admitted: markmill agent admit NAME, with one of " + strings.Join(agentNames(), ", ") +
			"\n"
	}
	var b strings.Builder
	for _, one := range h.Agents {
		mark, words := "✓", ""
		if one.Denied != nil {
			mark, words = "✗", " · "+one.Denied.Code+": "+one.Denied.Reason
		}
		if one.Tested != nil && !slices.Contains(one.Tested, one.Version) {
			words += " · tested with " + strings.Join(one.Tested, ", ")
		}
		for _, word := range []string{one.Version, one.Model} {
			if word != "" {
				words = " · " + word + words
			}
		}
		fmt.Fprintf(&b, "%s %s%s\n", mark, one.Name, plain.Escape(words))
	}
	fmt.Fprintf(&b, "a run with an agent may change: %s (policy: agent-mode)\n", h.MutationMode)
	return b.String()
}

func agentNames() []string {
	var names []string
	for _, b := range agent.Table() {
		names = append(names, b.Name())
	}
	return names
}

func admitAgent(a *program.App, c *cobra.Command, name string, arguments []string, o admission) error {
	_, src, err := a.Here()
	if err != nil {
		return err
	}
	if src == nil {
		return program.Usagef("agents are admitted to a repository, and this folder is in none")
	}
	b, known := agent.Find(name)
	switch {
	case !known && o.program == "":
		return program.Usagef("%s is no agent that is built in (there are: %s); admit another program with --program",
			name,
			strings.Join(agentNames(), ", "))
	case known && len(arguments) > 0:
		return program.Usagef("%s is built in, and takes no arguments; admit the program by another name", name)
	case known && o.program == "":
		o.program = b.Program()
	}
	program, err := programFile(o.program)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "the program of the agent " + name + " is not found",
			Hint: "install it, or name it with --program", Err: err}
	}
	eng, err := a.Engine(src.Root())
	if err != nil {
		return err
	}
	digest, files, err := eng.DigestOfAgent(program)
	if err != nil {
		return err
	}
	fields := []Field{{Key: "path", Value: Text(program)},
		{Key: "sha256", Value: Text(strings.TrimPrefix(string(digest), "sha256:"))}}
	version := ""
	if known {
		version = programVersion(c.Context(), program)
	} else {
		fields = append(fields, Field{Key: "command",
			Value: List(append([]string{filepath.Base(program)}, arguments...))})
	}
	if known && o.credentials == nil {
		o.credentials = b.Credentials()
	}
	for _, f := range []Field{{Key: "version", Value: version}, {Key: "model", Value: o.model},
		{Key: "endpoint", Value: o.endpoint}} {
		if f.Value != "" {
			fields = append(fields, Field{Key: f.Key, Value: Text(f.Value)})
		}
	}
	if len(o.credentials) > 0 {
		fields = append(fields, Field{Key: "credentials", Value: List(o.credentials)})
	}
	if err := Admit(src.Root(), name, fields); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "admitted %s%s: %s\n", name, strings.TrimSuffix(" "+version, " "), program)
	switch script, _ := engine.IsScript(program); {
	case files > 1:
		a.Tell("markmill: the digest covers the %d files of its Node packages, and not node itself\n", files)
	case known && script:
		a.Tell("markmill: %s is a script, and its digest does not cover what it loads; --program can name the "+
			"program itself\n", program)
	}
	return nil
}

// programFile is the file of a program: of a name on PATH, without links.
func programFile(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

var versionForm = lazyregexp.New(`\d+\.\d+(\.\d+)*[-+.0-9A-Za-z]*`)

// programVersion is what a program says of its version; "" if it says nothing that is one.
func programVersion(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return ""
	}
	return versionForm.FindString(string(out))
}

// AgentRates is what agent rates --json prints.
type AgentRates struct {
	Rates []*index.BackendRate `json:"rates"` // by the names of backend and model
}

func agentsRates(a *program.App) *cobra.Command {
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use: "rates [NOTEBOOK]", Short: "Show how often the runs of each coding agent pass, and their time and cost",
		Args: program.Args(0, 1),
		Long: `Counts the recorded runs with an agent's step, by backend and model: the share that passed of those that passed or
failed, how many were blocked, the median and the 95th percentile of the duration, the mean number of tokens and the
total cost, if the agent reports them. NOTEBOOK (a path, the end of one, or a pattern) selects runs. Runs that carried
the agent's step over from another run, such as the second judgement of an attempt, do not count.

Exit codes: 0 counted, 1 the records cannot be read, 2 usage.`,
		Example: "  markmill agent rates\n  markmill agent rates task.md --since 30d",
		RunE: func(c *cobra.Command, words []string) error {
			from, err := program.TimeOption("--since", since, a.Now())
			if err != nil {
				return err
			}
			return showRates(a, c, index.Filter{Notebook: program.WordOr(words, ""), Since: from}, asJSON)
		},
	}
	program.JSONFlag(c, &asJSON, "agents-rates")
	c.Flags().StringVar(&since, "since", "", "only runs that started at this time or later: 2026-01-31, 12h, 7d")
	return c
}

func showRates(a *program.App, c *cobra.Command, filter index.Filter, asJSON bool) error {
	var rates []*index.BackendRate
	err := a.WithIndex(c, func(_ context.Context, _ runs.Store, x *index.Index) (err error) {
		rates, err = x.BackendRates(filter)
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.PrintJSON("agents-rates", AgentRates{rates})
	case len(rates) == 0:
		return program.Say(a.Stdout, "No run with an agent's step matches.\n")
	}
	t := program.NewGrid("backend", "model", "runs", "passed", "failed", "blocked", "pass", "p50", "p95", "tokens",
		"USD")
	for _, r := range rates {
		var pass, p50, p95 string
		var tokens, cost any
		if r.PassRate != nil {
			pass, p50, p95 = fmt.Sprintf("%.1f%%", 100**r.PassRate), program.Took(r.P50), program.Took(r.P95)
		}
		if r.Tokens > 0 {
			tokens = int64(r.Tokens)
		}
		if r.CostUSD > 0 {
			cost = r.CostUSD
		}
		t.Add(r.Backend, r.Model, r.Runs, r.Passed, r.Failed, r.Blocked, pass, p50, p95, tokens, cost)
	}
	return t.Write(a.Stdout, "table")
}
