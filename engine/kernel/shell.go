package kernel

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the drivers
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

//go:embed drivers/bash.sh
var bashDriver string

//go:embed drivers/sh.sh
var shDriver string

//go:embed drivers/zsh.sh
var zshDriver string

// shell runs a shell of the Bourne family: bash, sh or zsh.
type shell struct {
	name      string
	languages []string
	driver    string
	loop      string
	args      []string   // before -c: no rc files
	reserved  []reserved // besides shellReserved
	// arrays: lists and maps become the shell's own arrays, else JSON text.
	arrays bool
	// encode appends a field to a file so that the driver can read it back whole.
	encode func(b []byte, field string) []byte
	// functions: a restarted shell has the functions of the old one.
	functions bool
}

func (k *shell) Name() string        { return k.name }
func (k *shell) Languages() []string { return k.languages }

// encodeLines writes the number of lines and then the lines: a POSIX read knows no other end.
func encodeLines(b []byte, field string) []byte {
	b = strconv.AppendInt(b, int64(strings.Count(field, "\n")+1), 10)
	b = append(append(b, '\n'), field...)
	return append(b, '\n')
}

// loop is what the shell is started with; the driver is its first argument. It stands on one line and outside of any
// file and function, so that the author's line numbers count from 1, "declare" makes globals, and messages begin with
// the notebook's name.
const loop = `\eval "$1"; shift; while __mm_next; do \eval "$__mm_code"; { __mm_done "$?"; } 2>/dev/null; done`

// zshLoop also survives the errors that end a zsh script (an unset variable under -u). Its last word overrules a bare
// "break" of the author's. The step is reported as done only when the next one is waited for: what leaves the loop all
// the same (a bare "return") ends the shell.
const zshLoop = `\eval "$1"; shift; while __mm_next; do { \eval "$__mm_code"; } always ` +
	`{ { __mm_s=$? __mm_f=$-; set +euxv; TRY_BLOCK_ERROR=0; } 2>/dev/null; continue; }; done`

// text is the driver's program for one session.
func (k *shell) text(o Options) string {
	flags, pipefail := "", "+o pipefail"
	if o.Strict {
		flags, pipefail = "e", "-o pipefail"
	}
	apart := "''"
	if o.EndWithStep {
		apart = "1"
	}
	return strings.NewReplacer("@APART@", apart, "@D@", singleQuote(o.Private), "@FLAGS@", flags, "@PIPEFAIL@",
		pipefail).
		Replace(k.driver)
}

func singleQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var (
	shellName     = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	shellFunction = lazyregexp.New(`(?m)(^|[;&|({]|\bthen|\bdo|\belse)\s*` +
		`(function\s+[A-Za-z_][A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_]*\s*\(\s*\))`)
)

// ValidateParam returns an error for names that are not shell variables or that would change the shell itself, and
// values that no shell variable can hold.
func (k *shell) ValidateParam(b notebooks.Bound) error {
	if !shellName.MatchString(b.Param.Name) {
		return invalidParam(b, k.name, "a shell variable is made of ASCII letters, digits and _",
			"rename the parameter")
	}
	if why := cmp.Or(reservedName(shellReserved, b.Param.Name), reservedName(k.reserved, b.Param.Name)); why != "" {
		return invalidParam(b, k.name, why, "rename the parameter")
	}
	texts := []string{}
	switch v := b.Value; {
	case k.arrays && v.Type == notebooks.TypeList:
		for _, e := range v.List {
			texts = append(texts, shellText(e))
		}
	case k.arrays && v.Type == notebooks.TypeMap:
		seen := map[string]bool{}
		for _, e := range v.Entries {
			key := shellText(e.Key)
			if key == "" && k.name == "bash" {
				return invalidParam(b, k.name, "an associative array of bash has no empty key", "give the entry a name")
			}
			if seen[key] {
				return invalidParam(b, k.name, fmt.Sprintf("two of its keys are both %q as text", key),
					"give the entries different names")
			}
			seen[key] = true
			texts = append(texts, key, shellText(e.Value))
		}
	default:
		texts = append(texts, shellText(v))
	}
	for _, t := range texts {
		if strings.ContainsRune(t, 0) {
			return invalidParam(b, k.name, "its value holds a NUL, which no shell variable can",
				"hand it over in a file, or use it from Python")
		}
	}
	return nil
}

