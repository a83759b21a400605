package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

// frontKeys reads Markmill's keys of the front matter. An error says what was expected. params is read apart.
var frontKeys = map[string]func(f *notebooks.Front, n *yaml.Node) error{
	"title":       func(f *notebooks.Front, n *yaml.Node) error { return setText(n, &f.Title) },
	"description": func(f *notebooks.Front, n *yaml.Node) error { return setText(n, &f.Description) },
	"kernel":      func(f *notebooks.Front, n *yaml.Node) error { return setText(n, &f.Kernel) },
	"timeout": func(f *notebooks.Front, n *yaml.Node) (err error) {
		f.Timeout, err = parseTimeout(scalar(n))
		return err
	},
	"run-timeout": func(f *notebooks.Front, n *yaml.Node) (err error) {
		f.RunTimeout, err = parseTimeout(scalar(n))
		return err
	},
	"env":    func(f *notebooks.Front, n *yaml.Node) error { return variables(n, &f.Env) },
	"copy":   func(f *notebooks.Front, n *yaml.Node) error { return setTexts(n, &f.Copy) },
	"deps":   func(f *notebooks.Front, n *yaml.Node) error { return folders(n, &f.Deps) },
	"data":   data,
	"tree":   func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Tree, "mounted", "separate") },
	"strict": func(f *notebooks.Front, n *yaml.Node) error { return boolean(n, &f.Strict) },
	"sandbox": func(f *notebooks.Front, n *yaml.Node) error {
		return oneOf(n, &f.Sandbox, "on", "off", "strict", "required")
	},
	"network":   func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Network, "on", "off") },
	"processes": func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Processes, "run", "step") },
	"resources": resources,
	"secrets":   func(f *notebooks.Front, n *yaml.Node) error { return setTexts(n, &f.Secrets) },
	"allow":     func(f *notebooks.Front, n *yaml.Node) error { return patterns(n, &f.Allow) },
	"forbid":    func(f *notebooks.Front, n *yaml.Node) error { return patterns(n, &f.Forbid) },
	"protect":   func(f *notebooks.Front, n *yaml.Node) error { return patterns(n, &f.Protect) },
	"artifacts": func(f *notebooks.Front, n *yaml.Node) error { return patterns(n, &f.Artifacts) },
	"protect-mode": func(f *notebooks.Front, n *yaml.Node) error {
		return oneOf(n, &f.ProtectMode, "enforce", "report")
	},
	"limits":  limits,
	"require": require,
	"mode": func(f *notebooks.Front, n *yaml.Node) error {
		return oneOf(n, &f.Mode, "worktree", "in-place", "none")
	},
	"risk": func(f *notebooks.Front, n *yaml.Node) error { return setText(n, &f.Risk) },
	"approval": func(f *notebooks.Front,
		n *yaml.Node) error {
		return oneOf(n, &f.Approval, "required", "none")
	},
	"normalize":            normalizeRules,
	"allow_errors":         func(f *notebooks.Front, n *yaml.Node) error { return isOn(n, &f.AllowErrors) },
	"interrupt_on_timeout": func(f *notebooks.Front, n *yaml.Node) error { return isOn(n, &f.InterruptOnTimeout) },
	"schedule":             readSchedule,
	"alerts":               alerts,
	"objectives":           objectives,
	"max-output": func(f *notebooks.Front, n *yaml.Node) (err error) {
		f.MaxOutput, err = size(scalar(n))
		return err
	},
	"singleton":  singleton,
	"proof":      func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Proof, notebooks.ProofStages...) },
	"durability": func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Durability, "run", "step") },
	"steps": func(_ *notebooks.Front, n *yaml.Node) error { // read with the header, before the fences
		return oneOf(n, new(string), "named", allSteps)
	},
	"reads":  func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Reads, "on", "off") },
	"inputs": declaredInputs,
	"reuse":  func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Reuse, "on", "off", "tests") },
	"pick":   func(f *notebooks.Front, n *yaml.Node) error { return oneOf(n, &f.Pick, notebooks.Picks...) },
	"headline": func(f *notebooks.Front, n *yaml.Node) error {
		if err := setTexts(n, &f.Headline); err != nil {
			return err
		}
		if n := len(f.Headline); n > MaxHeadline {
			return fmt.Errorf("expected at most %d names of scraps, got %d", MaxHeadline, n)
		}
		return nil
	},
	"forbidden_actions": func(f *notebooks.Front, n *yaml.Node) error { return setTexts(n, &f.ForbiddenActions) },
}

// ReadKey reads one key as the front matter has it, for a policy has some of the same keys. The
// value must not be an alias. A key that is not known is an error.
func ReadKey(f *notebooks.Front, key string, value *yaml.Node) error {
	read, known := frontKeys[key]
	if !known {
		return fmt.Errorf("unknown key %s", quote(key))
	}
	return read(f, value)
}

