package params

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

// longKeys are the keys of the long form, `name: {type: float, default: 1.0, min: 0}`.
var longKeys = []string{"type", "default", "min", "max", "enum", "help", "required", "env"}

// The types that the long form may name.
var declarable = []notebooks.Type{notebooks.TypeInt, notebooks.TypeFloat, notebooks.TypeBool, notebooks.TypeString,
	notebooks.TypeList, notebooks.TypeMap, notebooks.TypePath,
	notebooks.TypeDuration, notebooks.TypeDate, notebooks.TypeSecret, notebooks.TypeBytes, notebooks.TypeAny}

// Names of types elsewhere, for the hint.
var otherTypeNames = map[string]notebooks.Type{"str": notebooks.TypeString, "text": notebooks.TypeString,
	"integer": notebooks.TypeInt, "number": notebooks.TypeFloat,
	"double": notebooks.TypeFloat, "boolean": notebooks.TypeBool, "array": notebooks.TypeList,
	"dict": notebooks.TypeMap, "object": notebooks.TypeMap, "file": notebooks.TypePath,
	"datetime": notebooks.TypeDate, "password": notebooks.TypeSecret}

// ParseBlock reads the YAML or JSON text of a parameters block. line is its first line in the file.
func ParseBlock(file string, text []byte, line int) ([]notebooks.Param, notebooks.ErrorList) {
	r := &yamlReader{file: file, offset: line - 1, block: true}
	root, err := r.load(text)
	if err != nil {
		return nil, notebooks.ErrorList{err}
	}
	if root == nil {
		return nil, nil
	}
	return r.params(root)
}

// ParseNode does the same for a node of the front matter; lineOffset is added to its lines.
func ParseNode(file string, n *yaml.Node, lineOffset int) ([]notebooks.Param, notebooks.ErrorList) {
	r := &yamlReader{file: file, offset: lineOffset, block: true}
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil, nil
		}
		n = n.Content[0]
	}
	return r.params(n)
}

// params reads all parameters and collects all mistakes.
func (r *yamlReader) params(n *yaml.Node) ([]notebooks.Param, notebooks.ErrorList) {
	n = target(n)
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		e := r.errorf(n, "parameters are a mapping of names to defaults")
		e.Hint = "write name: default, one a line"
		return nil, notebooks.ErrorList{e}
	}
	pairs, err := r.pairs(n, r.nameOf)
	if err != nil {
		return nil, notebooks.ErrorList{err}
	}
	var params []notebooks.Param
	var errs notebooks.ErrorList
	for _, p := range pairs {
		param, err := r.param(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		params = append(params, param)
	}
	return params, errs
}

func (r *yamlReader) param(p pair) (notebooks.Param, *notebooks.Error) {
	key, value := target(p.key), target(p.value)
	param := notebooks.Param{Name: key.Value, Line: p.key.Line + r.offset, Col: p.key.Column, Help: help(p)}
	if e := badName(param.Name); e != nil {
		e.File, e.Line, e.Col = r.file, param.Line, param.Col
		return notebooks.Param{}, e
	}
	if isLongForm(value) {
		return r.longForm(param, value)
	}
	v, err := r.value(value)
	if err != nil {
		return notebooks.Param{}, err
	}
	setDefault(&param, v, value)
	param.Type = typeOfDefault(v)
	return param, nil
}

// isLongForm distinguishes a declaration from a map that is a default: a declaration has one of the keys type, default,
// required or enum; or help or env and no unknown key. A map with such keys must be written {type: map, default: {…}}.
func isLongForm(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	weak, foreign := false, false
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i].Value; key {
		case "type", "default", "required", "enum":
			return true
		case "help", "env":
			weak = true
		case "min", "max":
		default:
			foreign = true
		}
	}
	return weak && !foreign
}

func (r *yamlReader) longForm(param notebooks.Param, n *yaml.Node) (notebooks.Param, *notebooks.Error) {
	pairs, err := r.pairs(n, r.nameOf)
	if err != nil {
		return notebooks.Param{}, err
	}
	at := make(map[string]*yaml.Node)
	for _, p := range pairs {
		if key := target(p.key); !slices.Contains(longKeys, key.Value) {
			e := r.errorf(p.key, "a parameter's declaration has no key %q; it has %s",
				key.Value, strings.Join(longKeys, ", "))
			e.Hint = strings.TrimSpace(notebooks.DidYouMean(key.Value, longKeys) +
				" for a map as the default, write {type: map, default: {…}}")
			return notebooks.Param{}, e
		}
		at[target(p.key).Value] = p.value
	}
	for _, read := range []func(*notebooks.Param, map[string]*yaml.Node) *notebooks.Error{
		r.longType, r.longTexts, r.longValues, r.longConsistent,
	} {
		if err := read(&param, at); err != nil {
			return notebooks.Param{}, err
		}
	}
	return param, nil
}

// longType returns the declared type, else the type of the default, else that of the first enum value.
func (r *yamlReader) longType(p *notebooks.Param, at map[string]*yaml.Node) *notebooks.Error {
	if n := at["type"]; n != nil {
		name := notebooks.Type(target(n).Value)
		if target(n).Kind != yaml.ScalarNode || !slices.Contains(declarable, name) {
			return r.unknownType(n, string(name))
		}
		p.Type = name
		return nil
	}
	p.Type = notebooks.TypeAny
	guide := at["default"]
	if enum := at["enum"]; (guide == nil || isNull(guide)) && enum != nil && len(target(enum).Content) > 0 {
		guide = target(enum).Content[0]
	}
	if guide == nil {
		if at["env"] != nil {
			p.Type = notebooks.TypeString
		}
		return nil
	}
	v, err := r.value(guide)
	if err == nil {
		p.Type = typeOfDefault(v)
	}
	return err
}

