package params

import (
	"cmp"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// params returns the parameters that a statement assigns, usually none or one.
func (s *codeSyntax) params(one statement) []notebooks.Param {
	text := one.text
	if s.declares != nil {
		text = text[len(s.declares.FindString(text)):]
	}
	parts := []string{text}
	if s.split {
		parts = s.splitTop(text, ",")
	}
	var found []notebooks.Param
	for _, part := range parts {
		found = append(found, s.assignments(part)...)
	}
	declared, help := typeComment(one.comment)
	for i := range found {
		p := &found[i]
		p.Line, p.Col, p.Help = one.line, one.col, help
		p.Declared = cmp.Or(p.Declared, declared)
		p.Type = typeOfDefault(p.Default)
		if p.Declared != "" {
			p.Type = annotatedType(p.Declared)
		}
		fitDefault(p)
	}
	return found
}

// fitDefault converts a literal to the annotated type, as in `x: float = 1`.
func fitDefault(p *notebooks.Param) {
	switch {
	case !p.HasDefault && p.Declared == "":
		p.Type = notebooks.TypeAny
	case p.Default.Type == notebooks.TypeInt && p.Type == notebooks.TypeFloat, p.Default.Type == notebooks.TypeString &&
		isOneOf(p.Type, notebooks.TypePath, notebooks.TypeDate):
		if v, err := readText(p.Type, p.Default.Text); err == nil {
			p.Default = v
		}
	}
}

// assignments reads "name = value", "name: type = value", "a = b = value" and "a, b = 1, 2".
func (s *codeSyntax) assignments(text string) []notebooks.Param {
	targets := s.splitTop(text, "=")
	value := strings.TrimSpace(targets[len(targets)-1])
	targets = targets[:len(targets)-1]
	if len(targets) == 0 {
		if p, ok := s.target(text); ok && p.Declared != "" {
			return []notebooks.Param{p} // "x: int" declares and does not assign
		}
		return nil
	}
	var found []notebooks.Param
	for _, t := range targets {
		names := []string{t}
		values := []string{value}
		if s.tuples {
			names = s.splitTop(strings.Trim(strings.TrimSpace(t), "()"), ",")
			if len(names) > 1 {
				values = s.splitTop(value, ",")
			}
		}
		if len(names) != len(values) {
			return nil // their number is known only at run time
		}
		for i, n := range names {
			p, ok := s.target(n)
			if !ok || strings.TrimSpace(values[i]) == "" {
				return nil
			}
			p.DefaultSrc = strings.TrimSpace(values[i])
			p.Default, p.HasDefault = s.literal(p.DefaultSrc)
			found = append(found, p)
		}
	}
	return found
}

// notNames are words before a colon that look like a name, or cannot be assigned.
var notNames = lazyregexp.New(`^(else|try|finally|lambda|True|False|None|TRUE|FALSE|NULL|true|false|null|default|` +
	`case|return|yield|if|while|for)$`)

func (s *codeSyntax) target(text string) (notebooks.Param, bool) {
	name, declared := strings.TrimSpace(text), ""
	if s.annotation != "" {
		before, after, ok := strings.Cut(name, s.annotation)
		if ok {
			name, declared = strings.TrimSpace(before), unquoted(after)
			if declared == "" {
				return notebooks.Param{}, false
			}
		}
	}
	name = strings.Trim(name, "`")
	return notebooks.Param{Name: name, Declared: declared}, s.isName(name) && !notNames.MatchString(name)
}

// splitTop splits at separators outside brackets and strings. "=" means the assignment operator alone (not ==, <=, +=,
// =>, …), and in R also <-.
func (s *codeSyntax) splitTop(text, separator string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.IndexByte(s.quotes, c) >= 0:
			i += s.stringLength(text[i:])
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0:
			if n := s.separatorAt(text, i, separator); n > 0 {
				parts = append(parts, text[start:i])
				i += n
				start = i
				continue
			}
			if separator == "=" && strings.HasPrefix(text[i:], "==") {
				i++
			}
		}
		i++
	}
	return append(parts, text[start:])
}

