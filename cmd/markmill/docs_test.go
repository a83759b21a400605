package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	mdast "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/render"
	"markmill/runs"
)

const docs = "../../docs/"

// TestFormatIsWhole fails when the program knows a key, an attribute, a tag, … that docs/format.md does not.
func TestFormatIsWhole(t *testing.T) {
	doc := readDoc(t, "format.md")
	keys := "../../notebooks/"
	for _, c := range []struct {
		section string
		row     bool // each has a table row of its own
		names   []string
	}{
		{"Front matter", true, append(tableKeys(t, keys+"frontkeys.go", "frontKeys"), "params")},
		{"Front matter", true, tableStrings(t, keys+"frontkeys.go", "frontNames")},
		{"Keys of other tools", false, tableStrings(t, keys+"front.go", "foreignKeys")},
		{"Attributes", true, tableKeys(t, keys+"attributes.go", "attributes")},
		{"Tags", true, append(constants(t, keys+"notebook.go", "Tag"), "step")},
		{"Tags of other tools", false, tableKeys(t, keys+"tags.go", "tagNames")},
		{"Steps", false, tableStrings(t, keys+"languages.go", "languages")},
		{"Steps", false, tableStrings(t, keys+"tags.go", "presentationClasses")},
		{"Options of the other forms", false, tableKeys(t, keys+"form_runme.go", "runmeKeys")},
		{"Parameters", false, tableStrings(t, keys+"param_block.go", "longKeys")},
		{"Types", true, without(constants(t, keys+"value.go", "Type"), string(notebooks.TypeNull))},
		{"What a step's environment is", false, tableStrings(t, "../../engine/env.go", "passed")},
		{"What a step's environment is", false, tableKeys(t, "../../engine/env.go", "fixed")},
		{"Scraps", true, constants(t, "../../runs/scraps.go", "Scrap")},
		{"Normalize rules", true, render.NormalizeNames()},
	} {
		if len(c.names) == 0 {
			t.Errorf("section %q is held against an empty table: has it moved?", c.section)
		}
		text := doc.section(t, c.section)
		for _, name := range c.names {
			if c.row && !text.hasRow(name) {
				t.Errorf("format.md: section %q has no row of `%s`", c.section, name)
			} else if !text.mentions(name) {
				t.Errorf("format.md: section %q does not mention `%s`", c.section, name)
			}
		}
	}
}

// TestEvidenceIsWhole does the same for docs/evidence.md: events and their fields, the report, codes and files.
func TestEvidenceIsWhole(t *testing.T) {
	doc := readDoc(t, "evidence.md")
	data := map[runs.EventType]any{
		runs.RunStarted: runs.RunStartedData{}, runs.ContractCreated: runs.ContractData{}, runs.PlanUpdated: runs.PlanData{},
		runs.GateBlocked: runs.GateData{}, runs.ApprovalRequested: runs.GateData{}, runs.ApprovalGranted: struct{}{}, runs.ApprovalDenied: runs.GateData{},
		runs.StepStarted: runs.StepStartedData{}, runs.ScrapRecorded: runs.ScrapData{}, runs.PatchApplied: runs.PatchData{},
		runs.StepFinished: runs.StepFinishedData{}, runs.GitDiffChecked: runs.DiffCheckedData{},
		runs.VerificationCompleted: runs.VerificationData{}, runs.RunCompleted: runs.CompletedData{},
	}
	for _, name := range typedConstants(t, "../../runs/event.go", "EventType") {
		value, known := data[runs.EventType(name)]
		if !known {
			t.Errorf("the event %s is new: name its data in this test", name)
			continue
		}
		text := doc.section(t, name)
		for _, field := range fields(reflect.TypeOf(value)) {
			if !text.mentions(field) {
				t.Errorf("evidence.md: section %q does not mention the field `%s`", name, field)
			}
		}
	}
	for section, value := range map[string]any{
		"The journal": runs.Event{}, "Changed files": runs.ChangedFile{}, "Parameters": runs.ParamData{}, "Blockers": runs.Blocker{},
		"Test counts": runs.TestCounts{}, "report.json": runs.Report{},
	} {
		text := doc.section(t, section)
		for _, field := range fields(reflect.TypeOf(value)) {
			if !text.mentions(field) {
				t.Errorf("evidence.md: section %q does not mention the field `%s`", section, field)
			}
		}
	}
	codes := doc.section(t, "Fail closed")
	for _, code := range constants(t, "../../runs/codes.go", "Code") {
		if !codes.mentions(code) {
			t.Errorf("evidence.md: section \"Fail closed\" does not mention `%s`", code)
		}
	}
	files := doc.section(t, "The run directory")
	for _, name := range []string{runs.JournalFile, runs.OutputFile, runs.ReportFile, runs.ReportPageFile, runs.PatchFile, runs.TestLogFile,
		runs.TraceFile, runs.SumsFile, runs.LockFile} {
		if !files.mentions(name) {
			t.Errorf("evidence.md: section \"The run directory\" does not mention `%s`", name)
		}
	}
}

