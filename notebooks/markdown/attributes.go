package markdown

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/expr"
)

// attribute sets one of a step's options from its text. Its error says what was expected.
type attribute func(s *notebooks.Step, a attr) error

// attributes are Markmill's own, in every form. env also has the spelling env.NAME=value.
var attributes = map[string]attribute{
	"name":    setName,
	"timeout": func(s *notebooks.Step, a attr) (err error) { s.Timeout, err = parseTimeout(a.val); return err },
	"cwd":     func(s *notebooks.Step, a attr) (err error) { s.Cwd, err = parseDir(a.val); return err },
	"kernel": func(s *notebooks.Step, a attr) error {
		s.Kernel = a.val
		return wantWord(a.val, "the name of a session, such as kernel=db")
	},
	"needs": func(s *notebooks.Step, a attr) error {
		for _, id := range a.words() {
			s.Needs = append(s.Needs, notebooks.StepID(strings.TrimPrefix(id, "#")))
		}
		if len(s.Needs) == 0 {
			return errors.New("expected the ids of steps, such as needs=build or needs=\"build test\"")
		}
		return nil
	},
	"if":          setIf,
	"expect-exit": setExpectExit,
	"retries": func(s *notebooks.Step, a attr) error {
		n, err := strconv.Atoi(a.val)
		if err != nil || n < 0 || n > maxRetries {
			return fmt.Errorf("expected a number from 0 to %d, such as retries=2", maxRetries)
		}
		s.Retries = n
		return nil
	},
	"backend": func(s *notebooks.Step, a attr) error {
		s.Backend = a.val
		if s.Lang != "agent" {
			return errors.New("only a step of the language agent has a backend")
		}
		return wantWord(a.val, "the name of an agent's backend, such as backend=codex")
	},
	"attempts": func(s *notebooks.Step, a attr) error {
		n, err := strconv.Atoi(a.val)
		if err != nil || n < 1 || n > notebooks.MaxAttempts {
			return fmt.Errorf("expected a number from 1 to %d, such as attempts=3", notebooks.MaxAttempts)
		}
		if s.Lang != "agent" {
			return errors.New("only a step of the language agent has attempts; retries= tries another step again")
		}
		s.Attempts = n
		return nil
	},
	"normalize": func(s *notebooks.Step, a attr) error {
		s.Normalize = append(s.Normalize, a.words()...)
		return wantWord(strings.Join(s.Normalize, ""), "the names of rules, such as normalize=durations,paths")
	},
	"env":    setEnv,
	"output": func(s *notebooks.Step, a attr) (err error) { s.Output, err = outputWord(a.val); return err },
	"tags": func(s *notebooks.Step, a attr) error {
		for _, t := range a.words() {
			addTag(s, t)
		}
		return nil
	},
}

const maxRetries = 100

// outputWord reads how much of a step's output is shown in the output notebook.
func outputWord(text string) (string, error) {
	switch text {
	case notebooks.OutputOpen, notebooks.OutputFolded, notebooks.OutputHidden:
		return text, nil
	}
	return "", fmt.Errorf("expected %s, %s or %s, got %s", notebooks.OutputOpen, notebooks.OutputFolded,
		notebooks.OutputHidden, quote(text))
}

// attributeNames are suggested, and listed, for an unknown attribute.
var attributeNames = slices.Sorted(maps.Keys(attributes))

// setName takes an id from name= (Runme, Jupytext) or label: (Quarto). A name of another tool may hold what an id may
// not: those characters become "-".
func setName(s *notebooks.Step, a attr) error {
	if s.Explicit && string(s.ID) != a.val {
		return fmt.Errorf("the step already has the id %q", s.ID)
	}
	id := notebooks.StepID(notebooks.Slug(a.val))
	if id == "" {
		return errors.New("expected a name, such as name=build")
	}
	s.ID, s.Explicit = id, true
	return nil
}

func setIf(s *notebooks.Step, a attr) error {
	s.If = a.val
	if strings.TrimSpace(a.val) == "" {
		return errors.New("expected an expression, such as if=\"params.threshold > 1\"")
	}
	if _, err := expr.Parse(a.val); err != nil {
		if at, ok := errors.AsType[*expr.Error](err); ok && at.Col > 0 {
			return fmt.Errorf("the expression is wrong at its column %d: %s", at.Col, at.Msg)
		}
		return fmt.Errorf("the expression is wrong: %w", err)
	}
	return nil
}

func setExpectExit(s *notebooks.Step, a attr) error {
	n, err := strconv.Atoi(a.val)
	if err != nil || n < 0 || n > 255 {
		return errors.New("expected an exit code from 0 to 255, such as expect-exit=1")
	}
	s.ExpectExit = &n
	return nil
}

