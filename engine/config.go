package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/runs"
)

// ConfigFile is the name of a repository's settings file, at its root.
const ConfigFile = "markmill.yaml"

// Config is a repository's settings. The zero value stands for no file.
type Config struct {
	File    string                  `yaml:"-"`
	Kernels map[string]KernelConfig `yaml:"kernels"`
	Sign    string                  `yaml:"sign"` // SSH key that signs every record; ~/ is the user's home
	// path of the output notebook when none is given; {{name}} expands
	Output string `yaml:"output"`
	// Repository is where workers fetch the repository: an https:// or ssh:// address without a password.
	Repository string                 `yaml:"repository"`
	Retention  Retention              `yaml:"retention"`
	Sandbox    SandboxConfig          `yaml:"sandbox"`
	Pool       string                 `yaml:"pool"`  // on, off; "" is on: worktrees of large repositories are used again
	Reads      string                 `yaml:"reads"` // on, off; "" is on: what steps read is watched
	Deps       []string               `yaml:"-"`     // ignored folders that steps get, besides the default ones
	Artifacts  []string               `yaml:"-"`     // patterns of results that belong to no change
	Data       []string               `yaml:"-"`     // patterns of ignored files that belong to the work
	DataKeep   string                 `yaml:"-"`     // as notebooks.Front has it
	Gate       GateConfig             `yaml:"gate"`
	Agents     map[string]AgentConfig `yaml:"agents"` // the admitted coding agents, by backend
	Alerts     map[string]AlertTarget `yaml:"alerts"` // who can be told, by the names that notebooks use
	Policy     *Policy                `yaml:"-"`      // nil without one; read by readPolicy
	Normalize  []notebooks.Normalize  `yaml:"-"`      // rules for comparing outputs, as the front matter has them

	digest runs.Digest // of the file
}

// KernelConfig adds a kernel, or names the program of a built-in one.
type KernelConfig struct {
	Program   string   `yaml:"program"`   // of a built-in kernel
	Command   []string `yaml:"command"`   // one process a step; {file} is the step's code
	Languages []string `yaml:"languages"` // fences that it runs; the kernel's own name without
	Server    string   `yaml:"server"`    // address of a Jupyter Server that runs it
	Kernel    string   `yaml:"kernel"`    // its kernelspec there; python3 without
	Token     string   `yaml:"token"`     // variable of the environment that holds the server's token
}

// GateConfig is what markmill status --gate demands: of the notebooks and outputs that paths: names (without it, of all
// outputs), without those of ignore:.
type GateConfig struct {
	Require []string `yaml:"require"` // current, which always counts, and levels of proof
	Paths   []string `yaml:"paths"`
	Ignore  []string `yaml:"ignore"`
	Removed string   `yaml:"removed"` // what becomes of an output that was removed: "object" (also ""), "allow"
}

// check returns an error for a demand that is not known.
func (g *GateConfig) check(file string) error {
	bad := func(msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: msg, Hint: hint}
	}
	known := []string{"current", "recorded", "signed", "repeated"}
	for _, word := range g.Require {
		if !slices.Contains(known, word) {
			return bad(fmt.Sprintf("gate: require: %q is not known", word), "known: "+strings.Join(known, ", "))
		}
	}
	if !slices.Contains([]string{"", "object", "allow"}, g.Removed) {
		return bad(fmt.Sprintf("gate: removed: %q is not known", g.Removed), "known: object, allow")
	}
	if pattern := badPattern(slices.Concat(g.Paths, g.Ignore)); pattern != "" {
		return bad(fmt.Sprintf("gate: %q is not a pattern of paths in the repository", pattern),
			`patterns are relative and use / , as "reports/**"`)
	}
	return nil
}

// Retention is how long runs are kept.
type Retention struct {
	Runs int `yaml:"runs"` // at least the newest so many; 0 is DefaultRuns
	Days int `yaml:"days"` // and whatever is younger; 0 is DefaultDays
	// Data is how many GB of data are kept beside the records; 0 is DefaultData. That of the newest run always is.
	Data int64 `yaml:"data"`
}

// What is kept where a repository says nothing.
const (
	DefaultRuns = 50
	DefaultDays = 7
	DefaultData = 20
)

// Bounds are the number and the age of the runs that are kept.
func (r Retention) Bounds() (runs int, age time.Duration) {
	if r.Runs == 0 {
		r.Runs = DefaultRuns
	}
	if r.Days == 0 {
		r.Days = DefaultDays
	}
	return r.Runs, time.Duration(r.Days) * 24 * time.Hour
}

// DataBytes is how many bytes of data are kept.
func (r Retention) DataBytes() int64 { return cmp.Or(r.Data, DefaultData) * 1e9 }

