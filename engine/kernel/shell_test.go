//go:build unix

package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
)

func strict(o *Options) { o.Strict = true }

// eachShell runs a test in a session of each shell that is installed.
func eachShell(t *testing.T, test func(t *testing.T, name string, h *harness), change ...func(*Options)) {
	for _, name := range []string{"bash", "sh", "zsh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _ := Lookup(name)
			test(t, name, start(t, k, change...))
		})
	}
}

// A step that ends the shell fails or not by its code, and the session goes on with its state.
func TestShellsOutliveExit(t *testing.T) {
	eachShell(t, func(t *testing.T, name string, h *harness) {
		h.ok("a='one\ntwo  three'; export B=\"it's\"; cd ..; umask 027; set -f", "")
		for _, c := range []struct {
			code string
			exit int
		}{
			{"exit 3", 3}, {"exit", 0}, {"f() { exit 4; }; f", 4}, {"false; echo not reached", 1},
			{"no_such_command; echo not reached", 127},
			{"exit 300", 44}, {"(exit 5)", 5}, {"x=$(exit 6)", 6},
		} {
			got := h.run(c.code)
			if got.Exit != c.exit || got.stdout != "" || got.Died || !got.Restarted {
				t.Fatalf("%q: %+v", c.code, got)
			}
			if lost := got.Lost != ""; lost != (name == "sh" &&
				strings.Contains("f() { exit 4; }; ffalsenox=(", strings.Fields(c.code)[0][:1]) &&
				h.definesFunctions()) {
				t.Errorf("%q: lost %q", c.code, got.Lost)
			}
		}
		h.ok(`printf '%s|' "$a" "$B"; sh -c 'printf "%s|" "$B"'; pwd; umask; case $- in *f*) echo f;; esac`,
			"one\ntwo  three|it's|it's|"+filepath.Dir(h.dir)+"\n"+
				map[bool]string{true: "027", false: "0027"}[name == "zsh"]+"\nf\n")
	}, strict)
}

func (h *harness) definesFunctions() bool {
	return h.Session.(*session).driver.(*shellDriver).loses() != ""
}

func TestStrict(t *testing.T) {
	eachShell(t, func(t *testing.T, name string, h *harness) {
		for _, code := range []string{"if false; then :; fi; echo ok", "false || echo ok", "! true; echo ok"} {
			h.ok(code, "ok\n")
		}
		if name != "sh" {
			if got := h.run("false | cat; echo not reached"); got.Exit != 1 || got.stdout != "" {
				t.Errorf("a failing command in a pipe: %+v", got)
			}
		}
		h.ok("echo \"${unset_variable}.\"", ".\n") // -u is the author's choice
	}, strict)
	eachShell(t, func(t *testing.T, _ string, h *harness) {
		h.ok("false; echo reached", "reached\n")
		if got := h.run("echo a; false"); got.Exit != 1 || got.Restarted {
			t.Errorf("the status of a step is that of its last command: %+v", got)
		}
	})
}

// Authors' changes to their shell must not affect the driver.
func TestTheDriverSurvivesItsAuthor(t *testing.T) {
	for _, code := range []string{
		"IFS=0123456789abcdef/", "set -f", "set -C", "exec >other.txt 2>&1", "exec 3>&1", "exec </dev/zero",
		"exec >&- 2>&-", "set -- a b c",
		"alias echo=false read=false printf=false exec=false cd=false set=false eval=false trap=false return=false",
		"cd() { false; }; read() { false; }; printf() { false; }; set() { false; }",
		"unset PATH HOME PWD IFS", "trap '' INT HUP PIPE", "trap 'echo trapped >/dev/null' ERR", "umask 777",
		"x='unterminated",
		"cat <<EOF\nno end", "if then", "fi", ")", "$(", "echo ${", "\\", "#", "case x in", "set -x", "set -v",
		"set -u; unset -v nothing", "break", "continue", "return 3",
		"while :; do break; done", "readonly IFS", "LC_ALL=nonsense", "PS4='$(exit 9)'", "shift 2>/dev/null || :",
		"false | true &",
	} {
		eachShell(t, func(t *testing.T, name string, h *harness) {
			if name == "zsh" && strings.Contains(code, "alias") {
				t.Skip("zsh parses whole lines with the author's aliases")
			}
			if name == "sh" && code == "readonly IFS" {
				t.Skip("a POSIX shell cannot read a line then")
			}
			h.run(code)
			// in zsh, "command" is for programs alone
			echo := map[bool]string{true: "builtin", false: "command"}[name == "zsh"]
			got := h.run("unalias -a 2>/dev/null; unset -f cd read printf set 2>/dev/null; " + echo + ` echo "alive"`)
			if !h.Alive() || !strings.Contains(got.stdout, "alive") {
				t.Fatalf("after %q: alive %v, %+v", code, h.Alive(), got)
			}
		})
	}
}

