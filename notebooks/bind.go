package notebooks

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Given is one value that a caller gives to a parameter.
type Given struct {
	Name   string
	Text   string // -p, -r: the text as typed
	Value  *Value // from YAML, JSON or a program; nil: Text is read
	Raw    bool   // -r: Text is the value, a string
	Source string // "-p", "-r", "-f params.yaml", "-y", "-b", "inject", …: its first word gives the precedence
	File   string // where it stands, for messages; "" on the command line
	Line   int    // from 1; 0: unknown
	Col    int    // from 1; 0: unknown

	// node is what Value was read from: a declared type reads it again, so that 017, yes and
	// 2024-01-02 stay what the author wrote where a string is declared.
	node *yaml.Node
}

// BindOptions say what Bind may do besides.
type BindOptions struct {
	AllowUnknown bool                        // undeclared names are bound too, as papermill does
	IsName       func(name string) bool      // further names that can be parameters (R's my.name); nil: none
	Unread       string                      // language of a block of parameters whose assignments are not read; "" is none
	Getenv       func(string) (string, bool) // nil: no environment
	// MissingSecrets leaves a required secret null whose environment variable is not set, or empty, and which nobody
	// gives. It is a gate then, and no mistake of the request.
	MissingSecrets bool
}

// classes is the order of papermill: what comes later here wins over what comes earlier, wherever
// they stand on the command line. A source that is not here is as strong as -p.
var classes = []string{"inject", "-b", "-f", "-y", "-p", "-r"}

func class(g Given) int {
	word, _, _ := strings.Cut(g.Source, " ")
	if i := slices.Index(classes, word); i >= 0 {
		return i
	}
	return slices.Index(classes, "-p")
}