// Vacuous returns an error for a value that restricts nothing where a restriction is expected: an empty list or
// mapping, or a limit of 0. No run begins with one, in a notebook or in a policy; a reader of an older record takes it.
func Vacuous(key string, value *yaml.Node) error {
	const none = "; leave it out, or write mode: none where nothing may change"
	switch key {
	case "allow", "forbid", "protect", "require", "forbidden_actions":
		if value.Kind == yaml.SequenceNode && len(value.Content) == 0 {
			return errors.New("an empty list says nothing" + none)
		}
	case "resources":
		if value.Kind == yaml.MappingNode && len(value.Content) == 0 {
			return errors.New("no resource is named; leave it out")
		}
	case "limits":
		if len(value.Content) == 0 {
			return errors.New("no limit is named" + none)
		}
		var f notebooks.Front
		for name, limit := range pairsOf(value) {
			pair := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{name, limit}}
			if f = (notebooks.Front{}); limits(&f, pair) == nil && f.Limits == (notebooks.Limits{}) {
				return fmt.Errorf("%s: 0 is no limit%s", name.Value, none)
			}
		}
	}
	return nil
}

// frontNames are suggested, and listed, for an unknown key.
var frontNames = append(slices.Sorted(maps.Keys(frontKeys)), "params", "output")

func isOn(n *yaml.Node, to *bool) error {
	var on *bool
	err := boolean(n, &on)
	*to = err == nil && *on
	return err
}

// allSteps is the value of steps: with which every fence of a language is a step, as with Runme's --all.
const allSteps = "all"

// MaxHeadline is how many scraps a verdict shows.
const MaxHeadline = 8

// ownOutput reports whether the key output: is Markmill's: R Markdown and Quarto have one, too.
func ownOutput(value *yaml.Node) bool {
	_, err := outputWord(scalar(value))
	return err == nil
}

func setText(n *yaml.Node, to *string) error {
	if n.Kind != yaml.ScalarNode {
		return errors.New("expected text")
	}
	*to = n.Value
	return nil
}

// setTexts reads a list; a single text is a list of one.
func setTexts(n *yaml.Node, to *[]string) error {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		*to = []string{n.Value}
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return errors.New("expected a list, such as [a, b]")
	}
	list := []string{}
	for _, item := range n.Content {
		item = resolve(item)
		if item.Kind != yaml.ScalarNode {
			return errors.New("expected a list of texts, such as [a, b]")
		}
		list = append(list, item.Value)
	}
	*to = list
	return nil
}

// folders reads paths of folders in the worktree, without patterns.
func folders(n *yaml.Node, to *[]string) error {
	if err := setTexts(n, to); err != nil {
		return err
	}
	for _, name := range *to {
		first, _, _ := strings.Cut(name, "/")
		if name = strings.TrimSuffix(name, "/"); name != path.Clean(name) || strings.HasPrefix(name, "/") ||
			slices.Contains([]string{".", "..", ".git"}, first) || strings.ContainsAny(name, "*?[\\") {
			return fmt.Errorf("%s is not a folder in the worktree; write it relative to the root, as target",
				quote(name))
		}
	}
	return nil
}

// data reads patterns of ignored files, or a mapping of paths: and keep:.
func data(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return patterns(n, &f.Data)
	}
	return members(n, map[string]func(value *yaml.Node) error{
		"paths": func(value *yaml.Node) error { return patterns(value, &f.Data) },
		"keep":  func(value *yaml.Node) error { return oneOf(value, &f.DataKeep, "passed", "always") },
	})
}

// members reads a mapping whose keys are known.
func members(n *yaml.Node, read map[string]func(value *yaml.Node) error) error {
	for key, value := range pairsOf(n) {
		if read[key.Value] == nil {
			return unknownWord("key", key.Value, slices.Sorted(maps.Keys(read))...)
		}
		if err := read[key.Value](value); err != nil {
			return err
		}
	}
	return nil
}

// patterns reads paths of the worktree with * and **. An empty one would mean nothing, or all.
func patterns(n *yaml.Node, to *[]string) error {
	if err := setTexts(n, to); err != nil {
		return err
	}
	for _, p := range *to {
		if strings.TrimSpace(p) == "" {
			return errors.New("a pattern is empty; expected a path such as src/**")
		}
	}
	return nil
}

func boolean(n *yaml.Node, to **bool) error {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		return errors.New("expected true or false")
	}
	*to = &b
	return nil
}

// unknownWord is the error for a word that is none of the known ones.
func unknownWord(what, word string, known ...string) error {
	return fmt.Errorf("unknown %s %s; %s", what, quote(word),
		cmp.Or(notebooks.DidYouMean(word, known), "known are "+strings.Join(known, ", ")))
}

