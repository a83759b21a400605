package engine

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/agent"
	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
)

// AgentConfig admits a coding agent: a backend of the table by its name, or any program with command.
type AgentConfig struct {
	Path        string        `yaml:"path"`    // of the program, absolute or with ~/
	Command     []string      `yaml:"command"` // arguments of a program that is no backend of the table
	SHA256      string        `yaml:"sha256"`  // of the program's file, 64 hexadecimal digits
	Version     string        `yaml:"version"`
	Model       string        `yaml:"model"`
	Endpoint    string        `yaml:"endpoint"`    // base URL of the model's API
	Credentials []string      `yaml:"credentials"` // environment variables that it gets
	Network     string        `yaml:"network"`     // on, which is the default, or off
	Start       time.Duration `yaml:"start"`       // until its first line of output; 0 is a minute
	Idle        time.Duration `yaml:"idle"`        // between lines; 0 is five minutes
}

// Limits of a turn where markmill.yaml says nothing.
const (
	agentStart = time.Minute
	agentIdle  = 5 * time.Minute
)

// backend is what the configuration of a name calls.
func (c AgentConfig) backend(name string) (agent.Backend, bool) {
	if len(c.Command) > 0 {
		return agent.NewCommand(name, c.Command[1:]), true
	}
	return agent.Find(name)
}

var sha256Form = lazyregexp.New(`^[0-9a-f]{64}$`)

// checkAgents returns an error for an admission that means nothing.
func checkAgents(file string, agents map[string]AgentConfig) error {
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		c := agents[name]
		bad := func(msg, hint string) error {
			return &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: fmt.Sprintf("agents: %s: %s", name,
				msg),
				Hint: hint}
		}
		_, known := agent.Find(name)
		rest, home := strings.CutPrefix(c.Path, "~/")
		switch {
		case notebooks.Slug(name) != name:
			return bad("is no name of a backend", "use letters, digits and -")
		case known && len(c.Command) > 0:
			return bad("is built in, and takes no command", "call the program by another name")
		case !known && len(c.Command) == 0:
			return bad("is no backend that is built in, and has no command", "there are: "+
				strings.Join(agentNames(), ", ")+"; any other program needs path and command")
		case !filepath.IsAbs(c.Path) && (!home || !filepath.IsLocal(rest)):
			return bad(fmt.Sprintf("path: %q is not absolute", c.Path), AdmitCommand(name)+" writes it")
		case !sha256Form.MatchString(c.SHA256):
			return bad("sha256: 64 hexadecimal digits were expected", AdmitCommand(name)+" writes them")
		case c.Network != "" && c.Network != "on" && c.Network != "off":
			return bad(fmt.Sprintf("network: %q is neither on nor off", c.Network), "on is the default")
		case c.Start < 0 || c.Idle < 0:
			return bad("start and idle are times above 0", "such as idle: 10m")
		}
	}
	return nil
}

// agentNames are the backends of the table.
func agentNames() []string {
	var names []string
	for _, b := range agent.Table() {
		names = append(names, b.Name())
	}
	return names
}

// AdmitCommand is the command that admits an agent of a name.
func AdmitCommand(name string) string {
	if _, builtIn := agent.Find(name); builtIn {
		return "markmill agent admit " + name
	}
	return "markmill agent admit " + name + " --program FILE"
}

// kernel is the agent as a kernel, with the credentials that the environment has.
func (c AgentConfig) kernel(b agent.Backend, program string, getenv func(string) (string, bool)) *kernel.Agent {
	k := &kernel.Agent{Offline: c.Network == "off", Backend: b, Program: program, Version: c.Version, Model: c.Model,
		Endpoint:   c.Endpoint,
		StartLimit: cmp.Or(c.Start, agentStart), IdleLimit: cmp.Or(c.Idle, agentIdle)}
	for _, name := range c.Credentials {
		if v, ok := getenv(name); ok && v != "" {
			k.Keys = append(k.Keys, name+"="+v)
		}
	}
	return k
}

// Modes in which an agent may change things, the tightest first. None changes nothing. In a copied fixture its change
// stays in the record. A sandbox repository also takes branches (--branch). In an owned, non-critical repository it may
// also work in place, unless the risk is high or critical; as the candidate default it always may.
var agentModes = []string{runs.MutationNone, "copied-fixture", "sandbox-repository", "owned-repository",
	"candidate-default"}

// defaultAgentMode holds where no policy says anything.
const defaultAgentMode = "sandbox-repository"