// Start starts the shell with its driver.
func (k *shell) Start(ctx context.Context, o Options) (Session, error) {
	return open(ctx, k, o, &shellDriver{kernel: k, conversation: conversation{
		params: func(params []notebooks.Bound) (map[string][]byte, error) {
			return map[string][]byte{fileParams: textParams(params, k.arrays, k.encode)}, nil
		},
		command: func(*session) ([]string, error) {
			return slices.Concat([]string{cmp.Or(o.Program, k.name)}, k.args,
				[]string{"-c", k.loop, k.name, k.text(o)}), nil
		},
	}})
}

// shellDriver drives a shell, which is restarted with its state when a step ends it.
type shellDriver struct {
	conversation
	kernel *shell
	now    Request
	ran    []byte // code of all steps, kept if a restart has to say what it lost
}

// prepare writes the step: its name, as many newlines as make line numbers the notebook's, its folder, its
// environment, and the code.
func (d *shellDriver) prepare(r Request) (stdout, stderr io.Writer, err error) {
	for name := range r.Env {
		if !shellName.MatchString(name) {
			return nil, nil, fmt.Errorf("the environment variable %q has a name that a shell cannot hold", name)
		}
	}
	if !d.kernel.functions {
		d.ran = append(append(d.ran, r.Code...), '\n')
	}
	d.now = r
	encode := d.kernel.encode
	b := stepMeta(r, encode, cmp.Or(r.File, d.kernel.name), strings.Repeat("\n", max(r.Line-1, 0)), r.Dir)
	code := bytes.ReplaceAll(r.Code, []byte{0}, nil) // as a shell does with a script
	return r.Stdout, r.Stderr, d.setStep(encode(encode(b, ""), string(code)), "")
}

// interrupt interrupts the group. A shell that is interrupted just before it starts a program waits for that program
// all the same. So the program gets an interrupt of its own a little later. The shell does not: on a second one, bash
// ends without running its trap on EXIT, which saves its state.
func (d *shellDriver) interrupt() (again func()) {
	d.conversation.interrupt()
	return func() { d.s.family.SignalChildren(syscall.SIGINT) }
}

func (d *shellDriver) reply(e ending, out *Outcome) error {
	if out.Exit == 0 && !e.gone {
		return nil
	}
	said, _ := os.ReadFile(d.s.path(fileFailed)) // if the driver said nothing, or half of it, no command is named
	os.Remove(d.s.path(fileFailed))
	if out.Exit != 0 {
		out.Failed = failedCommand(said, d.now, out.Exit)
	}
	return nil
}

func (d *shellDriver) saved() bool {
	state, err := os.ReadFile(d.s.path(fileState))
	return err == nil && bytes.HasSuffix(state, []byte("__mm_whole=1\n"))
}

func (d *shellDriver) revived() (lost string) {
	os.Remove(d.s.path(fileState))
	return d.loses()
}

// loses returns what a restart does not restore.
func (d *shellDriver) loses() string {
	if !d.kernel.functions && shellFunction.Match(d.ran) {
		return "the functions that earlier steps defined: sh cannot print them (bash and zsh can)"
	}
	return ""
}

