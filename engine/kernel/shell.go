package kernel

import (
	"bytes"
	_ "embed" // the drivers
	"strconv"
	"strings"

	"markmill/notebooks"
)

//go:embed drivers/bash.sh
var bashDriver string

//go:embed drivers/sh.sh
var shDriver string

//go:embed drivers/zsh.sh
var zshDriver string

// shell is a kernel of the Bourne family: bash, sh and zsh.
type shell struct {
	name   string
	driver string
	loop   string
	args   []string // before -c: no rc files
	// arrays: lists and maps arrive as the shell's own arrays, else as JSON text.
	arrays bool
	// encode writes a value into the side file, so that the driver can read it back whole.
	encode func(*bytes.Buffer, string)
	// loses says what a restart cannot bring back, given all code that has run.
	loses func(code []byte) string
}

func newShell(name string) Kernel {
	switch name {
	case "bash":
		return &shell{name: name, driver: bashDriver, loop: loop, args: []string{"--norc", "--noprofile"}, arrays: true, encode: encodeNUL, loses: losesNothing}
	case "zsh":
		return &shell{name: name, driver: zshDriver, loop: zshLoop, args: []string{"-f"}, arrays: true, encode: encodeNUL, loses: losesNothing}
	default:
		return &shell{name: name, driver: shDriver, loop: loop, encode: encodeLines, loses: losesFunctions}
	}
}

func (k *shell) Name() string { return k.name }

// encodeNUL ends each value with NUL, which no shell variable can hold.
func encodeNUL(b *bytes.Buffer, value string) {
	b.WriteString(value)
	b.WriteByte(0)
}

// encodeLines writes the number of lines and then the lines: a plain POSIX read knows no other end.
func encodeLines(b *bytes.Buffer, value string) {
	b.WriteString(strconv.Itoa(strings.Count(value, "\n") + 1))
	b.WriteByte('\n')
	b.WriteString(value)
	b.WriteByte('\n')
}

func losesNothing([]byte) string { return "" }

// losesFunctions: a POSIX shell cannot print the functions that it has.
func losesFunctions(code []byte) string {
	if shellFunction.Match(code) {
		return "the functions that earlier steps defined: sh cannot print them (bash and zsh can)"
	}
	return ""
}

// params is the side file of the parameters: kind, name, and the value or the number of values
// and the values.
func (k *shell) params(bound []notebooks.Bound) []byte {
	var b bytes.Buffer
	put := func(values ...string) {
		for _, v := range values {
			k.encode(&b, v)
		}
	}
	for _, p := range bound {
		switch v := p.Value; {
		case k.arrays && v.Type == notebooks.TypeList:
			put("list", p.Param.Name, strconv.Itoa(len(v.List)))
			for _, e := range v.List {
				put(shellText(e))
			}
		case k.arrays && v.Type == notebooks.TypeMap:
			put("map", p.Param.Name, strconv.Itoa(len(v.Entries)))
			for _, e := range v.Entries {
				put(shellText(e.Key), shellText(e.Value))
			}
		default:
			put("text", p.Param.Name, shellText(v))
		}
	}
	return b.Bytes()
}

// shellText is a value as a shell variable holds it. Bytes are themselves here.
func shellText(v notebooks.Value) string {
	if v.Type == notebooks.TypeBytes {
		return v.Text
	}
	return v.Reveal()
}

// loop is what the shell is started with; the driver is its first argument. It stands on one line
// and outside of any file and function, so that the author's line numbers count from 1, "declare"
// makes globals, and messages begin with the notebook's name.
const loop = `\eval "$1"; shift; while __mm_next; do \eval "$__mm_code"; { __mm_done "$?"; } 2>/dev/null; done`

// zshLoop also lives through the errors that end a zsh script (an unset variable under -u). Its last word overrules a
// bare "break" of the author's. The step is called done only when the next one is waited for: what leaves the loop all
// the same (a bare "return") ends the shell.
const zshLoop = `\eval "$1"; shift; while __mm_next; do { \eval "$__mm_code"; } always { { __mm_s=$? __mm_f=$-; set +euxv; TRY_BLOCK_ERROR=0; } 2>/dev/null; continue; }; done`

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
	return strings.NewReplacer("@APART@", apart, "@D@", singleQuote(o.Private), "@FLAGS@", flags, "@PIPEFAIL@", pipefail).Replace(k.driver)
}

func singleQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
