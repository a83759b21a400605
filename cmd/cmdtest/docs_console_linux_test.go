package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConsolePages does what the pages for beginners say, literally, as a new user in an empty home who has Git, Python
// and the tools of a shell, and nothing else. Each page is one session. What a command prints must be what the page
// shows, but for times and ids; -update writes it into the page.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields("tutorial from-bash outputs review papermill operator audit") {
		page := name + ".md"
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text := string(readDoc(t, page))
			var commands []string
			for _, fence := range consoleFence.FindAllString(text, -1) {
				for _, part := range strings.Split(fence, "\n$ ")[1:] {
					commands = append(commands, commandOf(part))
				}
			}
			printed := inNewHome(t, commands)
			changed := consoleFence.ReplaceAllStringFunc(text, func(fence string) string {
				mark, _, _ := strings.Cut(fence, "console")
				out := mark + "console\n"
				for _, part := range strings.Split(strings.TrimSuffix(fence, mark+"\n"), "\n$ ")[1:] {
					command := commandOf(part)
					shown := strings.TrimPrefix(strings.TrimPrefix(part, command), "\n")
					if steady(shown) != steady(strings.TrimSuffix(printed[0], "\n")) {
						shown = strings.TrimSuffix(printed[0], "\n")
						t.Logf("%s: %s\nprints:\n%s", page, command, printed[0])
					}
					out += "$ " + command + "\n"
					if shown = strings.TrimSuffix(shown, "\n"); shown != "" {
						out += shown + "\n"
					}
					printed = printed[1:]
				}
				return out + mark + "\n"
			})
			if changed == text {
				return
			}
			if !*update {
				t.Fatalf("%s shows something else; run: go test ./cmd/cmdtest -run TestConsolePages -update", page)
			}
			if err := os.WriteFile(docs+page, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

var (
	consoleFence = regexp.MustCompile("(?ms)^`````console\n.*?^`````\n|^```console\n.*?^```\n")
	continued    = regexp.MustCompile(`(?m)^> ?`)
	// varying is what differs from one time to the next: ids of runs, digests, times, durations.
	varying = regexp.MustCompile(`\d{8}T\d{6}Z-[\w.-]+|\b[0-9a-f]{7,64}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|\b\d+(\.\d+)? ?m?s\b`)
	spaces  = regexp.MustCompile(` +`)
)

// steady is what is printed, without what varies.
func steady(shown string) string {
	return spaces.ReplaceAllString(varying.ReplaceAllString(strings.TrimSpace(shown), "*"), " ")
}

// commandOf is the command at the beginning of a part of a session: its first line, and those that continue it.
func commandOf(part string) string {
	lines := strings.Split(part, "\n")
	n := 1
	for n < len(lines) && strings.HasPrefix(lines[n]+" ", "> ") {
		n++
	}
	return strings.Join(lines[:n], "\n")
}

// inNewHome runs commands in one shell, and returns what each prints.
func inNewHome(t *testing.T, commands []string) []string {
	t.Helper()
	home, programs := t.TempDir(), t.TempDir()
	tools := "bash cat cmp cp cut date git grep head ls mkdir printf python3 rm sed seq sha256sum sort tail touch wc"
	for _, name := range strings.Fields(tools) {
		program, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(programs, name))
		}
		if err != nil {
			t.Skipf("there is no %s on this machine", name)
		}
	}
	const mark = "---- the next command ----\n"
	script := "exec 2>&1\n"
	for _, command := range commands {
		script += continued.ReplaceAllString(command, "") + "\nprintf '%s\\n' '" + strings.TrimSpace(mark) + "'\n"
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8",
		"PATH=" + filepath.Dir(builtProgram(t)) + ":" + programs}
	out, err := cmd.CombinedOutput()
	printed := strings.SplitAfter(string(out), mark)
	if len(printed) != len(commands)+1 {
		t.Fatalf("%d of %d commands ran: %v\n%s", len(printed)-1, len(commands), err, out)
	}
	for i := range printed {
		printed[i] = strings.ReplaceAll(strings.TrimSuffix(printed[i], mark), home, "/home/you")
	}
	return printed[:len(commands)]
}
