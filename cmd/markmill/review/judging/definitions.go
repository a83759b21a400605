package judging

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
)

// definition is a named piece of a source file: a test, a function, a class without its methods, a constant, a name
// that an import binds.
type definition struct {
	name     string // of a method Class::name; of a test the words that it is given
	text     string
	from, to int  // lines, from 1, both included
	implicit bool // runs without being named: setUp, beforeEach, a fixture with autouse
	test     bool // a runner takes it for a test, by its name or by how it is written
	around   bool // its text is only its head: what it holds are definitions of their own
}

// reader finds the definitions of a file, by its extension; nil in a language that is not known.
func reader(name string) func([]byte) []definition {
	switch path.Ext(name) {
	case ".py":
		return pythonDefinitions
	case ".go":
		return goDefinitions
	case ".rb", ".exs":
		return rubyDefinitions
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".rs", ".java", ".kt", ".scala", ".groovy",
		".cs", ".php", ".swift", ".c", ".cc", ".cpp", ".h":
		return braceDefinitions
	}
	return nil
}

// isProgram reports whether a file is in a language whose definitions are known.
func isProgram(name string) bool { return reader(name) != nil }

// definitions lists those of a file; none in a language that is not known.
func definitions(name string, text []byte) []definition {
	if read := reader(name); read != nil {
		return read(text)
	}
	return nil
}

var word = lazyregexp.New(`[A-Za-z_]\w*`)

// words are the names in a text.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range word.FindAllString(text, -1) {
		out[w] = true
	}
	return out
}

var (
	pythonDef    = lazyregexp.New(`^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)`)
	pythonAssign = lazyregexp.New(`^(\w+)[ \t]*(?::[^=]+)?=[^=]`)
	pythonImport = lazyregexp.New(`^(?:from[ \t]+(\S+)[ \t]+)?import[ \t]+(.*)$`)
	pythonHooks  = lazyregexp.New(`^(?:async)?(?:set_?[uU]p|tear_?[dD]own)(?:_?\w+)?$|^pytestmark$`)
)

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func pythonDefinitions(src []byte) (out []definition) {
	lines := strings.Split(string(src), "\n")
	quoted := make([]bool, len(lines)) // begins inside a string of several lines
	code := slices.Clone(lines)        // without these
	for i, open := 0, false; i < len(lines); i++ {
		if quoted[i] = open; open {
			code[i] = ""
		}
		if (strings.Count(lines[i], `"""`)+strings.Count(lines[i], "'''"))%2 == 1 {
			open = !open
		}
	}
	closes := func(line string) bool { return strings.IndexAny(strings.TrimSpace(line), ")]}") == 0 }
	end := func(i, at int) int { // the last line of the block that begins in line i
		last := i
		for j := i + 1; j < len(lines); j++ {
			blank := strings.TrimSpace(lines[j]) == ""
			if !blank && !quoted[j] && indent(lines[j]) <= at && !(indent(lines[j]) == at && closes(lines[j])) {
				break
			}
			if !blank {
				last = j
			}
		}
		return last
	}
	type open struct {
		name     string
		at, last int
		out      int
	}
	var classes []open
	for i, line := range lines {
		if quoted[i] {
			continue
		}
		for len(classes) > 0 && i > classes[len(classes)-1].last {
			classes = classes[:len(classes)-1]
		}
		if m := pythonDef.FindStringSubmatch(line); m != nil {
			at, first := len(m[1]), i
			for first > 0 && strings.TrimSpace(lines[first-1]) != "" && (indent(lines[first-1]) > at ||
				indent(lines[first-1]) == at && (closes(lines[first-1]) || lines[first-1][at] == '@')) &&
				decorated(lines[:first], at) {
				first--
			}
			last := end(i, at)
			d := definition{name: m[3], from: first + 1, to: last + 1, text: strings.Join(lines[first:last+1], "\n")}
			if len(classes) > 0 {
				d.name = classes[len(classes)-1].name + "::" + m[3]
			} else if at > 0 && m[2] == "def" && !topLevel(code[:i], at) {
				continue // inside a function
			}
			d.test = m[2] == "def" && strings.HasPrefix(m[3], "test")
			d.implicit = pythonHooks.MatchString(m[3]) || strings.Contains(d.text, "autouse=True")
			if m[2] == "class" {
				d.around = true
				classes = append(classes, open{m[3], at, last, len(out)})
			}
			out = append(out, d)
			continue
		}
		if len(classes) > 0 || line == "" || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		last := end(i, 0)
		if m := pythonAssign.FindStringSubmatch(line); m != nil {
			out = append(out, definition{name: m[1], from: i + 1, to: last + 1, implicit: m[1] == "pytestmark",
				text: strings.Join(lines[i:last+1], "\n")})
		} else if m := pythonImport.FindStringSubmatch(strings.Join(lines[i:last+1], " ")); m != nil {
			for part := range strings.SplitSeq(strings.Trim(m[2], "() \t"), ",") {
				part = strings.TrimSpace(part)
				name, as, renamed := strings.Cut(part, " as ")
				if !renamed {
					as, _, _ = strings.Cut(name, ".")
				}
				if as = strings.TrimSpace(as); as != "" {
					out = append(out, definition{name: as, from: i + 1, to: last + 1, text: m[1] + " import " + part})
				}
			}
		}
	}
	for i := range out { // a class is its head and what is no method
		if out[i].around {
			out[i].text = outside(lines, out[i], out)
		}
	}
	return out
}

