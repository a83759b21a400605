package cmdtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	mdast "github.com/yuin/goldmark/ast"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
)

// TestDocumentedCommands looks at each command line in the documents, and in the texts and comments of the code: the
// command is there, and it has the options. The messages of docs/troubleshooting.md are in the texts of the code.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	root := commands.Root(program.New(), "")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	lines := 0
	var said strings.Builder
	read := func(file, text string, code bool) {
		for _, at := range namedCommand.FindAllStringIndex(text, -1) {
			lines++
			line := endOfLine.ReplaceAllString(text[at[1]:min(len(text), at[1]+500)], "")
			if fault := commandFault(root, line, code); fault != "" {
				t.Errorf("%s: markmill %s: %s", file, line, fault)
			}
		}
	}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() {
			if name == ".git" || name == "testdata" || name == "node_modules" || name == ".markmill" {
				return fs.SkipDir
			}
			return err
		}
		kind := filepath.Ext(name)
		info, err := entry.Info()
		if err != nil || info.Size() > 1<<20 || !strings.Contains(textFiles, kind+" ") ||
			strings.HasSuffix(name, ".out.md") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(data)
		switch {
		case kind == "" && !strings.HasPrefix(text, "#!"):
			return nil
		case kind == ".go":
			text = goTexts(t, file)
			said.WriteString(text)
		case name == "CHANGELOG.md": // what was released had its own commands; a table has the old ones first
			text = oldCommand.ReplaceAllString(string(document(text).section(t, "Unreleased")), "")
		}
		read(file, argumentLists.Replace(text), false)
		if kind != ".md" {
			return nil
		}
		inMarkdown(text, func(n mdast.Node, src []byte) {
			switch n := n.(type) {
			case *mdast.CodeBlock, *mdast.FencedCodeBlock:
				read(file, string(n.Lines().Value(src)), true)
			case *mdast.CodeSpan:
				span := strings.ReplaceAll(plainText(n, src), "\n", " ")
				read(file, span, true)
				if fault := shortFault(root, span); fault != "" {
					t.Errorf("%s: `%s`: %s", file, span, fault)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `.*").FindAllString(string(readDoc(t, "troubleshooting.md")), -1) {
		first, _, _ := strings.Cut(row[2:], " | ")
		for _, span := range codePart.FindAllString(first, -1) {
			message := strings.Trim(span, "`")
			if messages++; !ofShells.MatchString(message) && !strings.Contains(said.String(), message) {
				t.Errorf("troubleshooting.md: %s: nothing says so any more", message)
			}
		}
	}
	if messages < 30 {
		t.Errorf("only %d messages were found", messages)
	}
	if lines < 1000 {
		t.Errorf("only %d command lines were found", lines)
	}
	for words, instead := range help.Elsewhere {
		if fault := commandFault(root, placeholder.ReplaceAllString(instead, "NAME"), true); fault != "" {
			t.Errorf("%s: try: markmill %s: %s", words, instead, fault)
		}
	}
}

// textFiles are the endings of the files that are looked at; of those without one, scripts.
const textFiles = ".go .html .js .json .md .mjs .py .service .sh .timer .yaml .yml "

// argumentLists writes a command line in lists of words, as programs and settings have it, with spaces.
var argumentLists = strings.NewReplacer(`", "args": ["`, " ", "\"\nargs = [\"", " ", `", "`, " ", "[markmill, ", "markmill ",
	`"],`, "\n", `"]`, "\n")

var (
	namedCommand = regexp.MustCompile(`(?m)(?:^|[^.\w-])markmill(?:-server)?"? `)
	endOfLine    = regexp.MustCompile("(?s)(\n|`|markmill ).*")
	oldCommand   = regexp.MustCompile("(?m)^\\| `[^|]*\\|")
	placeholder  = regexp.MustCompile(`=?\{\d?\}`)
	// endOfCommand is where a shell's next word begins, or the sentence ends.
	endOfCommand = regexp.MustCompile("[|;&<>)#\\\\`].*|[.,:'\"]+$")
	// ofShells are the messages in docs/troubleshooting.md that shells print, and words of commands.
	ofShells    = regexp.MustCompile(`^exit \d+$|^command not found$|^(glue|scrap|check)$`)
	word        = regexp.MustCompile(`^[a-z][a-z-]*$`)
	longOption  = regexp.MustCompile(`^--[a-z][a-z0-9-]+`)
	shortOption = regexp.MustCompile(`^-[a-zA-Z]`)
)

// shortFault is commandFault for a code span that leaves the program's name out, such as `runs prune`.
func shortFault(root *cobra.Command, span string) string {
	words := strings.Fields(span)
	if len(words) < 2 || words[0] == "git" || words[0] == "test" || words[0] == "diff" { // programs of their own
		return ""
	}
	c, _, err := root.Find(words[:1])
	isGroup := err == nil && c != root && c.HasSubCommands() && word.MatchString(words[1])
	isOption := longOption.MatchString(words[1]) && (help.Elsewhere[words[0]] != "" || err == nil && c != root)
	if isGroup || isOption || help.Elsewhere[words[0]+" "+words[1]] != "" {
		return commandFault(root, span, true)
	}
	return ""
}

// commandFault says what is wrong with the words after the program's name. In prose, words that are no command are
// taken for prose, unless they were one.
func commandFault(root *cobra.Command, line string, code bool) string {
	c, ended, quote := root, false, ""
	for _, arg := range strings.Fields(line) {
		if quote != "" {
			if strings.HasSuffix(arg, quote) {
				quote = ""
			}
			continue
		}
		if first := arg[:1]; strings.ContainsAny(first, `'"`) && strings.Count(arg, first) == 1 {
			quote = first
			continue
		}
		cut := endOfCommand.ReplaceAllString(arg, "")
		last := cut != arg
		switch {
		case arg == "--", c == root && strings.HasPrefix(cut, "-"):
			return ""
		case strings.HasPrefix(cut, "-"):
			ended = true
			if name := longOption.FindString(cut); name != "" {
				if c.Flag(name[2:]) == nil && name != "--help" {
					return fmt.Sprintf("%s has no option %s", c.CommandPath(), name)
				}
			} else if name := shortOption.FindString(cut); name != "" && name != "-h" {
				if c.Flags().ShorthandLookup(name[1:]) == nil {
					return fmt.Sprintf("%s has no option %s", c.CommandPath(), name)
				}
			}
		case cut == "" || ended || !c.HasSubCommands():
		case word.MatchString(cut):
			below, _, err := c.Find([]string{cut})
			if err != nil || below == c {
				if cut == "languages" && c.Name() == "notebook" { // docs/adding.md adds it
					return ""
				}
				if !code && help.Elsewhere[strings.TrimPrefix(c.CommandPath()+" "+cut, "markmill ")] == "" {
					return ""
				}
				return fmt.Sprintf("%s has no command %s", c.CommandPath(), cut)
			}
			c = below
		case c == root:
			return "" // a file of that name, or an argument
		default:
			ended = true
		}
		if last {
			break
		}
	}
	return ""
}

// goTexts are the comments and texts of a Go file, each joined to one line; a text in several parts is one.
func goTexts(t *testing.T, file string) string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, group := range parsed.Comments {
		out.WriteString(group.Text() + "\n")
	}
	var whole func(ast.Expr) string
	visit := func(n ast.Node) bool {
		e, isText := n.(ast.Expr)
		switch n := n.(type) {
		case *ast.BinaryExpr:
			isText = n.Op == token.ADD
		case *ast.BasicLit:
		default:
			isText = false
		}
		if isText {
			out.WriteString(whole(e) + "\n")
		}
		return !isText
	}
	whole = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return text
		case *ast.BinaryExpr:
			return whole(e.X) + whole(e.Y)
		}
		ast.Inspect(e, visit)
		return "%s"
	}
	ast.Inspect(parsed, visit)
	return out.String()
}
