//go:build unix

package cmdtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/cmd/internal/maintenance"
	"markmill/engine/worktree/gittest"
)

// fakes puts a crontab and a systemctl that only keep what they are given before those of the system. The crontab is in
// a file, and mode says how it behaves.
func fakes(t *testing.T, withSystemd bool) (crontab, calls string) {
	t.Helper()
	dir := t.TempDir()
	crontab, calls = filepath.Join(dir, "tab"), filepath.Join(dir, "calls")
	status := "1"
	if withSystemd {
		status = "0"
	}
	for name, text := range map[string]string{
		"crontab": `#!/bin/sh
echo "crontab $*" >> ` + calls + `
case $1 in
-l) test -e ` + crontab + `.broken && { echo "you may not use crontab" >&2; exit 1; }
    test -e ` + crontab + ` || { echo "no crontab for someone" >&2; exit 1; }
    cat ` + crontab + ` ;;
-) cat > ` + crontab + ` ;;
*) exit 9 ;;
esac
`,
		"systemctl": "#!/bin/sh\necho \"systemctl $*\" >> " + calls + "\nexit " + status + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return crontab, calls
}

func schedule(t *testing.T, store string, command ...string) *maintenance.Schedule {
	return &maintenance.Schedule{Store: store, Command: append([]string{"/usr/bin/markmill", "runs", "prune"},
		command...),
		Config: filepath.Join(t.TempDir(), "config")}
}

// hostilePaths are paths with what means something to cron, shells and systemd.
var hostilePaths = []string{"/a b", "/50%", "/it's", `/say "x"`, "/a$b$$HOME", `/back\slash\`, "/x;y&z|`id`#1", "/%h%%n",
	"/é✓", "/~*?["}

// Every other byte of the crontab stays, and each store has one line.
func TestCrontab(t *testing.T) {
	tab, calls := fakes(t, false)
	one, two := schedule(t, "/one/.markmill"), schedule(t, "/two/.markmill")
	if kind, err := one.Choose(); kind != maintenance.Crontab || err != nil {
		t.Fatal(kind, err)
	}
	gittest.Must(t, one.Install(maintenance.Crontab)) // there is no crontab yet
	if text := string(read(t, tab)); strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	const others = "# mine\nMAILTO=me\n\n5 4 * * * other # markmill-prune-0123456789ab x\n0 0 * * * without an end"
	gittest.Must(t, os.WriteFile(tab, []byte(others), 0o600))
	gittest.Must(t, one.Install(maintenance.Crontab))
	gittest.Must(t, two.Install(maintenance.Crontab))
	both := string(read(t, tab))
	if !strings.HasPrefix(both, others+"\n") || strings.Count(both, "runs prune") != 2 {
		t.Errorf("%q", both)
	}
	before := strings.Count(string(read(t, calls)), "crontab -\n")
	gittest.Must(t, one.Install(maintenance.Crontab))
	if now := string(read(t, tab)); now != both || strings.Count(string(read(t, calls)), "crontab -\n") != before {
		t.Errorf("installing again changed it: %q", now)
	}
	one.Command = append(one.Command, "--repo", "/elsewhere")
	gittest.Must(t, one.Install(maintenance.Crontab))
	if now := string(read(t, tab)); strings.Count(now, one.Name()) != 1 ||
		!strings.Contains(now, "--repo /elsewhere # ") {
		t.Errorf("%q", now)
	}
	if kind, err := one.Remove(); kind != maintenance.Crontab || err != nil {
		t.Error(kind, err)
	}
	if kind, err := two.Installed(); kind != maintenance.Crontab || err != nil {
		t.Error("the other's line is gone", kind, err)
	}
	if _, err := two.Remove(); err != nil || string(read(t, tab)) != others+"\n" {
		t.Errorf("%v: %q", err, string(read(t, tab)))
	}
	if kind, err := two.Remove(); kind != "" || err != nil {
		t.Error(kind, err)
	}
}

// A crontab that cannot be read is not written.
func TestCrontabUnread(t *testing.T) {
	tab, calls := fakes(t, false)
	gittest.Must(t, os.WriteFile(tab, []byte("1 2 3 4 5 mine\n"), 0o600))
	gittest.Must(t, os.WriteFile(tab+".broken", nil, 0o600))
	s := schedule(t, "/one/.markmill")
	if err := s.Install(maintenance.Crontab); err == nil || !strings.Contains(err.Error(), "you may not use crontab") {
		t.Error(err)
	}
	if _, err := s.Remove(); err == nil {
		t.Error("no error")
	}
	if string(read(t, tab)) != "1 2 3 4 5 mine\n" || strings.Contains(string(read(t, calls)), "crontab -\n") {
		t.Error("it was written")
	}
}

// cronCommand is the command that cron gives to the shell: a % ends it, and a backslash guards one. Vixie cron takes
// two backslashes for one, and BusyBox knows none of this.
func cronCommand(line, cron string) string {
	_, command, _ := strings.Cut(line, "* * * ")
	if cron == "busybox" {
		return command
	}
	var out strings.Builder
	for i := 0; i < len(command); i++ {
		c := command[i]
		next := byte(0)
		if i+1 < len(command) {
			next = command[i+1]
		}
		switch {
		case c == '%':
			return out.String()
		case c == '\\' && (next == '%' || next == '\\' && cron == "vixie"):
			c = next
			i++
		}
		out.WriteByte(c)
	}
	return out.String()
}

// The shell of each cron calls the program with the very words.
func TestCrontabQuoting(t *testing.T) {
	program := filepath.Join(t.TempDir(), `o'd=%d "$x" \p`)
	gittest.Must(t, os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$MARKMILL_DIR\" \"$@\"\n"), 0o755))
	for _, path := range hostilePaths {
		s := &maintenance.Schedule{Store: path, Command: []string{program, "--repo", path},
			Env: []string{"MARKMILL_DIR=" + path}}
		files, err := s.Files(maintenance.Crontab)
		gittest.Must(t, err)
		for _, cron := range []string{"vixie", "cronie", "busybox"} {
			out, err := exec.Command("/bin/sh", "-c", cronCommand(strings.TrimSuffix(files[0].Text, "\n"),
				cron)).CombinedOutput()
			if want := path + "\n--repo\n" + path + "\n"; err != nil || string(out) != want {
				t.Errorf("%s, %q: %v %q", cron, files[0].Text, err, out)
			}
		}
	}
	for _, path := range []string{"/a\nb", "/\x1b", "/" + strings.Repeat("x", 1000)} {
		s := &maintenance.Schedule{Store: path, Command: []string{program, path}}
		if _, err := s.Files(maintenance.Crontab); err == nil {
			t.Errorf("%q is written", path)
		}
	}
}