// decorated reports whether the lines end with a decorator of that indentation, of one line or of several.
func decorated(lines []string, at int) bool {
	for _, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" || indent(line) < at {
			return false
		}
		if indent(line) == at {
			return line[at] == '@' || strings.ContainsAny(line[at:at+1], ")]}")
		}
	}
	return false
}

// topLevel reports whether an indented definition stands in no function: below if, try or with.
func topLevel(lines []string, at int) bool {
	for _, line := range slices.Backward(lines) {
		if text := strings.TrimSpace(line); text != "" && indent(line) < at && !strings.ContainsAny(text[:1], ")]}") {
			return !pythonDef.MatchString(line) && indent(line) == 0
		}
	}
	return true
}

// outside is the text of a definition without the definitions in it.
func outside(lines []string, d definition, all []definition) string {
	var b strings.Builder
	for i := d.from; i <= d.to; i++ {
		if strings.TrimSpace(lines[i-1]) != "" && !slices.ContainsFunc(all, func(o definition) bool {
			return o.from <= i && i <= o.to && o.from >= d.from && o.to <= d.to && o.name != d.name
		}) {
			b.WriteString(lines[i-1] + "\n")
		}
	}
	return b.String()
}

var goTest = lazyregexp.New(`^(?:Test|Fuzz|Example)(?:[^a-z]|$)`)

func goDefinitions(src []byte) (out []definition) {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "", src, parser.ParseComments) // what it can read of a broken one
	if file == nil {
		return nil
	}
	add := func(name string, from, to token.Pos) {
		a, b := set.Position(from), set.Position(to)
		if a.Offset >= 0 && b.Offset <= len(src) && a.Offset < b.Offset {
			out = append(out, definition{name: name, from: a.Line, to: b.Line, text: string(src[a.Offset:b.Offset]),
				test: goTest.MatchString(name), implicit: name == "TestMain" || name == "init"})
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) > 0 {
				from, to := set.Position(d.Recv.Pos()).Offset, set.Position(d.Recv.End()).Offset
				receiver := word.FindAllString(string(src[from:to]), -1)
				name = receiver[len(receiver)-1] + "::" + name
			}
			add(name, d.Pos(), d.End())
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, s.Pos(), s.End())
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if d.Tok == token.CONST { // iota counts the others
							add(name.Name, d.Pos(), d.End())
						} else {
							add(name.Name, s.Pos(), s.End())
						}
					}
				}
			}
		}
	}
	return out
}

var rubyDef = lazyregexp.New(`^(\s*)([xf]?(?:it|specify|example|scenario|describe|context|RSpec\.describe|def|let!?|before|after|subject|pending|skip|test))\b[ (]*(.*)$`)

func rubyDefinitions(src []byte) (out []definition) {
	lines := strings.Split(string(src), "\n")
	for i, line := range lines {
		m := rubyDef.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		last := i
		if m[2] == "def" || strings.Contains(m[3], "do") {
			for last++; last < len(lines)-1 && lines[last] != m[1]+"end"; last++ {
			}
		}
		d := definition{name: firstLiteral(m[3]), from: i + 1, to: last + 1, text: strings.Join(lines[i:last+1], "\n"),
			implicit: m[2] == "before" || m[2] == "after"}
		if d.test = d.name != ""; !d.test {
			d.name = word.FindString(m[3])
		}
		if d.around = strings.HasSuffix(m[2], "describe") || strings.HasSuffix(m[2], "context"); d.around {
			d.test = false
			d.text = line
		}
		out = append(out, d)
	}
	return out
}