// TestEvidenceExample reads the journal of the worked example.
func TestEvidenceExample(t *testing.T) {
	journal := readDoc(t, "evidence.md").section(t, "Worked example").fence(t, "jsonl")
	events, torn, err := runs.ReadJournal(strings.NewReader(journal), runs.DigestOf([]byte("# Empty\n")))
	if err != nil || torn || len(events) != 2 {
		t.Fatalf("%d events, torn %v: %v", len(events), torn, err)
	}
	if _, err := runs.Fold(events); err != nil {
		t.Error(err)
	}
}

// TestDocumentedChecks runs the Python of the documents, which verify without Markmill, on files that this program made.
func TestDocumentedChecks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	run := func(program string, args ...string) (string, error) {
		out, err := exec.Command(python, append([]string{"-c", program}, args...)...).CombinedOutput()
		return string(out), err
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}

	regions := readDoc(t, "format.md").section(t, "Markers and digest").fence(t, "python")
	for _, source := range []string{"```sh {#a}\ntrue\n```\n", "```sh {#a}\r\ntrue\r\n```\r\n", "```sh {#a}\ntrue\n```"} {
		output := notebooks.Splice([]byte(source), []notebooks.Region{{ID: "a", At: len(source), Body: []byte("é and more")}}, notebooks.Manifest{Status: "pass"})
		if out, err := run(regions, write("out.md", string(output))); err != nil || out != "out a ok\nmanifest ok\n" {
			t.Errorf("the check of regions says of %q: %q, %v", source, out, err)
		}
		edited := strings.Replace(string(output), "and more", "and less", 1)
		if out, _ := run(regions, write("out.md", edited)); out != "out a EDITED\nmanifest ok\n" {
			t.Errorf("the check of regions says of an edited one: %q", out)
		}
	}

	evidence := readDoc(t, "evidence.md")
	chain := evidence.section(t, "Verifying").fence(t, "python")
	journal := evidence.section(t, "Worked example").fence(t, "jsonl")
	write("notebook.md", "# Empty\n")
	write(runs.JournalFile, journal)
	if out, err := run(chain, dir); err != nil || !strings.HasPrefix(out, "the chain holds: 2 events, run.completed interrupted sha256:") {
		t.Errorf("the check of the chain says %q, %v", out, err)
	}
	write(runs.JournalFile, strings.Replace(journal, `"pid":4242`, `"pid":4243`, 1))
	if out, err := run(chain, dir); err == nil || !strings.Contains(out, "event 0: changed") {
		t.Errorf("the check of the chain says of a changed event: %q, %v", out, err)
	}
}

// TestKernelTable holds the table of docs/adding-a-kernel.md against the program's.
func TestKernelTable(t *testing.T) {
	table := readDoc(t, "adding-a-kernel.md").section(t, "The table")
	for _, word := range tableStrings(t, "../../engine/kernel/table.go", "languages") {
		if !table.mentions(word) {
			t.Errorf("adding-a-kernel.md: section \"The table\" does not mention `%s`", word)
		}
	}
}

