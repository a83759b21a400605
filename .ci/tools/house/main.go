// House checks what the compiler does not: which package may import which, which library belongs
// to which package, who joins the paths of a record, who writes files, how much a folder weighs, and the few rules of
// style that can be counted.
//
// Every Go file is read, whatever system it is built for: an import in a file for Windows only
// counts too. The folder to check is the one argument.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const module = "markmill"

// roof is the longest a Go file may be, in lines.
const roof = 800

// columns is the longest a line may be; a tab counts as four. Lines of a raw string are what they are.
const columns = 120

// layers says, by top-level folder, which folders of the module its packages may import.
// A folder that is not here may hold no Go package.
var layers = map[string][]string{
	"notebooks": {"notebooks"},
	"runs":      {"notebooks", "runs"},
	"engine":    {"notebooks", "runs", "engine"},
	"render":    {"notebooks", "runs", "render"},
	"cmd":       {"notebooks", "runs", "engine", "render", "cmd", "docs"},
	"bench":     {"notebooks", "runs", "engine", "cmd"},
	"docs":      {},
	"examples":  {},
}

// A library is kept behind one package, so that it can be replaced there.
type library struct {
	path  string // import path; what lies below it counts as well
	owner string // folder that may import it; "" is none
	tests bool   // test files may import it anywhere
	why   string
}

const storage = "notebooks at addresses are read and written by cmd/internal/remote"

var libraries = []library{
	{"encoding/json", "", true, "JSON goes through notebooks/codec"},
	{"github.com/goccy/go-json", "notebooks/codec", false, "JSON goes through notebooks/codec"},
	{"github.com/go-git", "engine/worktree", false, "Git goes through engine/worktree"},
	{"github.com/parquet-go", "runs/parquet", false, "Parquet is read and written by runs/parquet"},
	{"github.com/klauspost/compress/s2", "runs/parquet", false, "Parquet is read and written by runs/parquet"},
	{"github.com/klauspost/compress/snappy", "runs/parquet", false, "Parquet is read and written by runs/parquet"},
	{"github.com/klauspost/compress/zlib", "engine/worktree/object", false, "objects are read by " +
		"engine/worktree/object"},
	{"github.com/go-analyze/charts", "render/plot", false, "plots are drawn by render/plot"},
	{"zombiezen.com/go/sqlite", "runs/index", false, "SQLite is read and written by runs/index"},
	{"modernc.org", "runs/index", false, "SQLite is read and written by runs/index"},
	{"golang.org/x/net/html", "render", true, "HTML is read where views are made"},
	{"github.com/aws", "cmd/internal/remote", false, storage},
	{"golang.org/x/oauth2", "cmd/internal/remote", false, storage},
	{"github.com/hashicorp/go-retryablehttp", "cmd/internal/remote", false, storage},
	{"github.com/hiddeco/sshsig", "runs/sshsig", false, "SSH signatures are made and read by runs/sshsig"},
	{"github.com/google/jsonschema-go", "cmd/markmill/mcp", false, "schemas are those of docs/schemas"},
	{"github.com/modelcontextprotocol", "cmd/markmill/mcp", true, "the protocol is spoken by cmd/markmill/mcp"},
	{"github.com/nats-io", "engine/queue/jetstream", false, "jobs are kept by engine/queue/jetstream, which only " +
		"cmd/markmill-server links"},
	{"html/template", "cmd/markmill-server/serve/web", false, "pages that are served are made by cmd/markmill-server/serve/web, which only " +
		"cmd/markmill-server links"},
	{"github.com/wneessen/go-mail", "engine/queue/notify", false, "mail is sent by engine/queue/notify, which only " +
		"cmd/markmill-server links"},
	{"net/http", "cmd/internal/remote cmd/markmill/mcp cmd/markmill-server/serve/web engine/kernel/jupyter engine/agent/scripted " +
		"engine/queue/notify", true, storage},
	{"mvdan.cc/sh", "engine/worktree/listing", false, "scripts are read by engine/worktree/listing"},
	{"github.com/coder/websocket", "engine/kernel/jupyter", false, "kernels are spoken with by engine/kernel/jupyter"},
}

// A writer is a folder or file that may write files by their paths, and what it writes. Everything else that is written
// is for a person, and goes through runs/outfile, which knows where it may go.
type writer struct{ path, what string }

var writers = []writer{
	{"bench", "measurements"},
	{"cmd/internal/records/apply.go", "the list of applied runs, in the store"},
	{"cmd/markmill/doctor", "a temporary folder"},
	{"cmd/internal/lookup/lookup.go", "nothing: it only reads below a folder"},
	{"cmd/internal/retest/run.go", "nothing: it only reads below a folder"},
	{"cmd/internal/schedules", "the state of schedules, in the store, and a temporary folder"},
	{"cmd/internal/views/views.go", "the views of a record"},
	{"cmd/internal/runview/output.go", "nothing: it only reads below a folder"},
	{"cmd/markmill/show/pager.go", "pages in the cache"},
	{"cmd/markmill-server/queue/client", "the folders of workers, records that come back, and parts of them"},
	{"cmd/markmill-server/serve/web/launch.go", "temporary files without a name; it only looks at notebooks"},
	{"cmd/markmill-server/serve/web/tokens.go", "the tokens of the workbench, in the file that its operator names"},
	{"engine", "records, the private folders of runs, worktrees and Git objects"},
	{"runs", "the store"},
}

