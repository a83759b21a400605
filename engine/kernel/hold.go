package kernel

import (
	"fmt"
	"markmill/notebooks/lazyregexp"
	"slices"
	"strings"

	"markmill/notebooks"
)

var (
	shellName     = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	shellFunction = lazyregexp.New(`(?m)(^|[;&|({]|\bthen|\bdo|\belse)\s*(function\s+[A-Za-z_][A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_]*\s*\(\s*\))`)
)

// reserved are names that a session could not hold as a parameter, and why. A pattern that ends
// in * matches what begins so.
type reserved struct{ pattern, why string }

var shellReserved = []reserved{
	{"__mm_*", "Markmill's own driver uses it"},
	{"MARKMILL_*", "Markmill tells the step about its run with it"},
	{"PATH", "the shell finds programs by it"},
	{"IFS", "the shell splits words by it"},
	{"ENV", "shells run the file that it names"},
	{"BASH*", "bash keeps or reads its own state there"},
	{"LD_*", "the system loads libraries by it"},
	{"DYLD_*", "the system loads libraries by it"},
	{"PS0", "it is run as a prompt"}, {"PS1", "it is run as a prompt"}, {"PS2", "it is run as a prompt"},
	{"PS3", "it is shown as a prompt"}, {"PS4", "it is evaluated before every traced line"},
	{"PROMPT_COMMAND", "bash runs it"},
	{"SHELLOPTS", "it holds the shell's options"},
	{"UID", "the shell does not let it be set"}, {"EUID", "the shell does not let it be set"},
	{"GID", "the shell does not let it be set"}, {"EGID", "the shell does not let it be set"},
	{"PPID", "the shell does not let it be set"},
	{"HOME", "programs find the user's files by it"},
	{"PWD", "the shell keeps the working directory there"}, {"OLDPWD", "the shell keeps the working directory there"},
	{"SHLVL", "the shell counts there"}, {"LINENO", "the shell counts there"},
	{"SECONDS", "the shell counts there"}, {"RANDOM", "the shell draws numbers there"}, {"SRANDOM", "the shell draws numbers there"},
	{"EPOCH*", "the shell tells the time there"},
	{"OPTIND", "getopts counts there"}, {"OPTARG", "getopts writes there"}, {"OPTERR", "getopts reads it"},
	{"FUNCNAME", "the shell keeps the call stack there"}, {"DIRSTACK", "the shell keeps its directories there"},
	{"GROUPS", "assignments to it are ignored"}, {"PIPESTATUS", "the shell writes there after every command"},
	{"COMP_*", "completion uses it"}, {"COMPREPLY", "completion uses it"},
	{"REPLY", "read writes there"}, {"MAPFILE", "mapfile writes there"},
	{"HISTCMD", "the shell counts there"}, {"HISTFILE", "the shell writes to the file that it names"},
	{"GLOBIGNORE", "it changes what patterns match"}, {"POSIXLY_CORRECT", "it changes how bash reads code"},
	{"TMOUT", "the shell gives up after it"}, {"EXECIGNORE", "it changes which programs are found"},
	{"CDPATH", "it changes where cd goes"}, {"FIGNORE", "completion uses it"},
	{"LANG", "it changes the language of every program"}, {"LANGUAGE", "it changes the language of every program"},
	{"LC_*", "it changes the language of every program"},
	{"_", "the shell writes there after every command"},
}

// zshReserved are the names that zsh ties to its own state, beyond those above.
var zshReserved = []reserved{
	{"path", "zsh ties it to PATH"}, {"fpath", "zsh finds functions by it"}, {"FPATH", "zsh finds functions by it"},
	{"cdpath", "zsh ties it to CDPATH"}, {"mailpath", "zsh ties it to MAILPATH"}, {"MAILPATH", "zsh watches it"},
	{"manpath", "zsh ties it to MANPATH"}, {"MANPATH", "zsh ties it to manpath"},
	{"module_path", "zsh loads code by it"}, {"MODULE_PATH", "zsh loads code by it"},
	{"fignore", "zsh ties it to FIGNORE"}, {"psvar", "zsh ties it to PSVAR"}, {"PSVAR", "zsh ties it to psvar"},
	{"watch", "zsh ties it to WATCH"}, {"WATCH", "zsh ties it to watch"},
	{"status", "zsh writes the last exit status there"}, {"pipestatus", "zsh writes there after every command"},
	{"argv", "it holds the arguments"}, {"ARGC", "zsh does not let it be set"}, {"ARGV0", "zsh names programs by it"},
	{"options", "zsh keeps its options there"}, {"functions", "zsh keeps its functions there"}, {"aliases", "zsh keeps its aliases there"},
	{"commands", "zsh keeps where programs are there"}, {"parameters", "zsh keeps its variables there"},
	{"builtins", "zsh keeps its builtins there"}, {"modules", "zsh keeps its modules there"}, {"history", "zsh keeps its history there"},
	{"NULLCMD", "zsh runs it"}, {"READNULLCMD", "zsh runs it"}, {"ZDOTDIR", "zsh finds its files by it"}, {"ZSH_*", "zsh keeps its own state there"},
	{"USERNAME", "setting it changes the user"}, {"HOST", "zsh keeps the machine's name there"}, {"prompt", "it is shown as a prompt"},
	{"PROMPT*", "it is shown as a prompt"}, {"RPROMPT*", "it is shown as a prompt"}, {"RPS*", "it is shown as a prompt"},
	{"signals", "zsh keeps the names of signals there"}, {"TTYIDLE", "zsh does not let it be set"}, {"ERRNO", "zsh writes there"},
	{"TRY_BLOCK_*", "zsh writes there"}, {"histchars", "zsh reads history by it"}, {"HISTCHARS", "zsh reads history by it"},
	{"KEYBOARD_HACK", "it changes how zsh reads code"}, {"WORDCHARS", "zsh splits words by it"}, {"SAVEHIST", "zsh writes history by it"},
	{"HISTSIZE", "zsh keeps history by it"}, {"LINES", "zsh keeps the screen's size there"}, {"COLUMNS", "zsh keeps the screen's size there"},
	{"TERM", "zsh reads the terminal's description by it"}, {"TERMINFO*", "zsh reads the terminal's description by it"},
}