// oneOf reads one of some words. YAML reads on and off as truth values: they are words here, and so are true and false.
func oneOf(n *yaml.Node, to *string, words ...string) error {
	v := scalar(n)
	for _, w := range words {
		if v == w || w == "on" && v == "true" || w == "off" && v == "false" {
			*to = w
			return nil
		}
	}
	hint := notebooks.DidYouMean(v, words)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Errorf("expected %s, got %s%s", strings.Join(words, ", "), quote(v), hint)
}

func variables(n *yaml.Node, to *map[string]string) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected names and values, such as {LANG: C}")
	}
	env := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, resolve(n.Content[i+1])
		if !isVariable(name) {
			return fmt.Errorf("%s is not the name of an environment variable: letters, digits and _", quote(name))
		}
		if _, ok := env[name]; ok {
			return fmt.Errorf("the variable %s is set twice", name)
		}
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("the value of %s is not a text", name)
		}
		env[name] = value.Value
		if value.Tag == "!!null" {
			env[name] = ""
		}
	}
	*to = env
	return nil
}

func limits(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected {files: 10, lines: 500, bytes: 1MB}")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, scalar(resolve(n.Content[i+1]))
		count, err := strconv.Atoi(strings.ReplaceAll(value, "_", ""))
		switch key {
		case "files":
			f.Limits.Files = count
		case "lines":
			f.Limits.Lines = count
		case "bytes":
			f.Limits.Bytes, err = size(value)
		default:
			return unknownWord("limit", key, "files", "lines", "bytes")
		}
		if err != nil || count < 0 {
			return fmt.Errorf("%s: expected a whole number, got %s", key, quote(value))
		}
	}
	return nil
}

func resources(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected {memory: 2GiB, processes: 256, file-size: 1GiB, open-files: 1024}")
	}
	r := &f.Resources
	sizes := map[string]*int64{"memory": &r.Memory, "file-size": &r.FileSize}
	counts := map[string]*int64{"processes": &r.Processes, "open-files": &r.OpenFiles}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, scalar(resolve(n.Content[i+1]))
		to, err := cmp.Or(sizes[key], counts[key]), error(nil)
		switch {
		case to == nil:
			return unknownWord("resource", key, "memory", "processes", "file-size", "open-files")
		case sizes[key] != nil:
			*to, err = size(value)
		default:
			*to, err = strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 32)
		}
		if err != nil || *to < 1 {
			return fmt.Errorf("%s: expected a limit above 0, got %s", key, quote(value))
		}
	}
	return nil
}

func require(f *notebooks.Front, n *yaml.Node) error {
	if err := setTexts(n, &f.Require); err != nil {
		return err
	}
	known := []string{"diff", "tests", "clean", "approval"}
	for _, word := range f.Require {
		if !slices.Contains(known, word) {
			return unknownWord("requirement", word, known...)
		}
	}
	return nil
}

// normalizeRules reads names of built-in rules, and rules of the author's: {name: ids, pattern: "id=\\d+", replace:
// "id=N"}.
func normalizeRules(f *notebooks.Front, n *yaml.Node) error {
	want := errors.New(`expected rules, such as [durations, {name: ids, pattern: 'id=\d+', replace: id=N}]`)
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for _, item := range items {
		item = resolve(item)
		var rule notebooks.Normalize
		switch item.Kind {
		case yaml.ScalarNode:
			rule.Name = item.Value
		case yaml.MappingNode:
			text := func(to *string) func(*yaml.Node) error {
				return func(value *yaml.Node) error { return setText(value, to) }
			}
			if err := members(item, map[string]func(*yaml.Node) error{"name": text(&rule.Name),
				"pattern": text(&rule.Pattern), "replace": text(&rule.Replace)}); err != nil {
				return err
			}
			if rule.Pattern == "" {
				return want
			}
			if _, err := regexp.Compile(rule.Pattern); err != nil {
				return fmt.Errorf("the pattern is not a regular expression of RE2: %w", err)
			}
		}
		if rule.Name == "" {
			return want
		}
		f.Normalize = append(f.Normalize, rule)
	}
	return nil
}

// size reads bytes: 4096, 16KiB, 1MB.
func size(value string) (int64, error) {
	number := strings.TrimRight(value, "BKMGTikmgtb ")
	unit := strings.TrimSpace(value[len(number):])
	factor, ok := map[string]float64{
		"": 1, "B": 1, "K": 1 << 10, "KiB": 1 << 10, "KB": 1e3, "kB": 1e3, "M": 1 << 20, "MiB": 1 << 20, "MB": 1e6,
		"G": 1 << 30, "GiB": 1 << 30, "GB": 1e9,
	}[unit]
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	if !ok || err != nil || n < 0 || n*factor >= math.MaxInt64 || math.IsNaN(n) {
		return 0, fmt.Errorf("expected a size such as 65536, 16KiB or 1MB, got %s", quote(value))
	}
	return int64(n * factor), nil
}