// firstLiteral is the content of the first string in a text.
func firstLiteral(text string) string {
	at := strings.IndexAny(text, "'\"`")
	if at < 0 {
		return ""
	}
	rest := text[at+1:]
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case text[at]:
			return rest[:i]
		}
	}
	return ""
}

var (
	braceTest = lazyregexp.New(`^\s*([xf]?(?:it|test|describe|context|specify|suite|Deno\.test))((?:\.\w+)*)\s*\(`)
	braceHook = lazyregexp.New(`^\s*(beforeEach|beforeAll|before|afterEach|afterAll|after|setup|teardown)\s*\(`)
	braceDef  = lazyregexp.New(`^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:(?:public|private|protected|` +
		`internal|static|final|abstract|async|unsafe|const)\s+)*(?:function\*?|fn|fun|func|class|struct|enum|interface|` +
		`trait|mod|type)\s+(\w+)`)
	braceConst    = lazyregexp.New(`^\s*(?:export\s+)?(?:const|let|var|static|val)\s+(?:mut\s+)?(\w+|[{\[][^=]*[}\]])\s*(?::[^=]+)?=`)
	braceImport   = lazyregexp.New(`^(?:import|use|from)\b.*`)
	braceMethod   = lazyregexp.New(`^\s*(?:[\w<>\[\],.?@]+\s+)+(\w+)\s*\([^;]*\)[^;{]*\{\s*$`)
	braceTestMark = lazyregexp.New(`^\s*(?:#\[(?:\w+::)?test|@(?:Test|ParameterizedTest)|\[(?:Test|Fact|Theory)\])`)
	braceMark     = lazyregexp.New(`^\s*(?:#\[|@)`)
	braceWords    = []string{"if", "for", "while", "switch", "catch", "else", "return", "match",
		"const", "let", "var", "static", "val", "mut", "import", "from", "use", "export", "as"}
)

func braceDefinitions(src []byte) (out []definition) {
	text := string(src)
	lines := strings.SplitAfter(text, "\n")
	offset := 0
	for i, line := range lines {
		var names []string
		around, implicit, test := false, false, false
		if m := braceTest.FindStringSubmatch(line); m != nil {
			rest := text[offset+strings.Index(line, m[1])+len(m[1])+len(m[2]):]
			if strings.Contains(m[2], ".each") {
				if _, after, ok := strings.Cut(rest, ")("); ok {
					rest = after
				}
			}
			names = []string{firstLiteral(rest)}
			around = strings.HasSuffix(m[1], "describe") || m[1] == "context" || m[1] == "suite"
			test = !around
		} else if m := braceHook.FindStringSubmatch(line); m != nil {
			names, implicit = []string{m[1]}, true
		} else if m := braceDef.FindStringSubmatch(line); m != nil {
			names = []string{m[1]}
			around = strings.Contains(m[0], "class ") || strings.Contains(m[0], "mod ")
		} else if m := cmp.Or(braceConst.FindString(line), braceImport.FindString(line)); m != "" {
			names = slices.DeleteFunc(word.FindAllString(m, -1), func(w string) bool {
				return slices.Contains(braceWords, w)
			})
		} else if m := braceMethod.FindStringSubmatch(line); m != nil && !slices.Contains(braceWords, m[1]) {
			names = []string{m[1]}
		}
		if names != nil {
			end := blockEnd(text, offset)
			first, from := offset, i
			for from > 0 && braceMark.MatchString(lines[from-1]) {
				from--
				first -= len(lines[from])
			}
			body := text[first:end]
			test = test || braceTestMark.MatchString(body)
			d := definition{from: from + 1, to: i + 1 + strings.Count(text[offset:end], "\n"), text: body,
				around:   around,
				implicit: implicit, test: test && !around}
			if around {
				d.text = text[first : offset+len(line)]
			}
			for _, name := range names {
				if d.name = name; name != "" {
					out = append(out, d)
				}
			}
		}
		offset += len(line)
	}
	return out
}

// blockEnd is where the statement ends that begins at an offset: at the end of the line in which its brackets are
// closed.
func blockEnd(text string, at int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\n':
			if depth <= 0 {
				return i
			}
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				for i+1 < len(text) && text[i+1] != '\n' {
					i++
				}
			} else if strings.HasPrefix(text[i:], "/*") {
				if end := strings.Index(text[i:], "*/"); end > 0 {
					i += end + 1
				}
			}
		case '\'', '"', '`':
			for j := i + 1; j < len(text) && (c == '`' || text[j] != '\n'); j++ {
				if text[j] == '\\' {
					j++
				} else if text[j] == c {
					i = j
					break
				}
			}
		}
	}
	return len(text)
}