func (s *codeSyntax) separatorAt(text string, i int, separator string) int {
	if separator != "=" {
		if strings.HasPrefix(text[i:], separator) {
			return len(separator)
		}
		return 0
	}
	if s.floats && strings.HasPrefix(text[i:], "<-") {
		return 2
	}
	if text[i] != '=' || i > 0 && strings.IndexByte("=!<>+-*/%&|^~:@?", text[i-1]) >= 0 ||
		i+1 < len(text) && (text[i+1] == '=' || text[i+1] == '>') {
		return 0
	}
	return 1
}

var typeWord = lazyregexp.New(`^type:\s*([^\s\[]+(?:\[[^#]*\])?(?:\s*\|\s*[^\s\[]+(?:\[[^#]*\])?)*)\s*(.*)$`)

// typeComment is papermill's "# type: int help text".
func typeComment(comment string) (declared, help string) {
	m := typeWord.FindStringSubmatch(comment)
	if m == nil || strings.HasPrefix(m[1], "ignore") {
		return "", comment
	}
	return m[1], m[2]
}

var annotatedTypes = map[string]notebooks.Type{
	"int": notebooks.TypeInt, "integer": notebooks.TypeInt, "bigint": notebooks.TypeInt, "int64": notebooks.TypeInt,
	"int32": notebooks.TypeInt,
	"float": notebooks.TypeFloat, "double": notebooks.TypeFloat, "float64": notebooks.TypeFloat,
	"number": notebooks.TypeFloat, "numeric": notebooks.TypeFloat,
	"bool": notebooks.TypeBool, "boolean": notebooks.TypeBool, "logical": notebooks.TypeBool,
	"str": notebooks.TypeString, "string": notebooks.TypeString, "character": notebooks.TypeString,
	"list": notebooks.TypeList, "tuple": notebooks.TypeList, "set": notebooks.TypeList,
	"sequence": notebooks.TypeList, "iterable": notebooks.TypeList, "array": notebooks.TypeList,
	"vector": notebooks.TypeList,
	"dict":   notebooks.TypeMap, "mapping": notebooks.TypeMap, "record": notebooks.TypeMap,
	"bytes": notebooks.TypeBytes, "path": notebooks.TypePath, "date": notebooks.TypeDate,
	"datetime": notebooks.TypeDate,
}

// annotatedType returns the type of an annotation, or TypeAny for a foreign type or a union.
func annotatedType(declared string) notebooks.Type {
	members, _ := annotatedMembers(declared)
	if len(members) != 1 {
		return notebooks.TypeAny
	}
	name := members[0]
	if strings.HasSuffix(name, "[]") {
		return notebooks.TypeList
	}
	if i := strings.IndexAny(name, "[<{("); i >= 0 {
		name = name[:i]
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	if t, ok := annotatedTypes[strings.ToLower(name)]; ok {
		return t
	}
	return notebooks.TypeAny
}

// annotatedMembers returns the types that an annotation allows, and whether null is one of them: "Optional[int]",
// "int | None", "typing.Union[None, int]", with any part in quotes.
func annotatedMembers(declared string) (members []string, null bool) {
	declared = unquoted(declared)
	parts := pythonSyntax.splitTop(declared, "|")
	if name, inner, ok := strings.Cut(declared, "["); ok && len(parts) == 1 && strings.HasSuffix(inner, "]") {
		arguments := pythonSyntax.splitTop(strings.TrimSuffix(inner, "]"), ",")
		name = strings.TrimSpace(name)
		switch name[strings.LastIndexByte(name, '.')+1:] {
		case "Optional":
			parts, null = arguments, true
		case "Union":
			parts = arguments
		case "Annotated", "Final", "ClassVar":
			parts = arguments[:1]
		}
	}
	for _, part := range parts {
		part = strings.TrimSpace(part)
		switch {
		case part == "": // after the last comma
		case isOneOf(part, "None", "NoneType", "null", "undefined", "Nothing"):
			null = true
		case part == declared:
			members = append(members, part)
		default:
			inner, optional := annotatedMembers(part)
			members, null = append(members, inner...), null || optional
		}
	}
	return members, null
}

// unquoted returns an annotation that is written as one string, as Python's forward references are, without its quotes.
func unquoted(declared string) string {
	declared = strings.TrimSpace(declared)
	if n := len(declared); n > 1 && strings.IndexByte(`"'`, declared[0]) >= 0 &&
		pythonSyntax.stringLength(declared) == n {
		return strings.Trim(declared, `"'`)
	}
	return declared
}