func TestExitTrapRunsAtTheEndOfTheSession(t *testing.T) {
	eachShell(t, func(t *testing.T, _ string, h *harness) {
		h.ok("trap 'echo \"$kept\" >bye.txt' EXIT; kept=1", "")
		h.run("exit 3")
		h.ok("(trap 'echo sub' EXIT); kept=2", "sub\n")
		bye := filepath.Join(h.dir, "bye.txt")
		if _, err := os.Stat(bye); err == nil {
			t.Fatal("the trap ran before the end")
		}
		h.Close()
		if got, err := os.ReadFile(bye); err != nil || string(got) != "2\n" {
			t.Fatalf("%q %v", got, err)
		}
	})
}

// A restart of bash restores its state.
func TestBashKeepsItsStateOverARestart(t *testing.T) {
	bash, _ := Lookup("bash")
	h := start(t, bash, strict, func(o *Options) { o.Env = append(o.Env, "GONE=1", "STAYS=1") })
	h.ok(`declare -A map=([a b]="x
y" [']']=z); list=(1 "2 3" ""); declare -i n=5; readonly r=fixed; declare -n ref=n; sparse=([3]=x [9]=y)
f() { echo "f $1"; }; export -f f; shopt -s extglob nullglob expand_aliases; alias hi='echo hello'
unset GONE; IFS=:; trap 'echo err >>errs' ERR; set -E
e=$'bytes \377'`, "")
	before := h.run("declare -p map list n r ref sparse e; shopt extglob nullglob; printf %q \"$IFS\"; echo $-")
	if got := h.run("leak() { local r2=1; exit 9; }; leak"); got.Exit != 9 || !got.Restarted || got.Lost != "" {
		t.Fatalf("%+v", got)
	}
	after := h.run("declare -p map list n r ref sparse e; shopt extglob nullglob; printf %q \"$IFS\"; echo $-")
	if before.stdout != after.stdout || before.stdout == "" {
		t.Errorf("before:\n%s\nafter:\n%s%s", before.stdout, after.stdout, after.stderr)
	}
	h.ok("hi; f 1; bash -c 'f 2'; echo ${GONE-gone} $STAYS ${r2-local}", "hello\nf 1\nf 2\ngone 1 local\n")
	h.ok("x=@(a|b); n+=1; echo $n; case ab in +(a|b)) echo glob;; esac", "6\nglob\n")
}

func TestBashMapKeys(t *testing.T) {
	bash, _ := Lookup("bash")
	var entries []notebooks.Entry
	keys := []string{"@", "*", "]", "[", "a]b", "$(touch pwned)", "`touch pwned`", "'", "\"", "\\", " ", "a b", "\n",
		"0", "-1", "é", "$x", "x[0]", "!"}
	for _, k := range keys {
		entries = append(entries, notebooks.Entry{Key: notebooks.Value{Type: notebooks.TypeString, Text: k},
			Value: notebooks.Value{Type: notebooks.TypeString, Text: "=" + k}})
	}
	h := start(t, bash, func(o *Options) {
		o.Params = []notebooks.Bound{bound("m", notebooks.Value{Type: notebooks.TypeMap, Entries: entries})}
	})
	got := h.run(`for k in "${!m[@]}"; do printf '%s\0' "$k"; done; printf '%s\0' "${m[@]}"`)
	for _, k := range keys {
		if !strings.Contains("\x00"+got.stdout, "\x00"+k+"\x00") || !strings.Contains(got.stdout, "\x00="+k+"\x00") {
			t.Errorf("key %q did not arrive: %q", k, got.stdout)
		}
	}
	nothingRan(t, h)
	empty := notebooks.Value{Type: notebooks.TypeMap,
		Entries: []notebooks.Entry{{Key: notebooks.Value{Type: notebooks.TypeString}}}}
	if err := bash.ValidateParam(bound("m", empty)); err == nil {
		t.Error("an empty key is not refused")
	}
}

func TestShellsRefuseWhatTheyCannotHold(t *testing.T) {
	text := notebooks.Value{Type: notebooks.TypeString, Text: "v"}
	for _, name := range []string{"bash", "sh", "zsh"} {
		k, _ := Lookup(name)
		for _, bad := range []string{"PATH", "IFS", "ENV", "BASH_ENV", "BASH", "BASHOPTS", "LD_PRELOAD", "PS4",
			"PROMPT_COMMAND", "SHELLOPTS", "UID", "EUID", "PPID",
			"HOME", "__mm_x", "MARKMILL_RUN", "LC_ALL", "_", "RANDOM", "a-b", "é", "1a", "", "a b", "x;id", "x\ny",
			"x[0]"} {
			if err := k.ValidateParam(bound(bad, text)); err == nil {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		for _, good := range []string{"x", "_x", "X1", "path_", "Home", "threshold"} {
			if err := k.ValidateParam(bound(good, text)); err != nil {
				t.Error(err)
			}
		}
		nul := notebooks.Value{Type: notebooks.TypeString, Text: "a\x00b"}
		if err := k.ValidateParam(bound("x", nul)); err == nil {
			t.Errorf("%s holds a NUL", name)
		}
	}
}
