package cmdtest

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"markmill/cmd/api"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/maintenance"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/runview"
	"markmill/cmd/internal/schedules"
	"markmill/cmd/internal/status"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/agent"
	"markmill/cmd/markmill/agent/summary"
	"markmill/cmd/markmill/apply"
	"markmill/cmd/markmill/check"
	diffcmd "markmill/cmd/markmill/diff"
	"markmill/cmd/markmill/doctor"
	listcmd "markmill/cmd/markmill/list"
	"markmill/cmd/markmill/mcp"
	"markmill/cmd/markmill/notebook/bisect"
	"markmill/cmd/markmill/notebook/scraps"
	"markmill/cmd/markmill/notebook/strip"
	"markmill/cmd/markmill/review/mergereview"
	runscmd "markmill/cmd/markmill/runs"
	"markmill/cmd/markmill/show"
	"markmill/cmd/markmill/verify"
	"markmill/engine/queue"
	"markmill/engine/queue/notify"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/digest"
	"markmill/render/review"
	"markmill/runs"
)

const schemaFolder = docs + "schemas/"

// jsonDocuments are what the commands print with --json, by the name in their schema, with what is said of each.
func jsonDocuments() map[string]struct {
	of    reflect.Type
	about string
} {
	type one = struct {
		of    reflect.Type
		about string
	}
	return map[string]one{
		"run": {reflect.TypeFor[runview.RunDocument](),
			"What markmill run, resume and show RUN print: report.json of the run, and what a " +
				"program needs to go on"},
		"notebook":  {reflect.TypeFor[show.ShownNotebook](), "What markmill show FILE prints"},
		"runs-list": {reflect.TypeFor[listcmd.ListedRuns](), "What markmill list prints, the newest run first"},
		"runs-prune": {reflect.TypeFor[runscmd.ChangedRuns](), "What markmill runs prune prints: the runs that it " +
			"removed"},
		"runs-replay": {reflect.TypeFor[show.Replayed](),
			"What markmill show prints: --events events, and the run as of the last of them"},
		"runs-exchange": {reflect.TypeFor[runscmd.Exchanged](),
			"What markmill runs push and runs pull print: the runs that were sent or taken, and those that the other " +
				"side had"},
		"bisect": {reflect.TypeFor[bisect.Result](),
			"What markmill notebook bisect prints: the first bad commit, or the commits that it is one of, and every " +
				"commit that was asked"},
		"sweep": {reflect.TypeFor[launch.SweepDocument](),
			"What markmill run prints for a sweep, and so does markmill resume SWEEP"},
		"lanes": {reflect.TypeFor[launch.LanesDocument](),
			"What markmill run --attempts prints, and so does markmill run where it compares attempts"},
		"agents-rates": {reflect.TypeFor[agent.AgentRates](), "What markmill agent rates prints"},
		"runs-reconcile": {reflect.TypeFor[runscmd.ChangedRuns](),
			"What markmill runs maintain reconcile prints: the runs that it completed as interrupted"},
		"runs-query": {reflect.TypeFor[listcmd.Queried](),
			"What markmill list --query prints: the columns of the answer, and its rows"},
		"runs-reindex": {reflect.TypeFor[runscmd.Reindexed](), "What markmill runs maintain reindex prints"},
		"runs-compare": {reflect.TypeFor[diffcmd.ComparedRuns](),
			"What markmill diff --values prints: the runs, and the best and the worst of each column"},
		"runs-stats": {reflect.TypeFor[listcmd.RunStats](), "What markmill list --stats --notebook prints"},
		"runs-trace": {reflect.TypeFor[show.TracedRun](),
			"What markmill show prints: --trace the parts of a run and their times"},
		"schedule-list": {reflect.TypeFor[schedules.Listing](),
			"What markmill schedule list prints: the scheduled notebooks, and what is known of each"},
		"runs-maintenance": {reflect.TypeFor[maintenance.Report](),
			"What markmill runs sizes prints: what is kept, and what pruning would remove"},
		"runs-decision": {reflect.TypeFor[runscmd.RunDecision](), "What markmill runs accept and runs reject print"},
		"runs-rerun": {reflect.TypeFor[verify.Repeated](),
			"What markmill verify --rerun prints: rerun.json of the repetition, and how it ended"},
		"verify":   {reflect.TypeFor[verify.Verified](), "What markmill verify prints"},
		"apply":    {reflect.TypeFor[apply.AppliedRun](), "What markmill apply prints"},
		"approval": {reflect.TypeFor[runs.Approval](), "What markmill approve and deny print"},
		"check":    {reflect.TypeFor[check.CheckedNotebooks](), "What markmill check prints"},
		"inspect": {reflect.TypeFor[api.Inspected](), "What markmill check --show and markmill run --help-notebook " +
			"print"},
		"diff": {reflect.TypeOf(diffview.Value(&diff.Diff{Old: &diff.Document{}, New: &diff.Document{}})),
			"What markmill diff prints; docs/review.md says more of its members"},
		"review": {reflect.TypeFor[review.Review](),
			"What markmill review prints; docs/review.md says more of its members"},
		"status": {reflect.TypeFor[status.Status](),
			"What markmill status prints: the outputs of notebooks, and whether they still hold"},
		"gate": {reflect.TypeFor[status.Gated](),
			"What markmill status --gate prints: what it objects to, and the commands that fix it"},
		"review-merge": {reflect.TypeFor[mergereview.Review](),
			"What markmill review --merge prints: what the merge of two commits does to each notebook"},
		"mcp-text": {reflect.TypeFor[mcp.TextDocument](),
			"What the tools log and changes of markmill mcp serve serve give: a part of a text of a run"},
		"mcp-pass": {reflect.TypeFor[mcp.PassDocument](),
			"What the tool run of markmill mcp serve serve gives of a run that passed"},
		"mcp-notebook": {reflect.TypeFor[mcp.NotebookDocument](),
			"What the tools new_notebook, edit_step and add_step of markmill mcp serve serve give"},
		"test":   {reflect.TypeFor[retest.Report](), "What markmill test prints"},
		"doctor": {reflect.TypeFor[doctor.Checkup](), "What markmill doctor prints"},
		"agents": {reflect.TypeFor[agent.AgentsHere](), "What markmill agent list prints"},
		"summary": {reflect.TypeFor[summary.Summary](),
			"What markmill agent summary prints: what is proven of each coding agent, whether it is active, " +
				"and what is to be done"},
		"jobs":   {reflect.TypeFor[queue.List](), "What markmill queue list prints"},
		"job":    {reflect.TypeFor[queue.Shown](), "What markmill queue show, queue fetch and submit print"},
		"slo":    {reflect.TypeFor[digest.Levels](), "What markmill health slo prints"},
		"digest": {reflect.TypeFor[digest.Digest](), "What markmill health digest prints"},
		"mutes":  {reflect.TypeFor[queue.Mutes](), "What markmill health alerts mutes prints: what is muted now"},
		"alerts": {reflect.TypeFor[queue.Outbox](), "What markmill health alerts list prints"},
		"alert-delivery": {reflect.TypeFor[queue.Delivery](),
			"What markmill health alerts show prints: an alert, and what became of it"},
		"alert": {reflect.TypeFor[notify.Document](),
			"What the webhooks and programs of markmill.yaml get of an alert"},
		"scraps":  {reflect.TypeFor[scraps.ScrapsDocument](), "What markmill notebook scraps prints"},
		"strip":   {reflect.TypeFor[strip.Strippable](), "What markmill notebook strip --check prints"},
		"version": {reflect.TypeFor[program.Build](), "What markmill version prints"},
		"error": {reflect.TypeFor[program.Errors](),
			"What a command that was asked for JSON prints when it ends with an error of its own, such as an option " +
				"or a notebook that is wrong"},
	}
}