// LoadConfig reads the settings of a repository; without a file they are the defaults.
func LoadConfig(root string) (Config, error) {
	if root == "" {
		return Config{}, nil
	}
	file := filepath.Join(root, ConfigFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, &notebooks.Error{Kind: notebooks.KindInput, File: file, Msg: "cannot be read", Err: err}
	}
	return ParseConfig(file, data)
}

// ParseConfig parses the bytes of a settings file.
func ParseConfig(file string, data []byte) (Config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return Config{}, &notebooks.Error{Kind: notebooks.KindSyntax, File: file, Msg: err.Error(), Err: err}
	}
	cfg := Config{File: file, digest: runs.DigestOf(data)}
	if len(doc.Content) == 0 {
		return cfg, nil
	}
	root := doc.Content[0]
	if err := checkKeys(file, root, "", configKeys); err != nil {
		return cfg, err
	}
	if err := root.Decode(&cfg); err != nil {
		return cfg, &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: err.Error(), Err: err}
	}
	if err := errors.Join(cfg.Sandbox.check(file), cfg.Gate.check(file),
		checkAgents(file, cfg.Agents), checkTargets(file, cfg.Alerts)); err != nil {
		return cfg, err
	}
	if r := cfg.Retention; r.Runs < 0 || r.Days < 0 || r.Data < 0 {
		return cfg, &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: "retention: a number is negative",
			Hint: "write how much to keep, as retention: {runs: 50, days: 7, data: 20}"}
	}
	for _, key := range [][2]string{{"pool", cfg.Pool}, {"reads", cfg.Reads}} {
		if name, word := key[0], key[1]; word != "" && word != "on" && word != "off" {
			return cfg, &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: fmt.Sprintf("%s: %q", name, word),
				Hint: fmt.Sprintf("write %s: on, or %s: off", name, name)}
		}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		value, err := resolved(root.Content[i+1]), error(nil)
		switch root.Content[i].Value {
		case "policy":
			cfg.Policy, err = readPolicy(file, value)
		case "normalize":
			cfg.Normalize, err = readNormalize(file, value)
		case "deps", "artifacts", "data":
			key := root.Content[i].Value
			front := notebooks.Front{Deps: cfg.Deps, Artifacts: cfg.Artifacts, Data: cfg.Data, DataKeep: cfg.DataKeep}
			if err = markdown.ReadKey(&front, key, value); err != nil {
				err = &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: value.Line, Col: value.Column,
					Msg: key + ": " + err.Error()}
			}
			cfg.Deps, cfg.Artifacts, cfg.Data, cfg.DataKeep = front.Deps, front.Artifacts, front.Data, front.DataKeep
		}
		if err != nil {
			return cfg, err
		}
	}
	for name, k := range cfg.Kernels {
		if len(k.Command) > 0 && k.Program != "" {
			return cfg, &notebooks.Error{Kind: notebooks.KindOption, File: file,
				Msg:  fmt.Sprintf("kernel %q has both program and command", name),
				Hint: "program is for a built-in kernel, command for a new one"}
		}
		if err := k.checkServer(file, name); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// readNormalize reads rules that are written as in the front matter.
func readNormalize(file string, value *yaml.Node) ([]notebooks.Normalize, error) {
	var front notebooks.Front
	if err := markdown.ReadKey(&front, "normalize", value); err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: value.Line, Col: value.Column,
			Msg: "normalize: " + err.Error(), Err: err}
	}
	return front.Normalize, nil
}

// configKeys are the known keys by the path of their mapping; * is any name.
var configKeys = map[string][]string{
	"": {"kernels", "output", "sign", "retention", "sandbox", "pool", "reads", "gate", "agents", "policy",
		"normalize", "alerts", "repository", "deps", "artifacts", "data"},
	"agents.*": {"path", "command", "sha256", "version", "model", "endpoint", "credentials", "network",
		"start", "idle"},
	"alerts.*":  {"webhook", "slack", "mail", "from", "server", "exec"},
	"kernels.*": {"program", "command", "languages", "server", "kernel", "token"},
	"retention": {"runs", "days", "data"},
	"gate":      {"require", "paths", "ignore", "removed"},
	"sandbox":   {"write", "hide"},
}

// checkKeys returns an error for an unknown key.
func checkKeys(file string, n *yaml.Node, at string, keys map[string][]string) error {
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if err := checkKeys(file, c, at, keys); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		known, open := keys[at], keys[at+".*"] != nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			next := strings.TrimPrefix(at+"."+k.Value, ".")
			if open {
				next = at + ".*"
			} else if known != nil && !slices.Contains(known, k.Value) {
				return &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: k.Line, Col: k.Column,
					Msg:  fmt.Sprintf("unknown key %q; known here: %s", k.Value, strings.Join(known, ", ")),
					Hint: notebooks.DidYouMean(k.Value, known)}
			}
			if err := checkKeys(file, v, next, keys); err != nil {
				return err
			}
		}
	}
	return nil
}
