package params

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

// Given is one value that a caller gives to a parameter.
type Given struct {
	Name  string
	Text  string           // -p, -r: the text as typed
	Value *notebooks.Value // from YAML, JSON or a program; nil: Text is read
	Raw   bool             // -r: Text is the value, a string
	// "-p", "-r", "-f params.yaml", "-y", "-b", "inject", …: the first word gives the precedence
	Source string
	File   string // for messages; "" on the command line
	Line   int    // from 1; 0: unknown
	Col    int    // from 1; 0: unknown

	// node is the source of Value. A declared type reads it again, so that 017, yes and 2024-01-02 keep their spelling
	// where a string is declared.
	node *yaml.Node
}

// Options configures Bind.
type Options struct {
	AllowUnknown bool                   // bind undeclared names too, as papermill does
	IsName       func(name string) bool // accepts further parameter names (R's my.name); may be nil
	// language of a parameters block whose assignments cannot be read, or ""
	Unread string
	// Almost says what is wrong with a fence that almost declares a parameter; nil without one. It may be nil.
	Almost func(name string) *notebooks.Error
	Getenv func(string) (string, bool) // nil: no environment
	// MissingSecrets leaves a required secret null if it is not given and its environment variable is unset or empty.
	// The secret then is a gate, not a mistake.
	MissingSecrets bool
}

// classes lists sources in papermill's order of precedence: later ones win, whatever their order on the command line. A
// source that is not listed counts as -p.
var classes = []string{"inject", "-b", "-f", "-y", "-p", "-r"}

func class(g Given) int {
	word, _, _ := strings.Cut(g.Source, " ")
	if i := slices.Index(classes, word); i >= 0 {
		return i
	}
	return slices.Index(classes, "-p")
}

// ParseGiven reads one mapping of names to values from YAML or JSON. An empty text, or one with only comments, has no
// values. source names the origin ("-y", "-f params.yaml"); file is for positions in messages. The error is an *Error.
func ParseGiven(source, file string, data []byte) ([]Given, error) {
	r := &yamlReader{file: file}
	if file == "" {
		r.file = source
	}
	root, err := r.load(data)
	if err != nil {
		return nil, err
	}
	if root == nil || isNull(root) {
		return nil, nil
	}
	root = target(root)
	if root.Kind != yaml.MappingNode {
		e := r.errorf(root, "a mapping of parameter names to values is expected")
		e.Hint = "write name: value"
		return nil, e
	}
	pairs, err := r.pairs(root, r.nameOf)
	if err != nil {
		return nil, err
	}
	var given []Given
	for _, p := range pairs {
		v, err := r.value(p.value)
		if err != nil {
			return nil, err
		}
		given = append(given, Given{Name: target(p.key).Value, Value: &v, Source: source,
			File: r.file, Line: p.key.Line, Col: p.key.Column, node: p.value})
	}
	return given, nil
}

// nameOf returns a key as a parameter name, as spelled.
func (r *yamlReader) nameOf(key *yaml.Node) (string, *notebooks.Error) {
	if key = target(key); key.Kind != yaml.ScalarNode {
		return "", r.errorf(key, "a parameter's name is expected here, not a collection")
	}
	return key.Value, nil
}

// Bind binds every parameter: to the given value of the highest precedence (inject < -b < -f < -y < -p < -r; among
// equals the last wins), else to its environment variable unless that is empty, else to its default. name is the
// notebook's, for messages. The result lists declared parameters in order, then allowed undeclared names in order of
// their first source, lowest precedence first. Values of source "inject" need no declaration.
//
// A parameter of a code block whose default only its interpreter knows, and that is not given, is bound to a value of
// TypeAny with Given false: a session must not set it.
//
// The error is an ErrorList of every mistake. It never shows a secret.
func Bind(name string, params []notebooks.Param, given []Given, o Options) ([]notebooks.Bound, error) {
	b := &binder{name: name, params: params, options: o, declared: make(map[string]bool)}
	for _, p := range params {
		b.declared[p.Name] = true
	}
	winners, order := b.winners(given)

	var bound []notebooks.Bound
	done := make(map[string]bool)
	for _, p := range params {
		// What a YAML block declares is declared better than by an assignment.
		inBlock := func(q notebooks.Param) bool { return q.Name == p.Name && !q.Code }
		if done[p.Name] || p.Code && slices.ContainsFunc(params, inBlock) {
			continue
		}
		done[p.Name] = true
		if one, ok := b.bind(p, winners[p.Name]); ok {
			bound = append(bound, one)
		}
	}
	for _, n := range order {
		if done[n] {
			continue
		}
		if one, ok := b.bind(notebooks.Param{Name: n, Type: notebooks.TypeAny}, winners[n]); ok {
			bound = append(bound, one)
		}
	}
	if len(b.errors) > 0 {
		return nil, b.errors
	}
	return bound, nil
}

