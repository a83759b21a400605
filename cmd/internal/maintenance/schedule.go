package maintenance

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/runs/outfile"
)

// Job is what is done by the clock.
type Job struct {
	Name  string // in the names of units
	About string // the command that is called
	Made  string // the command whose install and remove make and remove it
	Timer string // when, for systemd
	Cron  string // when, for cron; "" is once in the night
}

// The jobs.
var (
	Prune = Job{"prune", "markmill runs prune", "markmill runs sizes",
		"OnCalendar=daily\nRandomizedDelaySec=1h\nPersistent=true\n", ""}
	RunDue = Job{"run-due", "markmill schedule run-due", "markmill schedule", "OnCalendar=minutely\nAccuracySec=1s\n",
		"* * * * *"}
)

// Schedule has a job done for one store, by a timer of the user's systemd or a line of the user's crontab.
type Schedule struct {
	Job              // the zero Job is Prune
	Store   string   // the folder of the records; it names the schedule
	Command []string // the program, by its absolute path, and its arguments
	Env     []string // variables that the command needs, NAME=VALUE
	Config  string   // the user's folder of settings, such as ~/.config
}

// Who does it.
const (
	Systemd = "systemd"
	Crontab = "crontab"
)

func (s *Schedule) job() Job { return cmp.Or(s.Job, Prune) }

// Name is the name of the units, and of the line in the crontab.
func (s *Schedule) Name() string {
	sum := sha256.Sum256([]byte(s.Store))
	return "markmill-" + s.job().Name + "-" + hex.EncodeToString(sum[:6])
}

// File is what Install writes: a unit, or the line of the crontab, whose Path is "".
type File struct{ Path, Text string }

// Files are what Install writes for one of Systemd and Crontab.
func (s *Schedule) Files(kind string) ([]File, error) {
	for _, text := range slices.Concat(s.Command, s.Env, []string{s.Store}) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, bad("%q has a control character, which no schedule can name", text)
		}
	}
	if kind == Crontab {
		line := s.line()
		if len(line) > 990 { // Vixie cron cuts at 1,000
			return nil, bad("the line for the crontab would have %d characters, and cron reads 990", len(line))
		}
		return []File{{Text: line + "\n"}}, nil
	}
	job := s.job()
	head := "# Made by " + job.Made + " install; " + job.Made + " remove removes it.\n"
	about := "Description=" + job.About + " for \"" + strings.ReplaceAll(s.Store, "%", "%%") + "\"\n"
	service := head + "[Unit]\n" + about + "\n[Service]\nType=oneshot\n"
	for _, v := range s.Env {
		service += "Environment=" + unitQuote(v) + "\n"
	}
	command := s.Command
	if strings.ContainsAny(command[0], `\'"`) { // systemd takes no such program
		command = slices.Concat([]string{"/bin/sh", "-c", `exec "$0" "$@"`}, command)
	}
	service += "ExecStart=" + unitQuote(command[0])
	for _, word := range command[1:] { // $ begins a variable in arguments, and not in the path of the program
		service += " " + unitQuote(strings.ReplaceAll(word, "$", "$$"))
	}
	timer := head + "[Unit]\n" + about + "\n[Timer]\n" + job.Timer +
		"\n[Install]\nWantedBy=timers.target\n"
	return []File{{s.unit(".service"), service + "\n"}, {s.unit(".timer"), timer}}, nil
}

func (s *Schedule) unit(ending string) string {
	return filepath.Join(s.Config, "systemd", "user", s.Name()+ending)
}

// simple reports whether a word needs no quotes.
func simple(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) &&
			!strings.ContainsRune("/._=:+-", c)
	})
}

// unitQuote quotes a word for a unit file (systemd.syntax(7)); % begins a specifier there.
func unitQuote(word string) string {
	if simple(word) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word) + `"`
}

// line is the line of the crontab. The shell that runs it takes the mark at its end for a comment.
func (s *Schedule) line() string {
	sum := sha256.Sum256([]byte(s.Store))
	line := cmp.Or(s.job().Cron, fmt.Sprintf("%d 3 * * *", int(sum[0])%60)) // not all at once
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		line += " " + name + "=" + cronQuote(value)
	}
	for _, word := range s.Command {
		line += " " + cronQuote(word)
	}
	return line + s.mark()
}

func (s *Schedule) mark() string { return " # " + s.Name() }