// TestSchemas fails when docs/schemas is not what the types say that the commands print.
func TestSchemas(t *testing.T) {
	said := comments(t)
	want := map[string]bool{}
	for name, doc := range jsonDocuments() {
		want[name+".json"] = true
		m := &schemaMaker{said: said, defs: map[string]any{}}
		schema := m.object(doc.of)
		properties := schema["properties"].(map[string]any)
		properties["schema"] = map[string]any{"const": views.SchemaOf(name),
			"description": "the name of this document, and its version"}
		schema["required"] = append([]string{"schema"}, schema["required"].([]string)...)
		schema["$schema"], schema["$id"] = "https://json-schema.org/draft/2020-12/schema", views.SchemaOf(name)
		schema["title"] = views.SchemaOf(name)
		schema["description"] = doc.about +
			". Members are only ever added to a version: readers ignore those that they do not know."
		if len(m.defs) > 0 {
			schema["$defs"] = m.defs
		}
		text, err := codec.Indent(schema)
		if err != nil {
			t.Fatal(err)
		}
		file := schemaFolder + name + ".json"
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s is old (%v); run: go test ./cmd/cmdtest -run TestSchemas -update", file, err)
		}
		if _, err := compileSchema(name); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	there, err := filepath.Glob(schemaFolder + "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if !want[filepath.Base(file)] {
			t.Errorf("%s is of no document", file)
		}
	}
}

