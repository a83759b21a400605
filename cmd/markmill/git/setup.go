package git

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Setup says where Git is set up. Its zero value is the repository around the working directory.
type Setup struct {
	Global     bool   // for all repositories of the user
	Attributes string // the attributes file; "" is .git/info/attributes or, with Global, Git's core.attributesFile
	ConfigHome string // the user's folder of settings, ~/.config
}

// ErrNoRepository is returned outside a repository, unless Global is set.
var ErrNoRepository = errors.New("this is no Git repository")

type setting struct{ name, value string }

// settings are the entries of Git's configuration. Each names the program and what Git asks it for. markdown adds those
// of the filter for Markdown, which is separate: earlier versions gave all Markdown under notebooks/ to the other one,
// which stripped output notebooks that were meant to be committed.
func settings(program, filterFlags string, markdown bool) []setting {
	all := []setting{
		{"filter.markmill.process", program + " git filter" + filterFlags},
		{"filter.markmill.required", "true"},
		{"diff.markmill.textconv", program + " git textconv"},
		{"diff.markmill.xfuncname", heading},
		// Git gives the file of the checkout to textconv as it lies there, outputs and all, and the blob beside it has
		// none.
		{"diff.markmill-source.textconv", program + " git textconv --strip" + filterFlags},
		{"diff.markmill-source.xfuncname", heading},
		{"difftool.markmill.cmd", program + ` diff "$LOCAL" "$REMOTE"`},
		{"merge.markmill.name", "notebooks by step"},
		{"merge.markmill.driver", program + " notebook merge --driver %O %A %B %L %P %S %X %Y"},
		{"filter." + markdownFilter + ".process", program + " git filter --markdown" + filterFlags},
		{"filter." + markdownFilter + ".required", "true"},
	}
	if !markdown {
		all = all[:len(all)-2]
	}
	return all
}

const markdownFilter = "markmill-markdown"

// markdownLine is the line of the attributes file for a pattern of Markdown.
func markdownLine(pattern string) string {
	if strings.ContainsAny(pattern, " \t\"") {
		pattern = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(pattern) + `"`
	}
	return pattern + " filter=" + markdownFilter
}

// markdownLines are the lines of that kind in an attributes file.
func markdownLines(text []byte) (lines []string) {
	if start, end, ok := findBlock(text); ok {
		for line := range strings.Lines(string(text[start:end])) {
			if line = strings.TrimRight(line, "\r\n"); strings.HasSuffix(line, " filter="+markdownFilter) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// heading matches the lines that Git names hunks by: the headings of cells.
const heading = "^## .*$"

// attributes are the lines of the attributes file: the outputs of Jupyter notebooks stay out of commits under
// notebooks/ only; elsewhere, as under runs/, a notebook is committed as it is. Outputs in Markdown are made to be
// committed.
var attributes = []string{
	"*.ipynb diff=markmill merge=markmill",
	"notebooks/**/*.ipynb filter=markmill diff=markmill-source",
	"notebooks/**/*.md merge=markmill",
}

// Install writes the settings and the attributes. program is how Git calls Markmill, filterFlags are options of the
// filter, both as words of a shell; markdown are patterns of Markdown whose outputs stay out of commits, in addition to
// those that an earlier Install named. It returns the attributes file.
func (s Setup) Install(program, filterFlags string, markdown []string) (file string, err error) {
	if file, err = s.attributesFile(); err != nil {
		return "", err
	}
	old, err := readAttributes(file)
	if err != nil {
		return "", err
	}
	named := markdownLines(old)
	for _, pattern := range markdown {
		if line := markdownLine(pattern); !slices.Contains(named, line) {
			named = append(named, line)
		}
	}
	for _, one := range settings(program, filterFlags, len(named) > 0) {
		if _, err := Git("config", s.scope(), "--replace-all", one.name, one.value); err != nil {
			return "", err
		}
	}
	return file, writeAttributes(file, slices.Concat(attributes, named))
}

// ValidPattern reports whether a pattern can be a line of an attributes file.
func ValidPattern(pattern string) bool {
	return pattern != "" && !strings.ContainsAny(pattern, "\r\n") && pattern[0] != '!' && pattern[0] != '#'
}

// OtherFilter is the filter that notebooks have in this repository, when it is not Markmill's; "" without one.
func OtherFilter() string {
	out, err := Git("check-attr", "filter", "--", "notebooks/a.ipynb")
	if err != nil {
		return ""
	}
	_, filter, _ := strings.Cut(strings.TrimSpace(out), ": filter: ")
	if slices.Contains([]string{"unspecified", "unset", "set", "markmill"}, filter) {
		return ""
	}
	return filter
}

// Uninstall removes what Install wrote, and reports whether there was anything.
func (s Setup) Uninstall() (removed bool, err error) {
	file, err := s.attributesFile()
	if err != nil {
		return false, err
	}
	had := false
	for _, one := range settings("", "", true) {
		_, err := Git("config", s.scope(), "--unset-all", one.name)
		var failed *exec.ExitError
		switch {
		case err == nil:
			had = true
		case errors.As(err, &failed) && failed.ExitCode() == 5: // it was not set
		default:
			return false, err
		}
	}
	removed, err = removeAttributes(file)
	return had || removed, err
}

// Entry is a setting or a line that Install writes.
type Entry struct {
	Name  string // of a setting; FILE: LINE of an attribute
	State string // the value of a setting, or "not set"; "there" or "missing" of an attribute
	OK    bool
}

// Status lists what Install would write, with its state.
func (s Setup) Status() ([]Entry, error) {
	file, err := s.attributesFile()
	if err != nil {
		return nil, err
	}
	text, err := readAttributes(file)
	if err != nil {
		return nil, err
	}
	named := markdownLines(text)
	var out []Entry
	for _, one := range settings("", "", len(named) > 0) {
		value, err := Git("config", s.scope(), "--get", one.name)
		if err != nil {
			value = "not set"
		}
		out = append(out, Entry{one.name, strings.TrimSpace(value), err == nil})
	}
	for _, want := range slices.Concat(attributes, named) {
		e := Entry{file + ": " + want, "missing", bytes.Contains(text, []byte(want+"\n"))}
		if e.OK {
			e.State = "there"
		}
		out = append(out, e)
	}
	return out, nil
}

func (s Setup) scope() string {
	if s.Global {
		return "--global"
	}
	return "--local"
}

// attributesFile is the path of the attributes file.
func (s Setup) attributesFile() (string, error) {
	if !s.Global {
		// The folder that the worktrees of a repository share.
		common, err := Git("rev-parse", "--git-common-dir")
		if err != nil {
			return "", ErrNoRepository
		}
		if s.Attributes == "" {
			return filepath.Join(strings.TrimSuffix(common, "\n"), "info", "attributes"), nil
		}
	}
	if s.Attributes != "" {
		return s.Attributes, nil
	}
	if file, err := Git("config", "--global", "--type=path", "--get", "core.attributesFile"); err == nil {
		return strings.TrimSuffix(file, "\n"), nil
	}
	return filepath.Join(s.ConfigHome, "git", "attributes"), nil
}

// Git runs Git and returns its standard output.
func Git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the program git is not installed")
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %s: %w", strings.Join(args, " "), strings.TrimSpace(stderr.String()), err)
	}
	return stdout.String(), nil
}