// The units are those of one store, and go without a rest.
func TestSystemd(t *testing.T) {
	tab, calls := fakes(t, true)
	one := schedule(t, "/one/.markmill")
	two := schedule(t, "/two/.markmill")
	two.Config = one.Config
	for _, s := range []*maintenance.Schedule{one, two, one} {
		if kind, err := s.Choose(); kind != maintenance.Systemd || err != nil {
			t.Fatal(kind, err)
		}
		gittest.Must(t, s.Install(maintenance.Systemd))
	}
	units := filepath.Join(one.Config, "systemd", "user")
	entries, err := os.ReadDir(units)
	if err != nil || len(entries) != 4 {
		t.Error(entries, err)
	}
	if text := string(read(t, calls)); strings.Count(text, "systemctl --user enable --now "+one.Name()+
		".timer\n") != 2 {
		t.Error(text)
	}
	gittest.Must(t, os.WriteFile(filepath.Join(units, "mine.timer"), nil, 0o600))
	// the one takes the place of the other
	gittest.Must(t, one.Install(maintenance.Crontab))
	if kind, err := one.Installed(); kind != maintenance.Crontab || err != nil {
		t.Error(kind, err)
	}
	if text := string(read(t, calls)); !strings.Contains(text, "systemctl --user disable --now "+one.Name()+
		".timer\n") {
		t.Error(text)
	}
	if kind, err := two.Remove(); kind != maintenance.Systemd || err != nil {
		t.Error(kind, err)
	}
	if entries, err := os.ReadDir(units); err != nil || len(entries) != 1 || entries[0].Name() != "mine.timer" {
		t.Error(entries, err)
	}
	if string(read(t, tab)) == "" {
		t.Error("the line of the other store is gone")
	}
}