// TestKernelExample runs the kernel that docs/adding-a-kernel.md adds, on the notebook that it shows.
func TestKernelExample(t *testing.T) {
	for _, program := range []string{"awk", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	section := readDoc(t, "adding-a-kernel.md").section(t, "A command")
	notebook := regexp.MustCompile("(?s)`````markdown\n(.*?\n)`````\n").FindStringSubmatch(string(section))
	if notebook == nil {
		t.Fatal("the section shows no notebook")
	}
	yaml := regexp.MustCompile("(?s)```yaml\n(kernels:.*?\n)```\n").FindStringSubmatch(string(section))
	if yaml == nil {
		t.Fatal("the section shows no settings")
	}
	script := filepath.Join(t.TempDir(), "kernel.txtar")
	text := "[!git] skip 'no git on this machine'\ncd project\nexec git init -q\nexec git add .\nexec git commit -qm base\n" +
		"exec markmill run task.md out.md\ngrep '^3$' out.md\n-- project/markmill.yaml --\n" + yaml[1] + "-- project/task.md --\n" + notebook[1]
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	runScripts(t, filepath.Dir(script))
}

// TestLinks follows the relative links of the documents: the file is there, and the heading in it.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob(docs + "*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range append(files, "../../README.md", "../../ARCHITECTURE.md") {
		for _, target := range links(t, file) {
			link, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: %q is no link: %v", file, target, err)
				continue
			}
			if link.Scheme != "" || link.Host != "" {
				continue
			}
			to := file
			if link.Path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(link.Path))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, target)
				continue
			}
			if link.Fragment != "" && !slices.Contains(anchors(t, to), link.Fragment) {
				t.Errorf("%s: the link %s names no heading", file, target)
			}
		}
	}
}

// document is the text of a document, or of one section of it.
type document string

func readDoc(t *testing.T, name string) document {
	t.Helper()
	b, err := os.ReadFile(docs + name)
	if err != nil {
		t.Fatal(err)
	}
	return document(b)
}

// section is what stands below a heading, up to the next of its level.
func (d document) section(t *testing.T, heading string) document {
	t.Helper()
	var out []string
	level := 0
	fenced := ""
	for _, line := range strings.Split(string(d), "\n") {
		if mark := fenceMark.FindString(line); mark != "" {
			if fenced == "" {
				fenced = mark
			} else if strings.HasPrefix(mark, fenced) {
				fenced = ""
			}
		}
		title := strings.TrimLeft(line, "#")
		if depth := len(line) - len(title); depth > 0 && fenced == "" {
			if level > 0 && depth <= level {
				return document(strings.Join(out, "\n"))
			}
			if level == 0 && strings.Trim(title, " `") == heading {
				level = depth
			}
		}
		if level > 0 {
			out = append(out, line)
		}
	}
	if level == 0 {
		t.Fatalf("there is no section %q", heading)
	}
	return document(strings.Join(out, "\n"))
}

var fenceMark = regexp.MustCompile("^`{3,}")

// hasRow says that a row of a table begins with the name.
func (d document) hasRow(name string) bool {
	row := regexp.MustCompile("(?m)^\\| (`[^`|]+`, )*`" + regexp.QuoteMeta(name) + "`[ ,]")
	return row.MatchString(string(d))
}

// mentions says that the name stands in a code span or a fence, as a word of its own.
func (d document) mentions(name string) bool {
	code := strings.Join(codePart.FindAllString(string(d), -1), "\n")
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(code)
}

var codePart = regexp.MustCompile("(?s)```+.*?```+|`[^`\n]+`")

// fence is the code of the only block of a language in the section.
func (d document) fence(t *testing.T, lang string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```"+lang+"\n(.*?\n)```\n").FindAllStringSubmatch(string(d)+"\n", -1)
	if len(found) != 1 {
		t.Fatalf("the section has %d fences of %s", len(found), lang)
	}
	return found[0][1]
}

