package listing

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quiet are commands that list no folder. Some do with an option (see loud).
var quiet = words(`: [ [[ alias basename bc break cat cd chmod cmp comm continue cp curl cut date declare diff
	dirname echo env exit export expr false fgrep egrep grep head hostname id jq kill let ln local mkdir mv nl od paste
	popd printf printenv pushd pwd read readonly return rm rmdir sed seq set sha1sum sha256sum shift shopt sleep sort
	stat tac tail tee test touch tr true type typeset ulimit umask uname uniq unset wait wc which xxd yes`)

// listers are commands of the system that show every name.
var listers = words(`ls git tree du stat file readlink realpath`)

// gitRuns are words with which Git starts programs.
var gitRuns = words(`bisect difftool foreach mergetool -c -x --exec`)

// loud are the options with which a quiet command lists folders.
var loud = map[string]string{"cp": "rRa", "rm": "rR", "grep": "rRd", "egrep": "rRd", "fgrep": "rRd", "diff": "r",
	"chmod": "R"}

// run is the word that comes before the command of a package manager.
const run = 1

// around are commands that run another, and how many words of theirs come before it that are no options.
var around = map[string]int{"nice": 0, "nohup": 0, "exec": 0, "env": 0, "command": 0, "builtin": 0, "setsid": 0,
	"uv": run, "poetry": run, "pdm": run, "pipenv": run, "hatch": run}

// pythonTools list folders to find Python's files.
var pythonTools = words(`pytest py.test unittest mypy ruff flake8 black isort pylint pyflakes coverage doctest compileall`)

func words(text string) []string { return strings.Fields(text) }

// ofShell is what lists folders in a script of a shell: its globs, and the programs that it calls.
func ofShell(script string, depth int) Lister {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil || depth > 3 {
		return Every()
	}
	s := shell{functions: map[string]bool{}, plain: map[string]bool{}, depth: depth}
	syntax.Walk(file, s.declare)
	var l Lister
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			for _, w := range n.Args {
				l.add(s.globs(w))
			}
			if len(n.Args) > 0 {
				l.add(s.command(n.Args))
			}
		case *syntax.WordIter:
			for _, w := range n.Items {
				l.add(s.globs(w))
			}
		case *syntax.ExtGlob:
			l.add(Every())
		}
		return true
	})
	return l
}

// shell is what a script declares.
type shell struct {
	functions map[string]bool // what they call is seen where they are declared
	plain     map[string]bool // variables, and whether none of their values can be a glob
	depth     int             // of scripts in options of other shells
}

func (s *shell) declare(n syntax.Node) bool {
	note := func(name *syntax.Lit, plain bool) {
		if name != nil {
			was, known := s.plain[name.Value]
			s.plain[name.Value] = plain && (was || !known)
		}
	}
	switch n := n.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil {
			s.functions[n.Name.Value] = true
		}
	case *syntax.Assign:
		text, ok := "", n.Value == nil && n.Array == nil && !n.Append
		if n.Value != nil {
			text, ok = literal(n.Value)
		}
		note(n.Name, ok && !strings.ContainsAny(text, "*?["))
	case *syntax.WordIter: // a name that a glob found
		note(n.Name, true)
	}
	return true
}

// literal is the text of a word without expansions; ok is false for another.
func literal(w *syntax.Word) (text string, ok bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// globs are the names that match the globs of a word. A variable without quotes may hold one.
func (s *shell) globs(w *syntax.Word) Lister {
	bare := func(text string) bool { return strings.ContainsAny(strings.ReplaceAll(text, `\*`, ""), "*?[") }
	glob := false
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			glob = glob || bare(part.Value)
		case *syntax.CmdSubst:
			return Every()
		case *syntax.ParamExp:
			if part.Param == nil || !s.plain[part.Param.Value] && !strings.Contains("?#$!-", part.Param.Value) {
				return Every()
			}
		}
	}
	if !glob {
		return Lister{}
	}
	text, ok := literal(w)
	dir, name := path.Split(text)
	if _, err := path.Match(name, ""); !ok || bare(dir) || err != nil || !bare(name) {
		return Every()
	}
	return Lister{patterns: []string{here + name}}
}