// In arguments $ begins a variable, in the program's path and in the environment it does not.
func TestSystemdVariables(t *testing.T) {
	s := &maintenance.Schedule{Store: "/a$b", Command: []string{"/a$b/m", "/a$b"}, Env: []string{"MARKMILL_DIR=/a$b"}}
	files, err := s.Files(maintenance.Systemd)
	gittest.Must(t, err)
	for _, want := range []string{`ExecStart="/a$b/m" "/a$$b"` + "\n", `Environment="MARKMILL_DIR=/a$b"` + "\n"} {
		if !strings.Contains(files[0].Text, want) {
			t.Errorf("%s is not in\n%s", want, files[0].Text)
		}
	}
}

// systemd itself reads the units as they are meant: it looks for the program at its path.
func TestInteropSystemdUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	verify := func(s *maintenance.Schedule) string {
		files, err := s.Files(maintenance.Systemd)
		gittest.Must(t, err)
		args := []string{"--user", "verify", "--man=no"}
		for _, f := range files {
			gittest.Must(t, os.MkdirAll(filepath.Dir(f.Path), 0o755))
			gittest.Must(t, os.WriteFile(f.Path, []byte(f.Text), 0o644))
			args = append(args, f.Path)
		}
		cmd := exec.CommandContext(context.Background(), analyze, args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(string(out), s.Name()) {
			t.Skipf("systemd-analyze does not work here: %s", out)
		}
		return string(out)
	}
	for _, path := range hostilePaths {
		program := filepath.Join(t.TempDir(), strings.ReplaceAll(path, "/", ""), "markmill")
		gittest.Must(t, os.MkdirAll(filepath.Dir(program), 0o755))
		gittest.Must(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
		s := &maintenance.Schedule{Store: path, Command: []string{program, "--repo", path},
			Env:    []string{"MARKMILL_DIR=" + path},
			Config: t.TempDir()}
		for _, s.Job = range []maintenance.Job{maintenance.Prune, maintenance.RunDue} {
			if said := verify(s); strings.Contains(said, s.Name()) {
				t.Errorf("%q: %s", path, said)
			}
		}
	}
	gone := &maintenance.Schedule{Store: "/x", Command: []string{"/no such program"}, Config: t.TempDir()}
	if said := verify(gone); !strings.Contains(said, "/no such program") {
		t.Errorf("what is wrong is not found: %q", said)
	}
}

// Two jobs of one store have units and lines of their own.
func TestRunDueUnits(t *testing.T) {
	due := schedule(t, "/s")
	due.Job = maintenance.RunDue
	if due.Name() == schedule(t, "/s").Name() {
		t.Error("pruning and running what is due have the same name")
	}
	files, err := due.Files(maintenance.Crontab)
	if gittest.Must(t, err); !strings.HasPrefix(files[0].Text, "* * * * * /usr/bin/markmill ") {
		t.Error(files[0].Text)
	}
	files, err = due.Files(maintenance.Systemd)
	if gittest.Must(t, err); !strings.Contains(files[1].Text,
		"\n[Timer]\nOnCalendar=minutely\nAccuracySec=1s\n\n[Install]\n") || !strings.HasPrefix(files[0].Text,
		"# Made by markmill schedule install; markmill schedule remove removes it.\n") {
		t.Error(files)
	}
}