type binder struct {
	name     string
	params   []notebooks.Param
	options  Options
	declared map[string]bool
	errors   notebooks.ErrorList
}

// winners returns the value of the highest precedence for each name, and the names in order. It records an error for
// each undeclared name.
func (b *binder) winners(given []Given) (map[string]*Given, []string) {
	sorted := slices.Clone(given)
	slices.SortStableFunc(sorted, func(x, y Given) int { return class(x) - class(y) })
	winners := make(map[string]*Given)
	var order []string
	for i, g := range sorted {
		if _, seen := winners[g.Name]; !seen {
			if e := b.refuse(g); e != nil {
				b.errors = append(b.errors, e)
				winners[g.Name] = nil
				continue
			}
			order = append(order, g.Name)
		} else if winners[g.Name] == nil {
			continue
		}
		winners[g.Name] = &sorted[i]
	}
	return winners, order
}

// refuse returns the reason why a name cannot be given, or nil.
func (b *binder) refuse(g Given) *notebooks.Error {
	if b.declared[g.Name] {
		return nil
	}
	e := badName(g.Name)
	if e == nil || b.options.IsName != nil && b.options.IsName(g.Name) {
		if b.options.AllowUnknown || class(g) == 0 {
			return nil
		}
		e = b.unknown(g.Name)
	}
	e.File, e.Line, e.Col = g.File, g.Line, g.Col
	return e
}