// cronQuote quotes a word for the shell. Programs named cron differ in what % and backslashes mean in a line, and all
// leave a backslash before a digit alone: printf makes the odd characters.
func cronQuote(word string) string {
	switch {
	case simple(word):
		return word
	case !strings.ContainsAny(word, `%\'`):
		return "'" + word + "'"
	}
	return `"$(printf '` + strings.NewReplacer("%", `\045`, `\`, `\134`, "'", `\047`).Replace(word) + `')"`
}

// Installed tells who does it; "" is nobody.
func (s *Schedule) Installed() (string, error) {
	if _, err := os.Lstat(s.unit(".timer")); err == nil {
		return Systemd, nil
	}
	lines, err := crontab()
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return "", err
	}
	if slices.ContainsFunc(lines, s.own) {
		return Crontab, nil
	}
	return "", nil
}

func (s *Schedule) own(line string) bool { return strings.HasSuffix(line, s.mark()+"\n") }

// Choose is who is to do it: who does already, else the user's systemd if it runs, else cron.
func (s *Schedule) Choose() (string, error) {
	kind, err := s.Installed()
	if kind != "" || err != nil {
		return kind, err
	}
	if _, err := system("", "systemctl", "--user", "show", "--property=Version"); err == nil {
		return Systemd, nil
	}
	if _, err := exec.LookPath("crontab"); err == nil {
		return Crontab, nil
	}
	return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: "there is neither a systemd of the user nor a crontab",
		Hint: "let a scheduler of the system run this: " + strings.Join(s.Command, " ")}
}

// Install installs the schedule, in the place of one of the other kind.
func (s *Schedule) Install(kind string) error {
	files, err := s.Files(kind)
	if err != nil {
		return err
	}
	if other, err := s.Installed(); err != nil {
		return err
	} else if other != kind {
		if _, err := s.Remove(); err != nil {
			return err
		}
	}
	if kind == Crontab {
		return s.edit(files[0].Text)
	}
	for _, f := range files {
		if err := outfile.Setting(f.Path, []byte(f.Text)); err != nil {
			return err
		}
	}
	_, err = system("", "systemctl", "--user", "daemon-reload")
	if err == nil {
		_, err = system("", "systemctl", "--user", "enable", "--now", s.Name()+".timer")
	}
	return err
}

// Remove removes the schedule, and returns who did it; "" was nobody.
func (s *Schedule) Remove() (string, error) {
	kind, err := s.Installed()
	switch {
	case kind == "" || err != nil:
		return "", err
	case kind == Crontab:
		return kind, s.edit("")
	}
	_, err = system("", "systemctl", "--user", "disable", "--now", s.Name()+".timer")
	for _, ending := range []string{".timer", ".service"} {
		if rerr := os.Remove(s.unit(ending)); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	_, rerr := system("", "systemctl", "--user", "daemon-reload")
	return kind, errors.Join(err, rerr)
}

// edit puts a line in the place of the schedule's in the user's crontab, "" for none. Every other byte stays.
func (s *Schedule) edit(line string) error {
	lines, err := crontab()
	if err != nil {
		return err
	}
	old := strings.Join(lines, "")
	at := slices.IndexFunc(lines, s.own)
	lines = slices.DeleteFunc(lines, s.own)
	if at < 0 {
		at = len(lines)
		if at > 0 && line != "" && !strings.HasSuffix(lines[at-1], "\n") {
			lines[at-1] += "\n" // without which cron would not read it either
		}
	}
	now := strings.Join(slices.Insert(lines, at, line), "")
	if now == old {
		return nil
	}
	_, err = system(now, "crontab", "-")
	return err
}

// crontab returns the lines of the user's crontab, with their ends. What is not understood is an error: a crontab that
// was not read must not be written.
func crontab() ([]string, error) {
	text, err := system("", "crontab", "-l")
	if err != nil {
		words := strings.ToLower(err.Error())
		none := strings.Contains(words, "no crontab for") || // Vixie cron, cronie, macOS
			strings.Contains(words, "can't open") && strings.Contains(words, "no such file") // BusyBox
		if none {
			return nil, nil
		}
		return nil, err
	}
	return slices.Collect(strings.Lines(text)), nil
}

// system runs a program of the system, with a text as its input, and returns what it prints.
func system(stdin, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		if words := strings.Join(strings.Fields(errs.String()), " "); words != "" {
			err = fmt.Errorf("%s (%w)", words, err)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out.String(), nil
}

func bad(format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf(format, args...)}
}

// PrintUnits prints what an installation would write.
func PrintUnits(a *program.App, s *Schedule, kind string) error {
	files, err := s.Files(kind)
	for _, f := range files {
		if err == nil && f.Path != "" {
			err = program.Say(a.Stdout, "# %s\n", f.Path)
		}
		if err == nil { // it has no control characters
			_, err = io.WriteString(a.Stdout, f.Text)
		}
	}
	return err
}