// ParseGivenYAML reads one mapping of names to values from YAML or JSON. Nothing, or only
// comments, is no values. source names where they come from ("-y", "-f params.yaml"), file is for
// places in messages. The error is an *Error.
func ParseGivenYAML(source, file string, data []byte) ([]Given, error) {
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

// nameOf is a key as a parameter's name: its text as written.
func (r *yamlReader) nameOf(key *yaml.Node) (string, *Error) {
	if key = target(key); key.Kind != yaml.ScalarNode {
		return "", r.errorf(key, "a parameter's name is expected here, not a collection")
	}
	return key.Value, nil
}

// Bind gives every parameter its value: what was given, later and stronger sources first (inject <
// -b < -f < -y < -p < -r), else its environment variable (an empty one is as unset), else its
// default. name is the notebook's, for messages. The result is in declared order, then names that
// are not declared and allowed, in the order of their first source, weakest source first. Values
// of source "inject" need no declaration.
//
// A parameter of a code-language block whose default only its interpreter knows is bound, when
// nothing gives it, with a value of TypeAny and Given false: a session must not set it.
//
// The error is an ErrorList of every mistake. It never shows a secret.
func Bind(name string, params []Param, given []Given, o BindOptions) ([]Bound, error) {
	b := &binder{name: name, params: params, options: o, declared: make(map[string]bool)}
	for _, p := range params {
		b.declared[p.Name] = true
	}
	winners, order := b.winners(given)

	var bound []Bound
	done := make(map[string]bool)
	for i, p := range params {
		if done[p.Name] || p.Code && b.declaredBetter(p.Name, i) {
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
		if one, ok := b.bind(Param{Name: n, Type: TypeAny}, winners[n]); ok {
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
	params   []Param
	options  BindOptions
	declared map[string]bool
	errors   ErrorList
}

// declaredBetter says whether a YAML block declares what the code-language block at i assigns.
func (b *binder) declaredBetter(name string, i int) bool {
	return slices.ContainsFunc(b.params, func(p Param) bool { return p.Name == name && !p.Code })
}

// winners is the strongest value of each name, and the names in order. Names that nobody declared
// are noted as errors, once each.
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

// refuse says why a name cannot be given; nil when it can.
func (b *binder) refuse(g Given) *Error {
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

func (b *binder) unknown(name string) *Error {
	e := &Error{Kind: KindParameter, Msg: fmt.Sprintf("%s has no parameter %q", b.notebook(), name)}
	var names []string
	for _, p := range b.params {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	switch near := Suggest(name, names); {
	case len(names) == 0 && b.options.Unread != "":
		e.Hint = fmt.Sprintf("its cell of parameters is in %s, whose assignments are not read: --allow-unknown-parameters takes any name", b.options.Unread)
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

// bind gives one parameter its value. It notes a mistake and returns false.
func (b *binder) bind(p Param, g *Given) (Bound, bool) {
	if p.Type == "" {
		p.Type = TypeAny
	}
	if g != nil {
		v, err := p.read(*g)
		if err == nil {
			err = p.check(v)
		}
		if err != nil {
			b.fail(p, g.Source, err, g.File, g.Line, g.Col)
			return Bound{}, false
		}
		return Bound{Param: p, Value: v, From: g.Source, Given: true}, true
	}
	if text, ok := b.environment(p); ok {
		from := "env " + p.Env
		v, err := p.readText(text)
		if err == nil {
			err = p.check(v)
		}
		if err != nil {
			b.fail(p, from, err, "", 0, 0)
			return Bound{}, false
		}
		return Bound{Param: p, Value: v, From: from, Given: true}, true
	}
	switch {
	case p.HasDefault:
		return Bound{Param: p, Value: p.Default, From: "default"}, true
	case p.Code:
		return Bound{Param: p, Value: Value{Type: TypeAny}, From: "default"}, true
	case p.Required && p.Type == TypeSecret && p.Env != "" && b.options.MissingSecrets:
		return Bound{Param: p, Value: Value{Type: TypeNull}, From: "env " + p.Env}, true
	case p.Required:
		b.missing(p)
		return Bound{}, false
	}
	return Bound{Param: p, Value: Value{Type: TypeNull}, From: "default"}, true
}

func (b *binder) environment(p Param) (string, bool) {
	if p.Env == "" || b.options.Getenv == nil {
		return "", false
	}
	text, ok := b.options.Getenv(p.Env)
	return text, ok && text != ""
}

// fail notes a mistake in a value: where it stands, who gave it, and what was declared where.
func (b *binder) fail(p Param, source string, e *Error, file string, line, col int) {
	e.Kind = KindParameter
	if e.Line == 0 {
		e.File, e.Line, e.Col = file, line, col
	}
	e.Msg = fmt.Sprintf("parameter %q, given by %s: %s", p.Name, source, strings.TrimPrefix(e.Msg,
		fmt.Sprintf("parameter %q: ", p.Name)))
	if p.Line > 0 && e.Hint == "" {
		e.Hint = fmt.Sprintf("it is declared as %s in %s:%d", p.Type, b.notebook(), p.Line)
	}
	b.errors = append(b.errors, e)
}

func (b *binder) missing(p Param) {
	e := &Error{Kind: KindParameter, File: b.name, Line: p.Line, Col: p.Col,
		Msg:  fmt.Sprintf("parameter %q (%s) is required and nothing gives it a value", p.Name, p.Type),
		Hint: fmt.Sprintf("give it with -p %s=…", p.Name)}
	if p.Env != "" {
		e.Hint = fmt.Sprintf("set the environment variable %s, or give it with -p %s=…", p.Env, p.Name)
	}
	b.errors = append(b.errors, e)
}

// read is the value that was given, as the parameter's type.
func (p Param) read(g Given) (Value, *Error) {
	switch {
	case g.Value == nil && g.Raw:
		return p.readRaw(g.Text)
	case g.Value == nil:
		return p.readText(g.Text)
	case p.soft(), g.Value.Type == TypeNull && p.nullable():
		return *g.Value, nil
	case g.node != nil:
		r := &yamlReader{file: g.File}
		return r.typed(g.node, p.Type)
	case g.Value.Type == TypeInt && p.Type == TypeFloat, g.Value.Type == TypeString &&
		isOneOf(p.Type, TypePath, TypeDate, TypeDuration, TypeSecret):
		return p.readText(g.Value.Text)
	}
	return *g.Value, nil
}

// readText reads what was typed after -p by the declared type. Null has a text only where no
// string could be meant.
func (p Param) readText(text string) (Value, *Error) {
	if !utf8.ValidString(text) {
		return Value{}, p.errorf("the text is not UTF-8")
	}
	v, err := readText(p.Type, text)
	if err == nil {
		return v, nil
	}
	if p.soft() {
		return inferText(text), nil
	}
	if p.nullable() && isOneOf(text, "null", "None", "~") {
		return Value{Type: TypeNull}, nil
	}
	return Value{}, p.errorf("%v", err)
}

// readRaw is -r: the text itself, where a string can be.
func (p Param) readRaw(text string) (Value, *Error) {
	switch {
	case !utf8.ValidString(text):
		return Value{}, p.errorf("the text is not UTF-8")
	case isOneOf(p.Type, TypeString, TypePath, TypeSecret):
		return p.readText(text)
	case p.Type == TypeAny, p.soft():
		return Value{Type: TypeString, Text: text}, nil
	}
	e := p.errorf("-r gives a string, not %s", article(p.Type))
	e.Hint = fmt.Sprintf("use -p, which is read as %s", article(p.Type))
	return Value{}, e
}