// command is what a command lists.
func (s *shell) command(call []*syntax.Word) Lister {
	var args []string
	for _, w := range call {
		text, ok := literal(w)
		if !ok {
			text = "$" // it is no option and names no program
		}
		args = append(args, text)
	}
	name := args[0]
	if s.functions[name] {
		return Lister{}
	}
	if before, ok := around[name]; ok {
		rest := call[1:]
		if before == run && (len(args) < 2 || args[1] != "run") {
			return Every()
		}
		for len(rest) > 0 {
			text, _ := literal(rest[0])
			switch {
			case strings.HasPrefix(text, "-") || strings.Contains(text, "="):
			case before > 0:
				before--
			default:
				return s.command(rest)
			}
			rest = rest[1:]
		}
		return Lister{}
	}
	name = path.Base(name)
	switch {
	case name != args[0] && !strings.HasPrefix(args[0], "/bin/") && !strings.HasPrefix(args[0], "/usr/bin/") &&
		(slices.Contains(listers, name) || slices.Contains(quiet, name)):
		return Every() // a program of that name elsewhere
	case name == "git" && slices.ContainsFunc(args[1:], func(a string) bool { return slices.Contains(gitRuns, a) }):
		return Every()
	case name == "trap" && len(args) > 1:
		return ofShell(args[1], s.depth+1)
	case slices.Contains(listers, name):
		return all(walked(name, args[1:]))
	case slices.Contains(quiet, name):
		for _, arg := range args[1:] {
			long := strings.HasPrefix(arg, "--recursive") || strings.HasPrefix(arg, "--archive")
			if loud[name] != "" && (long || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") &&
				strings.ContainsAny(arg, loud[name])) {
				return all(walked(name, args[1:]))
			}
		}
		return Lister{}
	case name == "bash" || name == "sh":
		if at := slices.Index(args, "-c"); at > 0 && at+1 < len(args) && args[at+1] != "$" {
			return ofShell(args[at+1], s.depth+1)
		}
		return Every()
	case (name == "source" || name == ".") && len(args) == 2 && path.Base(args[1]) == "activate":
		return Lister{} // of a virtual environment
	case name == "timeout" && len(call) > 2:
		return s.command(call[2:])
	case name == "find":
		return ofFind(args[1:])
	case slices.Contains(pythonTools, name):
		return Lister{patterns: []string{Python}, opens: true, calls: true}
	case strings.TrimRight(name, "0123456789.") == "python":
		if at := slices.Index(args, "-m"); at > 0 && at+1 < len(args) && slices.Contains(pythonTools, args[at+1]) {
			return Lister{patterns: []string{Python}, opens: true, calls: true}
		}
		if at := slices.Index(args, "-c"); at > 0 && at+1 < len(args) && args[at+1] != "$" {
			return ofPython(args[at+1])
		}
		return Lister{patterns: []string{Python}, opens: true, blind: true, imports: slices.Contains(args, "-m"),
			calls: true}
	case name == "go" && len(args) > 1 && slices.Contains(words("build test vet run list install generate"), args[1]),
		name == "gofmt", name == "staticcheck":
		return Lister{patterns: []string{Go}, opens: true, calls: true}
	}
	return Every()
}

// ofFind is what find shows: the names that it is asked for, or all.
func ofFind(args []string) Lister {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" })
	if at < 0 {
		at = len(args)
	}
	l := Lister{walks: walked("find", args[:at])}
	every := false
	for i, arg := range args {
		switch arg {
		case "-name":
			if i+1 == len(args) || args[i+1] == "$" {
				return Every()
			}
			l.patterns = append(l.patterns, args[i+1])
		case "-exec", "-execdir", "-ok", "-okdir":
			return Every()
		case "-o", "-or", "-not", "!", ",", "-iname", "-path", "-delete", "-regex":
			every = true
		}
	}
	if every || len(l.patterns) == 0 {
		return all(l.walks)
	}
	return l
}

// walked are the folders below which a tool shows or reads every file. One that the words do not name may be any.
func walked(name string, args []string) (roots []string) {
	deep := false
	for _, arg := range args {
		if len(arg) > 1 && arg[0] == '-' {
			deep = deep || strings.HasPrefix(arg, "--recursive") || arg[1] != '-' && strings.Contains(arg, "R")
			continue
		}
		if strings.ContainsAny(arg, "$*?[") || strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, "..") {
			arg = "."
		}
		roots = append(roots, path.Clean(arg))
	}
	switch name {
	case "git", "stat", "file", "readlink", "realpath":
		return nil
	case "ls": // one level of a folder that it is given
		if !deep && !slices.Contains(args, ".") && slices.Contains(roots, ".") {
			return []string{"."}
		} else if !deep {
			return nil
		}
	case "grep", "egrep", "fgrep":
		roots = roots[min(1, len(roots)):] // after the expression
	}
	if len(roots) == 0 {
		return []string{"."}
	}
	return roots
}

// IsSystem reports whether a name is that of a tool of the system that is known.
func IsSystem(name string) bool {
	return name == "find" || slices.Contains(listers, name) || slices.Contains(quiet, name)
}