// apart are the structs that have a section of their own wherever they stand.
var apart = []reflect.Type{reflect.TypeFor[runs.ChangedFile](), reflect.TypeFor[runs.ParamData](), reflect.TypeFor[runs.Blocker](),
	reflect.TypeFor[runs.TestCounts](), reflect.TypeFor[runs.ScrapData]()}

// fields lists the JSON names of a struct, and of the structs of this module in it.
func fields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		inner := of.Field(i).Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && strings.HasPrefix(inner.PkgPath(), "markmill/") && !slices.Contains(apart, inner) {
			names = append(names, fields(inner)...)
		}
	}
	return names
}

// declarations are the variables and constants of a Go file, by name.
func declarations(t *testing.T, file string) map[string]*ast.ValueSpec {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*ast.ValueSpec{}
	for _, decl := range parsed.Decls {
		if general, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range value.Names {
						found[name.Name] = value
					}
				}
			}
		}
	}
	return found
}

// constants are the texts of the constants whose name begins with a prefix and a capital.
func constants(t *testing.T, file, prefix string) []string {
	return selected(t, file, func(name string, _ *ast.ValueSpec) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && rest != "" && unicode.IsUpper(rune(rest[0]))
	})
}

// typedConstants are the texts of the constants of a type.
func typedConstants(t *testing.T, file, typeName string) []string {
	return selected(t, file, func(_ string, spec *ast.ValueSpec) bool {
		word, ok := spec.Type.(*ast.Ident)
		return ok && word.Name == typeName
	})
}

func selected(t *testing.T, file string, want func(string, *ast.ValueSpec) bool) []string {
	t.Helper()
	var out []string
	for name, spec := range declarations(t, file) {
		if want(name, spec) && len(spec.Values) == 1 {
			out = append(out, texts(spec.Values[0])...)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no such constants", file)
	}
	slices.Sort(out)
	return out
}

// tableKeys are the keys of a map literal that are texts.
func tableKeys(t *testing.T, file, name string) []string {
	t.Helper()
	var out []string
	if literal, ok := variable(t, file, name).(*ast.CompositeLit); ok {
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				out = append(out, texts(pair.Key)...)
			}
		}
	}
	return out
}

// tableStrings are all texts of a literal, or of the call that makes a table.
func tableStrings(t *testing.T, file, name string) []string { return texts(variable(t, file, name)) }

func variable(t *testing.T, file, name string) ast.Expr {
	t.Helper()
	spec := declarations(t, file)[name]
	if spec == nil || len(spec.Values) != 1 {
		t.Fatalf("%s does not declare %s", file, name)
	}
	return spec.Values[0]
}

func texts(in ast.Node) []string {
	var out []string
	ast.Inspect(in, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if s, err := strconv.Unquote(literal.Value); err == nil && s != "" {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

func without(list []string, gone string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == gone })
}

// links are the destinations of a document's links and pictures.
func links(t *testing.T, file string) []string {
	var out []string
	walk(t, file, func(n mdast.Node, _ []byte) {
		switch n := n.(type) {
		case *mdast.Link:
			out = append(out, string(n.Destination))
		case *mdast.Image:
			out = append(out, string(n.Destination))
		}
	})
	return out
}

// anchors are the fragments that a forge gives a document's headings.
func anchors(t *testing.T, file string) []string {
	var out []string
	seen := map[string]int{}
	walk(t, file, func(n mdast.Node, src []byte) {
		if n.Kind() != mdast.KindHeading {
			return
		}
		var b strings.Builder
		for _, r := range strings.ToLower(plainText(n, src)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		slug := b.String()
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	})
	return out
}

func plainText(n mdast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if text, ok := c.(*mdast.Text); ok {
			b.Write(text.Value(src))
		} else {
			b.WriteString(plainText(c, src))
		}
	}
	return b.String()
}

func walk(t *testing.T, file string, visit func(mdast.Node, []byte)) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = mdast.Walk(goldmark.New().Parser().Parse(text.NewReader(src)), func(n mdast.Node, entering bool) (mdast.WalkStatus, error) {
		if entering {
			visit(n, src)
		}
		return mdast.WalkContinue, nil
	})
}
