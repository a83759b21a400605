package show

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/runs"
)

// pager shows a text with $PAGER, or less where that is not set. An empty PAGER and cat mean no pager. It returns false
// when there is none, and nothing has been shown. Until the pager ends, an interrupt is for the pager.
func pager(con *program.Console, text []byte) bool {
	words, set := con.Getenv("PAGER")
	if !set {
		words = "less"
		if _, err := exec.LookPath(words); err != nil {
			return false
		}
	}
	if words = strings.TrimSpace(words); words == "" || words == "cat" {
		return false
	}
	cmd := shell(words)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), con.Stdout, con.Stderr
	cmd.Env = os.Environ()
	// As Git sets them: quit at the end of a short page, keep colours.
	for _, v := range [][2]string{{"LESS", "FRX"}, {"LV", "-c"}} {
		if _, set := con.Getenv(v[0]); !set {
			cmd.Env = append(cmd.Env, v[0]+"="+v[1])
		}
	}
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	var ended *exec.ExitError
	if errors.As(cmd.Run(), &ended) { // how the user left the pager does not matter, nor where in the text
		return ended.ExitCode() != 126 && ended.ExitCode() != 127 // the shell found no such program, and said so
	}
	return cmd.Process != nil
}

// shell runs a command line, which a variable of the environment contains.
func shell(words string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/c", words)
	}
	return exec.Command("sh", "-c", words)
}

// pagesKept is how long pages of show --open are kept.
const pagesKept = 7 * 24 * time.Hour

// runOf is the run that is kept here and wrote an output notebook; nil where there is none.
func runOf(a *program.App, output []byte) *runs.Run {
	store, _, err := a.Here()
	if err != nil {
		return nil
	}
	made, err := store.Outputs()
	if dirs := made[runs.DigestOf(output)]; err == nil && len(dirs) > 0 {
		if run, _, err := runs.At(dirs[0]).Load(); err == nil {
			return run
		}
	}
	return nil
}

// openPage writes a run or notebook as an HTML page that only the user can read, and opens it in a browser.
func openPage(a *program.App, word string) error {
	var path string
	var src []byte
	left, err := runview.RunOutput(a, word, "page.html", runview.FormHTML)
	label := ""
	var run *runs.Run
	switch {
	case err != nil:
		return err
	case left != nil:
		path, src, run, label = left.Path, left.Text, left.Run, string(left.Run.ID)
	default:
		it, err := a.Lookup().Side(word) // a revision, for example
		if err != nil {
			return err
		}
		path, src, run, label = word, it.Source, runOf(a, it.Source), pageName(word)
		if rev, inside, ok := strings.Cut(word, ":"); ok && rev != "" {
			if _, err := os.Stat(word); err != nil {
				path = filepath.FromSlash(inside)
			}
		}
	}
	text, err := runview.PageOf(path, src, run)
	if err != nil {
		return err
	}
	dir := filepath.Join(a.Cache(), "pages")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	forgetPages(a, dir)
	file := filepath.Join(dir, label+".html")
	if err := runs.WriteFile(file, text); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Stdout, file); err != nil {
		return err
	}
	if err := browse(&a.Console, file); err != nil {
		a.Tell("markmill: the page is written, but no browser opened it: %s; set BROWSER, or open it yourself\n", err)
		return program.Exit(program.ExitFail)
	}
	return nil
}

// pageName names the page of a file, with a digest of its path: files of one name have different pages.
func pageName(word string) string {
	whole := word
	if abs, err := filepath.Abs(word); err == nil {
		whole = abs
	}
	base := filepath.Base(filepath.FromSlash(word))
	digest := strings.TrimPrefix(string(runs.DigestOf([]byte(whole))), "sha256:")
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"/\|?*`, r) || r < 0x20 {
			return '_'
		}
		return r
	}, base) + "-" + digest[:12]
}

// forgetPages removes old pages. A failure does not matter: the next call tries again.
func forgetPages(a *program.App, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".html" &&
			a.Now().Sub(info.ModTime()) > pagesKept {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// browse opens a file with $BROWSER, or with the program of the system. BROWSER lists commands, separated by colons,
// which are tried in order; %s is replaced by the file, and a command that ends in & runs in the background.
func browse(con *program.Console, file string) error {
	list := con.Env("BROWSER")
	if strings.TrimSpace(list) == "" {
		list = cmp.Or(map[string]string{"darwin": "open",
			"windows": "rundll32 url.dll,FileProtocolHandler"}[runtime.GOOS], "xdg-open")
	}
	var failed error
	for _, words := range filepath.SplitList(list) {
		fields := strings.Fields(words)
		if len(fields) == 0 {
			continue
		}
		background := fields[len(fields)-1] == "&"
		if background {
			fields = fields[:len(fields)-1]
		}
		named := false
		for i, f := range fields {
			if strings.Contains(f, "%s") {
				fields[i], named = strings.ReplaceAll(f, "%s", file), true
			}
		}
		if !named {
			fields = append(fields, file)
		}
		if failed = start(con, background, fields...); failed == nil {
			return nil
		}
	}
	return failed
}

// start runs a program on this terminal.
func start(con *program.Console, background bool, words ...string) error {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = con.Stdin, con.Stderr, con.Stderr
	if background {
		return cmd.Start()
	}
	return cmd.Run()
}