// setEnv reads env="A=1 B='two words'", or a mapping of a YAML form.
func setEnv(s *notebooks.Step, a attr) error {
	pairs := a.list
	if pairs == nil {
		t := tokens{text: a.val}
		for t.skip(" \t"); !t.done(); t.skip(" \t") {
			name := t.until(" \t=")
			if t.done() || t.peek() != '=' {
				return fmt.Errorf("expected NAME=value, got %s, as in env=\"A=1 B='two words'\"", quote(name))
			}
			t.pos++
			value, ok := t.value(" \t")
			if !ok {
				return fmt.Errorf("the quote of %s is never closed", name)
			}
			pairs = append(pairs, name+"="+value)
		}
	}
	if len(pairs) == 0 {
		return errors.New("expected NAME=value, as in env=\"A=1 B='two words'\"")
	}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if err := setVariable(s, name, value); err != nil {
			return err
		}
	}
	return nil
}

func setVariable(s *notebooks.Step, name, value string) error {
	if !isVariable(name) {
		return fmt.Errorf("%s is not the name of an environment variable: letters, digits and _", quote(name))
	}
	if _, ok := s.Env[name]; ok {
		return fmt.Errorf("the variable %s is set twice", name)
	}
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[name] = value
	return nil
}

// addTag adds what a typed tag means, once.
func addTag(s *notebooks.Step, typed string) {
	for _, tag := range TagsOf(strings.TrimSpace(typed)) {
		if tag != "" && !s.Has(tag) {
			s.Tags = append(s.Tags, tag)
		}
	}
}

// parseTimeout reads 30s, 2m, 1h30m, or a bare number of seconds, as papermill's options have it.
func parseTimeout(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if seconds, bare := strconv.ParseFloat(text, 64); bare == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
		if seconds > float64(1<<62)/float64(time.Second) {
			err = errors.New("too long")
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("expected a time such as 30s, 2m, 1h30m, or seconds, got %s", quote(text))
	}
	return d, nil
}

// parseDir reads a directory that is inside of the worktree.
func parseDir(text string) (string, error) {
	if text == "" || strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\\:\x00") {
		return "", fmt.Errorf("expected a folder of the worktree, with slashes, such as "+
			"cwd=src/app, got %s", quote(text))
	}
	dir := path.Clean(text)
	if dir == ".." || strings.HasPrefix(dir, "../") {
		return "", fmt.Errorf("%s leaves the worktree", quote(text))
	}
	return dir, nil
}

func wantWord(text, what string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("expected " + what)
	}
	return nil
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// ownTag translates what papermill, nbclient, nbval, Jupyter Book and nbconvert call a tag into Markmill's name for it.
// remove-cell has two: TagsOf gives both.
func ownTag(tag string) string {
	if own, ok := tagNames[tag]; ok {
		return own
	}
	return tag
}

var tagNames = map[string]string{
	"skip-execution":                notebooks.TagSkip, // nbclient, MyST-NB
	"skip_execution":                notebooks.TagSkip,
	"nbval-skip":                    notebooks.TagSkip,
	"nbval-raises-exception":        notebooks.TagRaises,
	"raises_exception":              notebooks.TagRaises,
	"nbval-ignore-output":           notebooks.TagVolatile,
	"nbval-check-output":            notebooks.TagCheck,
	"pytest-validate-ignore-output": notebooks.TagVolatile, // nbval, long ago
	"check_output":                  notebooks.TagCheck,
	"remove-input":                  notebooks.TagHideInput, // Jupyter Book
	"remove_input":                  notebooks.TagHideInput, // nbconvert
	"hide_input":                    notebooks.TagHideInput,
	"report_hide_input":             notebooks.TagHideInput,
	"remove-output":                 notebooks.TagHideOutput,
	"remove_output":                 notebooks.TagHideOutput,
	"hide_output":                   notebooks.TagHideOutput,
	"remove_all_output":             notebooks.TagHideOutput,
	"allow_failure":                 notebooks.TagAllowFailure,
	"interrupt_on_timeout":          notebooks.TagInterrupt,
	"injected_parameters":           notebooks.TagInjected,
	"no_change":                     notebooks.TagNoChange,
}

// TagsOf returns what a tag stands for, as some tool typed it.
func TagsOf(tag string) []string {
	switch tag {
	case "remove-cell", "remove_cell", "hide-cell", "hide_cell":
		return []string{notebooks.TagHideInput, notebooks.TagHideOutput}
	}
	return []string{ownTag(tag)}
}

var ownTags = []string{
	notebooks.TagParameters, notebooks.TagInjected, notebooks.TagTest, notebooks.TagReview, notebooks.TagSetup,
	notebooks.TagFinally, notebooks.TagSkip, notebooks.TagRaises, notebooks.TagAllowFailure,
	notebooks.TagInterrupt, notebooks.TagNoChange, notebooks.TagVolatile, notebooks.TagCheck, notebooks.TagHealth,
	notebooks.TagHideInput,
	notebooks.TagHideOutput, "step",
}

// presentation reports whether a class only controls how a fence is displayed, or marks a block of an output notebook.
// Such a class does not make a step.
func presentation(class, lang string) bool {
	_, ok := presentationClasses[class]
	return ok || class == lang
}

var presentationClasses = setOf(
	"annotate", "code-with-copy", "copy", "highlight", "line-numbers", "linenos", "linenums", "lineNumbers", "no-copy",
	"no-line-numbers", "no-select", "number-lines", "numberLines", "select", "sourceCode", "wrap",
	"diff", "error", "manifest", "output", "scraps", "tests",
)

func setOf(words ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}