var pythonKeywords = []string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
	"def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
	"nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"}

var nodeKeywords = []string{"await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do",
	"else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in", "instanceof",
	"interface", "let", "new", "null", "package", "private", "protected", "public", "return", "static", "super", "switch",
	"this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield", "arguments", "eval"}

var nodeReserved = []reserved{
	{"__mm_*", "Markmill's own driver uses it"},
	{"globalThis", "it is JavaScript's own"}, {"global", "it is Node's own"}, {"process", "it is Node's own"},
	{"console", "it is Node's own"}, {"require", "it is Node's own"}, {"module", "it is Node's own"}, {"exports", "it is Node's own"},
	{"undefined", "it is JavaScript's own"}, {"NaN", "it is JavaScript's own"}, {"Infinity", "it is JavaScript's own"},
	{"Object", "it is JavaScript's own"}, {"Array", "it is JavaScript's own"}, {"Function", "it is JavaScript's own"},
	{"Promise", "it is JavaScript's own"}, {"__proto__", "it is JavaScript's own"}, {"constructor", "it is JavaScript's own"},
	{"glue", "it records a scrap"}, {"scrap", "it reads a scrap"}, {"scraps", "it holds the scraps"},
}

var pythonReserved = []reserved{
	{"glue", "it records a scrap"}, {"scrap", "it reads a scrap"}, {"scraps", "it holds the scraps"}, {"display", "it shows a value"},
}

// CanHold refuses names that are no variable of a shell or that would change the shell itself,
// and values that no shell variable can hold.
func (k *shell) CanHold(b notebooks.Bound) error {
	name := b.Param.Name
	if !shellName.MatchString(name) {
		return cannot(b, k.name, "a shell variable is made of ASCII letters, digits and _", "rename the parameter")
	}
	tables := shellReserved
	if k.name == "zsh" {
		tables = slices.Concat(shellReserved, zshReserved)
	}
	if why := reservedName(tables, name); why != "" {
		return cannot(b, k.name, why, "rename the parameter")
	}
	if !k.arrays {
		if strings.ContainsRune(shellText(b.Value), 0) {
			return cannotNUL(b, k.name)
		}
		return nil
	}
	return k.canHoldIn(b)
}

// canHoldIn looks into the elements of a list or a map, each of which is a value of its own.
func (k *shell) canHoldIn(b notebooks.Bound) error {
	texts := []string{}
	switch b.Value.Type {
	case notebooks.TypeList:
		for _, e := range b.Value.List {
			texts = append(texts, shellText(e))
		}
	case notebooks.TypeMap:
		seen := map[string]bool{}
		for _, e := range b.Value.Entries {
			key := shellText(e.Key)
			if key == "" && k.name == "bash" {
				return cannot(b, k.name, "an associative array of bash has no empty key", "give the entry a name")
			}
			if seen[key] {
				return cannot(b, k.name, fmt.Sprintf("two of its keys are both %q as text", key), "give the entries different names")
			}
			seen[key] = true
			texts = append(texts, key, shellText(e.Value))
		}
	default:
		texts = append(texts, shellText(b.Value))
	}
	for _, t := range texts {
		if strings.ContainsRune(t, 0) {
			return cannotNUL(b, k.name)
		}
	}
	return nil
}

func cannotNUL(b notebooks.Bound, kernel string) error {
	return cannot(b, kernel, "its value holds a NUL, which no shell variable can", "hand it over in a file, or use it from Python")
}

func reservedName(tables []reserved, name string) string {
	for _, r := range tables {
		prefix, wild := strings.CutSuffix(r.pattern, "*")
		if r.pattern == name || wild && strings.HasPrefix(name, prefix) {
			return r.why
		}
	}
	return ""
}

func cannot(b notebooks.Bound, kernel, why, hint string) error {
	return &notebooks.Error{
		Kind: notebooks.KindParameter, Line: b.Param.Line, Col: b.Param.Col,
		Msg:  fmt.Sprintf("the parameter %q cannot be a variable of the kernel %s: %s", b.Param.Name, kernel, why),
		Hint: hint,
	}
}

// canHoldAll checks every parameter once more before an interpreter is started with them.
func canHoldAll(k Kernel, bound []notebooks.Bound) error {
	for _, b := range bound {
		if err := k.CanHold(b); err != nil {
			return err
		}
	}
	return nil
}