// settled are the files that write settings (outfile.Setting and New), whose paths no notebook, parameter or branch
// chooses.
var settled = []writer{
	{"cmd/markmill/agent/admit.go", "markmill.yaml, for agents admit"},
	{"cmd/markmill/mcp/install.go", "configurations of agents, for mcp install"},
	{"cmd/markmill/git/attributes.go", "attributes, for git install"},
	{"cmd/internal/maintenance/schedule.go", "units of systemd, for schedule install"},
	{"cmd/markmill/notebook/merge/command.go", "the file that Git gives its merge driver"},
	{"cmd/markmill/new/command.go", "a notebook that must not exist"},
}

// writing are the functions that make or replace files by their paths.
var writing = map[string][]string{
	"os": {"WriteFile", "Create", "CreateTemp", "OpenFile", "Rename", "Mkdir", "MkdirAll", "MkdirTemp", "Symlink", "Link",
		"CopyFS", "OpenRoot", "Truncate"},
	"runs": {"WriteFile", "WriteStream", "WriteNewFile", "Create"},
}

// vague names say nothing of what a package owns.
var vague = []string{"utils", "util", "common", "helpers", "misc"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: house FOLDER")
		os.Exit(2)
	}
	root := os.DirFS(os.Args[1])
	found, files, err := check(root)
	if err == nil {
		var heavy []string
		heavy, err = checkWeight(root)
		found = append(found, heavy...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
	if files == 0 {
		fmt.Fprintln(os.Stderr, "house: no Go file there")
		os.Exit(2)
	}
}

// check returns what is wrong below root, one finding a line, and how many files it read.
func check(root fs.FS) (found []string, files int, err error) {
	documented := map[string]bool{} // folder of a package → one of its files has a package comment
	err = sources(root, func(name string, src []byte) error {
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found = append(found, checkImports(set, file, name)...)
		found = append(found, checkStyle(set, file, name, src)...)
		found = append(found, checkColumns(set, file, name, src)...)
		found = append(found, checkRecordPaths(set, file, name)...)
		found = append(found, checkStoreFiles(set, file, name)...)
		found = append(found, checkWriters(set, file, name)...)
		dir := path.Dir(name)
		if !strings.HasSuffix(name, "_test.go") {
			documented[dir] = documented[dir] || file.Doc != nil
		}
		return nil
	})
	for dir, has := range documented {
		if !has {
			found = append(found, fmt.Sprintf("%s: no package comment says what it owns", dir))
		}
	}
	slices.Sort(found)
	return found, files, err
}

// sources calls visit with each Go file below root. What lies in testdata, or in a folder whose name begins with . or _,
// is not part of the module.
func sources(root fs.FS, visit func(name string, src []byte) error) error {
	return fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") ||
			d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return visit(name, src)
	})
}

func checkImports(set *token.FileSet, file *ast.File, name string) (found []string) {
	dir := path.Dir(name)
	top, _, _ := strings.Cut(dir, "/")
	allowed, known := layers[top]
	if !known {
		return []string{fmt.Sprintf("%s: no Go package belongs in the folder %q", name, top)}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it
		}
		at := set.Position(spec.Pos())
		if within(imported, module) {
			target, _, _ := strings.Cut(strings.TrimPrefix(imported, module+"/"), "/")
			if !slices.Contains(allowed, target) {
				found = append(found, fmt.Sprintf("%s: %s may not import %s (it may import: %s)", at, top, imported,
					strings.Join(allowed, ", ")))
			}
		}
		for _, lib := range libraries {
			if within(imported, lib.path) &&
				!slices.ContainsFunc(strings.Fields(lib.owner),
					func(owner string) bool { return within(dir, owner) }) &&
				!(lib.tests && strings.HasSuffix(name, "_test.go")) {
				found = append(found, fmt.Sprintf("%s: %s may not import %s: %s", at, dir, imported, lib.why))
			}
		}
	}
	return found
}

func checkStyle(set *token.FileSet, file *ast.File, name string, src []byte) (found []string) {
	if lines := bytes.Count(src, []byte("\n")); lines > roof {
		found = append(found, fmt.Sprintf("%s: %d lines; %d is the roof", name, lines, roof))
	}
	if slices.Contains(vague, file.Name.Name) {
		found = append(found, fmt.Sprintf("%s: a package named %q does not say what it owns",
			set.Position(file.Name.Pos()), file.Name.Name))
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, fmt.Sprintf("%s: no init functions: a table is plain to read", set.Position(f.Pos())))
		}
	}
	return found
}

