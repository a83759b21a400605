//go:build unix

package kernel

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// A step of a shell that fails names the line and the command, whatever the author's options and traps are, and
// changes nothing that the author can see.
func TestShellsNameTheCommandThatFailed(t *testing.T) {
	none := ""
	for _, c := range []struct{ name, code, bash, zsh, sh string }{
		{"only command", "# why\nfalse", "11: false", "11: false", "11: false"},
		{"first of many", "echo a\n\ngrep -q nothing /dev/null\necho b", "12: grep -q nothing /dev/null",
			"12: grep -q nothing /dev/null", none},
		{"among others in its line", "echo a; test  x = 'y z' ; echo b", "10: test x = 'y z'",
			"10: echo a; test  x = 'y z' ; echo b", "10: echo a; test  x = 'y z' ; echo b"},
		{"not expanded", "v=hidden\ntest $v = x", "11: test $v = x", "11: test $v = x", none},
		{"in a loop", "for i in 1 2; do\n  test $i = 1\ndone", "11: test $i = 1", "11: test $i = 1", none},
		{"substitution", "true\nx=$(false)", "11: x=$(false)", "11: x=$(false)", none},
		{"over lines", "true\ngrep -q \\\n  nothing /dev/null\n", "11: grep -q nothing /dev/null",
			"11: grep -q nothing /dev/null", none},
		{"pipeline", "true\nfalse | cat", "11: false | cat", "11: false | cat", none},
		{"pipeline over lines", "true\necho a |\n  grep b |\n  cat", "11: echo a | grep b | cat",
			"11: echo a | grep b | cat", none},
		{"here-document", "true\ncat - /nonexistent 2>/dev/null >/dev/null <<E\nfalse\nE\n",
			"11: cat - /nonexistent 2> /dev/null > /dev/null <<E …",
			"11: cat - /nonexistent 2>/dev/null >/dev/null <<E", none},
		{"group", "true\n(\n  cd /\n  false\n)", "14: ( cd /; false )", "11: ( …", none},
		{"evaluated", "v='test shown = no'\neval \"$v\"", "11: eval \"$v\"", "11: eval \"$v\"", none},
		{"function", "f() {\n  false\n}\n\nf 1", "14: f 1", none, none},
		{"unknown command", "true\nno-such-command x 2>/dev/null", "11: no-such-command x 2>/dev/null",
			"11: no-such-command x 2>/dev/null", none},
		{"exit", "true\nexit 3", "11: exit 3", "11: exit 3", none},
		{"exit among others", "test -n x || exit 4\nif true; then\n  exit 3 # why\nfi", "12: exit 3 # why",
			"12: exit 3 # why", none},
		{"exits of one code", "test -n x || exit 3\nexit 3", none, "11: exit 3", none},
		{"list", "true\nfalse && true", "11: false && true", "11: false && true", none},
		{"list without strict mode", "set +e\ntrue\nfalse && true", "12: false && true", none, none},
		{"list before a failure", "false && true\ntest x = y\n", "11: test x = y", "11: test x = y", none},
		{"after failures that were handled", "false || true\nif false; then :; fi\n! true\n", "12: ! true", none, none},
		{"an own trap on ERR", "trap 'true' ERR\ntest -n x || exit 1\nfalse", none, "12: false", none},
		{"traps that are gone", "trap 'echo no' ERR\ntrap - ERR\nfalse", "12: false", none, none},
		{"seen by nobody", "trap -p\nset -x\ntrue $_\nfalse", "13: false", "13: false", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			for shell, want := range map[string]string{"bash": c.bash, "zsh": c.zsh, "sh": c.sh} {
				if _, err := exec.LookPath(shell); err != nil {
					t.Logf("no %s here", shell)
					continue
				}
				if shell == "sh" && (strings.Contains(c.code, "trap") || strings.Contains(c.code, "| cat")) {
					continue // it supports neither ERR nor pipefail
				}
				if shell == "zsh" && (c.name == "function" || strings.Contains(c.code, "trap")) {
					continue // where a function ends the shell, zsh does not say where
				}
				k, _ := Lookup(shell)
				h := start(t, k, strict)
				h.run("exit 9") // another shell goes on
				got := h.run(c.code)
				said := none
				if got.Failed != nil {
					said = fmt.Sprintf("%d: %s", got.Failed.Line, got.Failed.Command)
				}
				if said != want {
					t.Errorf("%s: %q, expected %q (exit %d, %s%s)", shell, said, want, got.Exit, got.stdout, got.stderr)
				}
				if strings.Contains(got.stdout+got.stderr, "__mm") {
					t.Errorf("%s shows the driver: %s%s", shell, got.stdout, got.stderr)
				}
			}
		})
	}
}

// The trap on ERR is there for the author as if the driver had none.
func TestBashLeavesTheTrapsToTheAuthor(t *testing.T) {
	bash, _ := Lookup("bash")
	h := start(t, bash)
	h.ok("false; echo $? ${PIPESTATUS[0]}", "1 1\n")
	h.ok("true | false; echo ${PIPESTATUS[@]}; ls /nonexistent 2>/dev/null; echo $_", "0 1\n/nonexistent\n")
	h.ok("trap 'echo DEBUG' DEBUG; false; trap - DEBUG; trap -p DEBUG ERR", "DEBUG\nDEBUG\n")
	h.ok("trap 'echo \"err $?\"' ERR; false; trap -p ERR; trap - ERR; false; true",
		"err 1\ntrap -- echo\\ \\\"err\\ \\$\\?\\\" ERR\n")
	h.ok("set -E; trap -p DEBUG ERR; f() { false; }; f; set +E; true", "")
	h.ok("(trap 'echo sub' ERR; false; true)", "sub\n")
	if got := h.run("false\ntrue\n! true"); got.Exit != 1 {
		t.Errorf("%+v", got)
	}
}