func (r *yamlReader) unknownType(n *yaml.Node, name string) *notebooks.Error {
	names := make([]string, len(declarable))
	for i, t := range declarable {
		names[i] = string(t)
	}
	e := r.errorf(n, "a type is expected, one of %s", strings.Join(names, ", "))
	if target(n).Kind == yaml.ScalarNode {
		e.Msg = fmt.Sprintf("the type %q is not known; there is: %s", name, strings.Join(names, ", "))
	}
	if near := cmp.Or(string(otherTypeNames[strings.ToLower(name)]), notebooks.Suggest(name, names)); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}

func (r *yamlReader) longTexts(p *notebooks.Param, at map[string]*yaml.Node) *notebooks.Error {
	if n := at["help"]; n != nil {
		v, err := r.typed(n, notebooks.TypeString)
		if err != nil {
			return err
		}
		p.Help = strings.TrimSpace(v.Text)
	}
	if n := at["env"]; n != nil {
		v, err := r.typed(n, notebooks.TypeString)
		if err != nil {
			return err
		}
		if v.Text == "" || strings.ContainsAny(v.Text, "=\x00") {
			return r.errorf(n, "%q cannot name an environment variable", v.Text)
		}
		p.Env = v.Text
	}
	return nil
}

func (r *yamlReader) longValues(p *notebooks.Param, at map[string]*yaml.Node) *notebooks.Error {
	if n := at["min"]; n != nil {
		v, err := r.bound(p.Type, n)
		if err != nil {
			return err
		}
		p.Min = &v
	}
	if n := at["max"]; n != nil {
		v, err := r.bound(p.Type, n)
		if err != nil {
			return err
		}
		p.Max = &v
		if p.Min != nil {
			if c, ok := compare(*p.Min, v); ok && c > 0 {
				return r.errorf(n, "max is less than min")
			}
		}
	}
	if n := at["enum"]; n != nil {
		list := target(n)
		if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
			return r.errorf(n, "enum is a list of the values that are allowed")
		}
		for _, c := range list.Content {
			v, err := r.typed(c, p.Type)
			if err != nil {
				return err
			}
			p.Enum = append(p.Enum, v)
		}
	}
	if n := at["default"]; n != nil {
		v, err := notebooks.Value{Type: notebooks.TypeNull}, (*notebooks.Error)(nil)
		if !isNull(n) {
			v, err = r.typed(n, p.Type)
		}
		if err != nil {
			return err
		}
		setDefault(p, v, target(n))
	}
	return nil
}

func (r *yamlReader) bound(t notebooks.Type, n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	if !isOneOf(t, notebooks.TypeInt, notebooks.TypeFloat, notebooks.TypeDuration, notebooks.TypeDate) {
		return notebooks.Value{}, r.errorf(n, "min and max are for int, float, duration and date, not for %s", t)
	}
	if t == notebooks.TypeInt {
		t = notebooks.TypeFloat // bounds may be fractional
		if v, err := r.typed(n, notebooks.TypeInt); err == nil {
			return v, nil
		}
	}
	v, err := r.typed(n, t)
	if err == nil && v.Float != v.Float {
		err = r.errorf(n, "NaN bounds nothing")
	}
	return v, err
}

// longConsistent reports keys that contradict each other. A parameter without a default is required unless it says
// required: false; then it is null.
func (r *yamlReader) longConsistent(p *notebooks.Param, at map[string]*yaml.Node) *notebooks.Error {
	p.Required = !p.HasDefault
	if n := at["required"]; n != nil {
		v, err := r.typed(n, notebooks.TypeBool)
		if err != nil {
			return err
		}
		p.Required = v.Bool
		if v.Bool && p.HasDefault {
			return r.errorf(n, "a required parameter has no default")
		}
		if !v.Bool && !p.HasDefault {
			setDefault(p, notebooks.Value{Type: notebooks.TypeNull}, nil)
		}
	}
	if p.Type == notebooks.TypeSecret {
		for _, key := range []string{"default", "enum"} {
			if n := at[key]; n != nil {
				e := r.errorf(n, "a secret may not have %s: it would stand in the notebook",
					map[string]string{"default": "a default", "enum": "an enum"}[key])
				e.Hint = "give it with env: NAME"
				return e
			}
		}
	}
	if p.HasDefault {
		if e := checkValue(*p, p.Default); e != nil {
			e.File, e.Line, e.Col = r.file, p.Line, p.Col
			if n := at["default"]; n != nil {
				e.Line, e.Col = n.Line+r.offset, n.Column
			}
			e.Msg = strings.Replace(e.Msg, ": ", ": the default ", 1)
			return e
		}
	}
	return nil
}

// setDefault sets the default and its spelling.
func setDefault(p *notebooks.Param, v notebooks.Value, n *yaml.Node) {
	p.Default, p.HasDefault = v, true
	p.DefaultSrc = string(v.JSON())
	if n != nil && isPlain(n) {
		p.DefaultSrc = n.Value
	}
}

// typeOfDefault returns the type inferred from a default.
func typeOfDefault(v notebooks.Value) notebooks.Type {
	if v.Type == notebooks.TypeNull {
		return notebooks.TypeAny
	}
	return v.Type
}

// help returns the comment after a parameter, else the one right above it.
func help(p pair) string {
	for _, comment := range []string{p.value.LineComment, p.key.LineComment, p.key.HeadComment} {
		var lines []string
		for _, l := range strings.Split(comment, "\n") {
			if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#")); l != "" {
				lines = append(lines, l)
			}
		}
		if len(lines) > 0 {
			return strings.Join(lines, " ")
		}
	}
	return ""
}