// checkColumns finds lines that are too long, and hold no part of a raw string.
func checkColumns(set *token.FileSet, file *ast.File, name string, src []byte) (found []string) {
	raw := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '`' {
			for line := set.Position(lit.Pos()).Line; line <= set.Position(lit.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	line := 0
	for text := range strings.Lines(string(src)) {
		line++
		text = strings.TrimRight(text, "\r\n")
		if width := utf8.RuneCountInString(text) + 3*strings.Count(text, "\t"); width > columns && !raw[line] {
			found = append(found, fmt.Sprintf("%s:%d: %d columns; lines end at %d", name, line, width, columns))
		}
	}
	return found
}

// checkRecordPaths finds paths of a record's files that another package than runs joins by hand: a record may be an
// archive, and runs.Record gives its files by name.
func checkRecordPaths(set *token.FileSet, file *ast.File, name string) (found []string) {
	if within(path.Dir(name), "runs") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !selects(call.Fun, "filepath", "Join") {
			return true
		}
		for _, arg := range call.Args {
			if f, ok := arg.(*ast.CallExpr); ok {
				arg = f.Fun
			}
			if selects(arg, "runs", "File") || selects(arg, "runs", "Dir") {
				found = append(found, fmt.Sprintf("%s: the paths of a record are joined in runs only: use runs.Record",
					set.Position(call.Pos())))
			}
		}
		return true
	})
	return found
}

// openers are the files of package runs that may open files themselves: those of runs.Writer, the journal, which has
// one; locks, marks, the reserve and a random key, which hold no text; OUTPUT, which is not in the store; and data, which
// is kept as a run wrote it.
var openers = []string{"writer.go", "files.go", "journal.go", "lock.go", "claim.go", "reserve.go",
	"approvals.go", "data.go"}

// checkStoreFiles finds files of a store that are not written by runs.Writer, which masks the secrets of a run.
func checkStoreFiles(set *token.FileSet, file *ast.File, name string) (found []string) {
	inRuns := path.Dir(name) == "runs"
	if strings.HasSuffix(name, "_test.go") || within(path.Dir(name), "runs/index") || // SQLite writes that, from records
		inRuns && slices.Contains(openers, path.Base(name)) {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		opens := false
		for _, does := range []string{"WriteFile", "Create", "OpenFile", "CreateTemp"} {
			opens = opens || selects(call.Fun, "os", does)
		}
		for _, does := range []string{"WriteFile", "WriteNewFile", "WriteStream", "Create"} {
			name, plain := call.Fun.(*ast.Ident)
			opens = opens || selects(call.Fun, "runs", does) || inRuns && plain && name.Name == does
		}
		if opens && (inRuns || ofStore(call.Args[0])) {
			found = append(found, fmt.Sprintf("%s: a file of a store is written by its runs.Writer, which masks secrets",
				set.Position(call.Pos())))
		}
		return true
	})
	return found
}

// checkWriters finds files that are written elsewhere than by a writer.
func checkWriters(set *token.FileSet, file *ast.File, name string) (found []string) {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	is := func(list []writer) bool {
		return slices.ContainsFunc(list, func(w writer) bool { return within(name, w.path) })
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, rules := n.(*ast.CompositeLit)
		if rules {
			n = literal.Type
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		rules = rules && ok && pkg.Name == "outfile" && s.Sel.Name == "Rules"
		switch {
		case !ok:
		case slices.Contains(writing[pkg.Name], s.Sel.Name) && !is(writers):
			found = append(found, fmt.Sprintf("%s: %s.%s writes by a path: what is written for a person goes through "+
				"runs/outfile, and other writers are listed with what they write", set.Position(s.Pos()), pkg.Name, s.Sel.Name))
		case pkg.Name == "outfile" && (s.Sel.Name == "Setting" || s.Sel.Name == "New") && !is(settled):
			found = append(found, fmt.Sprintf("%s: outfile.%s is for settings: open an output, or list which file a command "+
				"owns", set.Position(s.Pos()), s.Sel.Name))
		case rules && !within(name, "engine"):
			found = append(found, fmt.Sprintf("%s: the rules for outputs are those of engine.OutputRules, which know "+
				"the policy; a program without the engine has markmill write for it", set.Position(s.Pos())))
		}
		return true
	})
	return found
}

// ofStore reports whether a path is joined from that of a record or of a store.
func ofStore(arg ast.Expr) (is bool) {
	ast.Inspect(arg, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			is = is || ok && s.Sel.Name == "File"
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			is = is || ok && n.Sel.Name == "Dir" && strings.EqualFold(x.Name, "store")
		}
		return true
	})
	return is
}

// selects says whether an expression is a name of a package that ends so.
func selects(e ast.Expr, pkg, ending string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && strings.HasSuffix(s.Sel.Name, ending)
}

// within says whether p is folder or lies below it; nothing lies within "".
func within(p, folder string) bool {
	return folder != "" && (p == folder || strings.HasPrefix(p, folder+"/"))
}