func (b *binder) unknown(name string) *notebooks.Error {
	e := &notebooks.Error{Kind: notebooks.KindParameter, Msg: fmt.Sprintf("%s has no parameter %q", b.notebook(), name)}
	var names []string
	for _, p := range b.params {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	var almost *notebooks.Error
	if b.options.Almost != nil {
		almost = b.options.Almost(name)
	}
	switch near := notebooks.Suggest(name, names); {
	case len(names) == 0 && b.options.Unread != "":
		e.Hint = fmt.Sprintf("its cell of parameters is in %s, whose assignments are not read: "+
			"--allow-unknown-parameters takes any name", b.options.Unread)
	case len(names) == 0 && almost != nil:
		e.Hint = "it declares none: " + almost.Error()
	case len(names) == 0:
		e.Hint = "it declares none"
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %s? there is: %s", near, strings.Join(names, ", "))
	default:
		e.Hint = "there is: " + strings.Join(names, ", ")
	}
	return e
}

func (b *binder) notebook() string {
	if b.name == "" {
		return "the notebook"
	}
	return b.name
}

// bind binds one parameter. On a mistake it records the error and returns false.
func (b *binder) bind(p notebooks.Param, g *Given) (notebooks.Bound, bool) {
	p.Type = cmp.Or(p.Type, notebooks.TypeAny)
	if g == nil {
		g = b.environment(p)
	}
	if g != nil {
		v, err := readGiven(p, *g)
		if err == nil {
			err = checkValue(p, v)
		}
		if err != nil {
			b.fail(p, g, err)
			return notebooks.Bound{}, false
		}
		return notebooks.Bound{Param: p, Value: v, From: g.Source, Given: true}, true
	}
	switch {
	case p.HasDefault:
		return notebooks.Bound{Param: p, Value: p.Default, From: "default"}, true
	case p.Code:
		return notebooks.Bound{Param: p, Value: notebooks.Value{Type: notebooks.TypeAny}, From: "default"}, true
	case p.Required && p.Type == notebooks.TypeSecret && p.Env != "" && b.options.MissingSecrets:
		return notebooks.Bound{Param: p, Value: notebooks.Value{Type: notebooks.TypeNull}, From: "env " + p.Env}, true
	case p.Required:
		b.missing(p)
		return notebooks.Bound{}, false
	}
	return notebooks.Bound{Param: p, Value: notebooks.Value{Type: notebooks.TypeNull}, From: "default"}, true
}

// environment returns the value that the environment gives to a parameter, nil without one.
func (b *binder) environment(p notebooks.Param) *Given {
	if p.Env == "" || b.options.Getenv == nil {
		return nil
	}
	if text, ok := b.options.Getenv(p.Env); ok && text != "" {
		return &Given{Name: p.Name, Text: text, Source: "env " + p.Env}
	}
	return nil
}

// fail records a mistake in a value: its position, its source, and the declaration.
func (b *binder) fail(p notebooks.Param, g *Given, e *notebooks.Error) {
	e.Kind = notebooks.KindParameter
	if e.Line == 0 {
		e.File, e.Line, e.Col = g.File, g.Line, g.Col
	}
	e.Msg = fmt.Sprintf("parameter %q, given by %s: %s", p.Name, g.Source,
		strings.TrimPrefix(e.Msg, fmt.Sprintf("parameter %q: ", p.Name)))
	if p.Line > 0 && e.Hint == "" {
		e.Hint = fmt.Sprintf("it is declared as %s in %s:%d", p.Type, b.notebook(), p.Line)
	}
	b.errors = append(b.errors, e)
}

func (b *binder) missing(p notebooks.Param) {
	e := &notebooks.Error{Kind: notebooks.KindParameter, File: b.name, Line: p.Line, Col: p.Col,
		Msg:  fmt.Sprintf("parameter %q (%s) is required and nothing gives it a value", p.Name, p.Type),
		Hint: fmt.Sprintf("give it with -p %s=…", p.Name)}
	if p.Env != "" {
		e.Hint = fmt.Sprintf("set the environment variable %s, or give it with -p %s=…", p.Env, p.Name)
	}
	b.errors = append(b.errors, e)
}

// readGiven converts a given value to the parameter's type.
func readGiven(p notebooks.Param, g Given) (notebooks.Value, *notebooks.Error) {
	switch {
	case g.Value == nil && g.Raw:
		return readRaw(p, g.Text)
	case g.Value == nil:
		return readTyped(p, g.Text)
	case isSoft(p), g.Value.Type == notebooks.TypeNull && isNullable(p):
		return *g.Value, nil
	case g.node != nil:
		r := &yamlReader{file: g.File}
		return r.typed(g.node, p.Type)
	case g.Value.Type == notebooks.TypeInt && p.Type == notebooks.TypeFloat, g.Value.Type == notebooks.TypeString &&
		isOneOf(p.Type, notebooks.TypePath, notebooks.TypeDate, notebooks.TypeDuration, notebooks.TypeSecret):
		return readTyped(p, g.Value.Text)
	}
	return *g.Value, nil
}

// readTyped reads the text of -p as the declared type. "null" means null only where no string is possible; None does so
// in a code block, too, where the string may be null.
func readTyped(p notebooks.Param, text string) (notebooks.Value, *notebooks.Error) {
	if !utf8.ValidString(text) {
		return notebooks.Value{}, errorOf(p, "the text is not UTF-8")
	}
	if p.Code && text == "None" && isNullable(p) {
		return notebooks.Value{Type: notebooks.TypeNull}, nil
	}
	v, err := readText(p.Type, text)
	if err == nil {
		return v, nil
	}
	if isSoft(p) {
		return inferText(text), nil
	}
	if isNullable(p) && isOneOf(text, "null", "None", "~") {
		return notebooks.Value{Type: notebooks.TypeNull}, nil
	}
	return notebooks.Value{}, errorOf(p, "%v", err)
}

// readRaw reads the text of -r: the text itself, where a string is allowed.
func readRaw(p notebooks.Param, text string) (notebooks.Value, *notebooks.Error) {
	switch {
	case !utf8.ValidString(text):
		return notebooks.Value{}, errorOf(p, "the text is not UTF-8")
	case isOneOf(p.Type, notebooks.TypeString, notebooks.TypePath, notebooks.TypeSecret):
		return readTyped(p, text)
	case p.Type == notebooks.TypeAny, isSoft(p):
		return notebooks.Value{Type: notebooks.TypeString, Text: text}, nil
	}
	e := errorOf(p, "-r gives a string, not %s", article(p.Type))
	e.Hint = fmt.Sprintf("use -p, which is read as %s", article(p.Type))
	return notebooks.Value{}, e
}
