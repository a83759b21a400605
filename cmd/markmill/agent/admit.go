package agent

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/runs/outfile"
)

// Field is a key of an admission and its value as YAML.
type Field struct{ Key, Value string }

// Text is a value that YAML reads as this text.
func Text(s string) string {
	var got any
	plain := s != "" && !strings.ContainsAny(s, "#:{}[]&*!|>'\"%@`,?-\n\t ") || strings.HasPrefix(s, "/") &&
		!strings.ContainsAny(s, "#:'\"\n\t ")
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		plain = false // YAML has line breaks besides ours
	}
	if plain && yaml.Unmarshal([]byte(s), &got) == nil && got == any(s) {
		return s
	}
	return strconv.QuoteToASCII(s) // a string of Go in ASCII is one of YAML
}

// List is a list of texts in one line.
func List(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Admit writes an admission into the markmill.yaml at root, which is made if it is not there. Keys that the admission
// has already get the new value, in their place; comments and everything else stay as they are.
func Admit(root, name string, fields []Field) error {
	file := filepath.Join(root, engine.ConfigFile)
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := edit(file, old, name, fields)
	if err != nil {
		return err
	}
	if _, err := engine.ParseConfig(file, text); err != nil {
		return err
	}
	return outfile.Setting(file, text)
}

// edit returns the file with the admission.
func edit(file string, old []byte, name string, fields []Field) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(old, &doc); err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, File: file, Msg: err.Error(), Err: err}
	}
	end := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		end = "\r\n"
	}
	e := &editor{end: end}
	for line := range bytes.Lines(old) {
		e.lines = append(e.lines, string(line))
	}
	if n := len(e.lines); n > 0 && !strings.HasSuffix(e.lines[n-1], "\n") {
		e.lines[n-1] += end
	}
	inFlow := func(n *yaml.Node) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: file, Line: n.Line, Col: n.Column,
			Msg:  "agents is not written as a block, and so cannot be added to",
			Hint: "write a line for each of its keys"}
	}
	agents, at := find(&doc, "agents")
	switch {
	case agents == nil:
		e.lines = append(e.lines, "agents:"+end)
		e.insert(len(e.lines), "  ", name, fields)
		return e.text(), nil
	case agents.Tag == "!!null" && agents.Kind == yaml.ScalarNode:
		e.insert(at.Line, "  ", name, fields)
		return e.text(), nil
	case agents.Kind != yaml.MappingNode || agents.Style&yaml.FlowStyle != 0 || len(agents.Content) == 0:
		return nil, inFlow(at)
	}
	own, key := find(agents, name)
	switch {
	case own == nil:
		e.insert(last(agents), indent(agents.Content[0]), name, fields)
		return e.text(), nil
	case own.Kind != yaml.MappingNode || own.Style&yaml.FlowStyle != 0 || len(own.Content) == 0:
		return nil, inFlow(key)
	}
	var added []Field
	for _, f := range fields {
		value, _ := find(own, f.Key)
		switch {
		case value == nil:
			added = append(added, f)
		case !e.replace(value, f.Value):
			return nil, inFlow(value)
		}
	}
	for i := len(added) - 1; i >= 0; i-- {
		e.add(key.Line, indent(own.Content[0])+added[i].Key+": "+added[i].Value)
	}
	return e.text(), nil
}

// find returns the value and the key of a name in a mapping; nil without one.
func find(n *yaml.Node, name string) (value, key *yaml.Node) {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1], n.Content[i]
		}
	}
	return nil, nil
}

// last is the last line of a node.
func last(n *yaml.Node) int {
	line := n.Line
	for _, c := range n.Content {
		line = max(line, last(c))
	}
	return line
}

func indent(first *yaml.Node) string { return strings.Repeat(" ", first.Column-1) }

// editor changes the lines of a file.
type editor struct {
	lines []string
	end   string
}

func (e *editor) text() []byte { return []byte(strings.Join(e.lines, "")) }

// add puts a line behind that with a number, from 1.
func (e *editor) add(after int, line string) {
	e.lines = append(e.lines[:after], append([]string{line + e.end}, e.lines[after:]...)...)
}

// insert puts a whole admission behind a line.
func (e *editor) insert(after int, indent, name string, fields []Field) {
	e.add(after, indent+name+":")
	for i, f := range fields {
		e.add(after+1+i, indent+"  "+f.Key+": "+f.Value)
	}
}

// replace puts another value in the place of one that stands in one line. It reports whether it does.
func (e *editor) replace(n *yaml.Node, value string) bool {
	line := e.lines[n.Line-1]
	from := n.Column - 1
	if last(n) != n.Line || from > len(line) {
		return false
	}
	rest := line[from:]
	size := 0
	switch {
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
		size = strings.LastIndexByte(rest, ']') + 1
	case n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case rest[0] == '"' || rest[0] == '\'':
		for size = 1; size < len(rest) && rest[size] != rest[0]; size++ {
			if rest[size] == '\\' && rest[0] == '"' {
				size++
			}
		}
		size++
	default:
		size = len(n.Value)
		if !strings.HasPrefix(rest, n.Value) {
			return false
		}
	}
	if size == 0 || size > len(rest) {
		return false
	}
	e.lines[n.Line-1] = line[:from] + value + rest[size:]
	return true
}