// schemaMaker makes JSON Schemas of types.
type schemaMaker struct {
	said map[string]string // "package.Type.Field" → its comment
	defs map[string]any
}

func (m *schemaMaker) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[codec.Raw]():
		return map[string]any{} // any value
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		if t.Name() == "" {
			return m.object(t)
		}
		if m.defs[t.Name()] == nil {
			m.defs[t.Name()] = map[string]any{} // a type may hold itself
			m.defs[t.Name()] = m.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	}
	panic("no schema for " + t.String())
}

func (m *schemaMaker) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	m.members(t, properties, &required)
	slices.Sort(required)
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// members adds the members of a struct; those of an embedded one stand behind its own.
func (m *schemaMaker) members(t reflect.Type, properties map[string]any, required *[]string) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			embedded = append(embedded, of)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if properties[name] != nil {
			continue // the outer one is written
		}
		one := m.of(f.Type)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
			one = map[string]any{"anyOf": []any{one, map[string]any{"type": "null"}}}
		}
		if words := m.said[t.PkgPath()+"."+t.Name()+"."+f.Name]; words != "" {
			one["description"] = words
		}
		properties[name] = one
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	for _, of := range embedded {
		m.members(of, properties, required)
	}
}

// comments are what the source says of the fields of structs.
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	folders := map[string]string{"../../runs": "markmill/runs",
		"../../runs/index": "markmill/runs/index", "../../render": "markmill/render",
		"../../notebooks": "markmill/notebooks", "../../notebooks/diff": "markmill/notebooks/diff",
		"../../render/diffview": "markmill/render/diffview", "../../render/digest": "markmill/render/digest",
		"../../engine/queue": "markmill/engine/queue", "../../engine/queue/notify": "markmill/engine/queue/notify",
		"../../render/review": "markmill/render/review",
		"../../render/fresh":  "markmill/render/fresh", "../../engine/schedule": "markmill/engine/schedule",
		"../api": "markmill/cmd/api"}
	commands, err := filepath.Glob("../*/*/doc.go")
	below, belowErr := filepath.Glob("../*/*/*/doc.go")
	if err = errors.Join(err, belowErr); err != nil || len(commands) == 0 || len(below) == 0 {
		t.Fatalf("no command has a package: %v", err)
	}
	for _, file := range append(commands, below...) {
		folder := filepath.ToSlash(filepath.Dir(file))
		folders[folder] = "markmill/cmd" + strings.TrimPrefix(folder, "..")
	}
	for folder, pkg := range folders {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil,
				parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range parsed.Decls {
				general, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range general.Specs {
					typed, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					of, ok := typed.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range of.Fields.List {
						words := strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
						for _, name := range field.Names {
							out[pkg+"."+typed.Name.Name+"."+name.Name] = words
						}
					}
				}
			}
		}
	}
	return out
}

func compileSchema(name string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(filepath.Join(schemaPath, name+".json"))
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// schemaPath is docs/schemas, wherever a script stands.
var schemaPath = func() string {
	path, err := filepath.Abs(schemaFolder)
	if err != nil {
		panic(err)
	}
	return path
}()

// schemaCommand is the command schema of scripts: schema NAME holds what the last command printed against
// docs/schemas/NAME.json.
func schemaCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: schema NAME")
	}
	schema, err := compileSchema(args[0])
	ts.Check(err)
	printed := ts.ReadFile("stdout")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(printed))
	if err != nil {
		ts.Fatalf("no JSON document: %v\n%s", err, printed)
	}
	if err := schema.Validate(doc); err != nil {
		ts.Fatalf("%v\n%s", err, printed)
	}
}

// The report of a run is whole in its document: what a reader of report.json finds there stands in run --json, too.
func TestRunDocumentHoldsTheReport(t *testing.T) {
	m := &schemaMaker{said: map[string]string{}, defs: map[string]any{}}
	document := m.object(reflect.TypeFor[runview.RunDocument]())["properties"].(map[string]any)
	for name := range m.object(reflect.TypeFor[runs.Report]())["properties"].(map[string]any) {
		if document[name] == nil {
			t.Errorf("run --json has no %s", name)
		}
	}
	blocker := m.defs["Cause"].(map[string]any)["properties"].(map[string]any)
	for name := range m.object(reflect.TypeFor[runs.Blocker]())["properties"].(map[string]any) {
		if blocker[name] == nil {
			t.Errorf("a blocker of run --json has no %s", name)
		}
	}
}