// shellReserved are names that a shell uses itself. The reasons are shown to the user.
var shellReserved = []reserved{
	{"__mm_*", "Markmill's own driver uses it"},
	{"MARKMILL_*", "Markmill tells the step about its run with it"},
	{"PATH", "the shell finds programs by it"},
	{"IFS", "the shell splits words by it"},
	{"ENV", "shells run the file that it names"},
	{"BASH*", "bash keeps or reads its own state there"},
	{"LD_* DYLD_*", "the system loads libraries by it"},
	{"PS0 PS1 PS2", "it is run as a prompt"},
	{"PS3", "it is shown as a prompt"},
	{"PS4", "it is evaluated before every traced line"},
	{"PROMPT_COMMAND", "bash runs it"},
	{"SHELLOPTS", "it holds the shell's options"},
	{"UID EUID GID EGID PPID", "the shell does not let it be set"},
	{"HOME", "programs find the user's files by it"},
	{"PWD OLDPWD", "the shell keeps the working directory there"},
	{"SHLVL LINENO SECONDS HISTCMD", "the shell counts there"},
	{"RANDOM SRANDOM", "the shell draws numbers there"},
	{"EPOCH*", "the shell tells the time there"},
	{"OPTIND", "getopts counts there"},
	{"OPTARG", "getopts writes there"},
	{"OPTERR", "getopts reads it"},
	{"FUNCNAME", "the shell keeps the call stack there"},
	{"DIRSTACK", "the shell keeps its directories there"},
	{"GROUPS", "assignments to it are ignored"},
	{"PIPESTATUS _", "the shell writes there after every command"},
	{"COMP_* COMPREPLY FIGNORE", "completion uses it"},
	{"REPLY", "read writes there"},
	{"MAPFILE", "mapfile writes there"},
	{"HISTFILE", "the shell writes to the file that it names"},
	{"GLOBIGNORE", "it changes what patterns match"},
	{"POSIXLY_CORRECT", "it changes how bash reads code"},
	{"TMOUT", "the shell gives up after it"},
	{"EXECIGNORE", "it changes which programs are found"},
	{"CDPATH", "it changes where cd goes"},
	{"LANG LANGUAGE LC_*", "it changes the language of every program"},
}

// zshReserved are the names that zsh uses beyond those above.
var zshReserved = []reserved{
	{"path", "zsh ties it to PATH"},
	{"fpath FPATH", "zsh finds functions by it"},
	{"cdpath", "zsh ties it to CDPATH"},
	{"mailpath", "zsh ties it to MAILPATH"},
	{"MAILPATH", "zsh watches it"},
	{"manpath", "zsh ties it to MANPATH"},
	{"MANPATH", "zsh ties it to manpath"},
	{"module_path MODULE_PATH", "zsh loads code by it"},
	{"fignore", "zsh ties it to FIGNORE"},
	{"psvar", "zsh ties it to PSVAR"},
	{"PSVAR", "zsh ties it to psvar"},
	{"watch", "zsh ties it to WATCH"},
	{"WATCH", "zsh ties it to watch"},
	{"status", "zsh writes the last exit status there"},
	{"pipestatus", "zsh writes there after every command"},
	{"argv", "it holds the arguments"},
	{"ARGC TTYIDLE", "zsh does not let it be set"},
	{"ARGV0", "zsh names programs by it"},
	{"options", "zsh keeps its options there"},
	{"functions", "zsh keeps its functions there"},
	{"aliases", "zsh keeps its aliases there"},
	{"commands", "zsh keeps where programs are there"},
	{"parameters", "zsh keeps its variables there"},
	{"builtins", "zsh keeps its builtins there"},
	{"modules", "zsh keeps its modules there"},
	{"history", "zsh keeps its history there"},
	{"NULLCMD READNULLCMD", "zsh runs it"},
	{"ZDOTDIR", "zsh finds its files by it"},
	{"ZSH_*", "zsh keeps its own state there"},
	{"USERNAME", "setting it changes the user"},
	{"HOST", "zsh keeps the machine's name there"},
	{"prompt PROMPT* RPROMPT* RPS*", "it is shown as a prompt"},
	{"signals", "zsh keeps the names of signals there"},
	{"ERRNO TRY_BLOCK_*", "zsh writes there"},
	{"histchars HISTCHARS", "zsh reads history by it"},
	{"KEYBOARD_HACK", "it changes how zsh reads code"},
	{"WORDCHARS", "zsh splits words by it"},
	{"SAVEHIST", "zsh writes history by it"},
	{"HISTSIZE", "zsh keeps history by it"},
	{"LINES COLUMNS", "zsh keeps the screen's size there"},
	{"TERM TERMINFO*", "zsh reads the terminal's description by it"},
}
