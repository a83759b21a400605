package child

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/runs/outfile"
)

// Root is a folder below which clients of a program name files.
type Root string

// Inside returns a path that a client named, relative to the root. It refuses what leads out of the root, symbolic
// links, Git's and Markmill's own folders, and names that the command line reads as something else.
func (r Root) Inside(name string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fmt.Errorf("the path %s %s; give one below %s", plain.OneLine(plain.Cut(name, 200)), why, string(r))
	}
	switch {
	case name == "" || name == "-":
		return refuse("names no file")
	case strings.ContainsAny(name, "\x00{}*?[]") || strings.Contains(name, "://"):
		return refuse("stands for something else")
	}
	rel := filepath.FromSlash(name)
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(string(r), rel); err != nil {
			return refuse("is outside")
		}
	}
	if rel = filepath.Clean(rel); !filepath.IsLocal(rel) {
		return refuse("is outside")
	}
	if err := outfile.Reserved(filepath.Join(string(r), rel)); err != nil {
		return "", err
	}
	at := string(r)
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return refuse("goes through a symbolic link")
		}
	}
	if strings.HasPrefix(rel, "-") || strings.Contains(rel, ":") {
		rel = "." + string(filepath.Separator) + rel // neither an option, nor an address, nor REV:PATH
	}
	return rel, nil
}

// instructs matches the names of files that coding agents, or forges, read as instructions. Folders of theirs begin
// with a dot.
var instructs = lazyregexp.New(`(?i)^(` +
	`agents?|agents\.override|claude|claude\.local|gemini|qwen|codex|copilot|cursor|crush|warp|jules|conventions|skill|` +
	`copilot-instructions|system[-_]prompt|` +
	`pull_request_template|issue_template|` +
	`.*\.(instructions|prompt|chatmode|agent|rules)` +
	`)\.(md|ipynb)$`)

// Writable is Inside for a notebook that a client has written: no file that instructs agents.
func (r Root) Writable(name string) (string, error) {
	rel, err := r.Inside(name)
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if part != "." && strings.HasPrefix(part, ".") || strings.EqualFold(part, "PULL_REQUEST_TEMPLATE") ||
			strings.EqualFold(part, "ISSUE_TEMPLATE") {
			return "", fmt.Errorf("%s is in a hidden folder or among the templates of a forge; give a notebook "+
				"another folder", plain.OneLine(rel))
		}
	}
	if instructs.MatchString(filepath.Base(rel)) {
		return "", fmt.Errorf("%s is a name that agents or forges read as instructions; give the notebook another name",
			plain.OneLine(rel))
	}
	return rel, nil
}

// Output is Writable for the output notebook of a run. A file that is there must be the output of a run already, or the
// notebook itself.
func (r Root) Output(name, notebook string) (string, error) {
	rel, err := r.Writable(name)
	if err != nil {
		return "", err
	}
	if form := notebooks.FormOfName(rel); form != notebooks.FormNative && form != notebooks.FormJupyter {
		return "", fmt.Errorf("an output notebook ends in .md or .ipynb, and %s does not", plain.OneLine(rel))
	}
	full := filepath.Join(string(r), rel)
	src, err := os.ReadFile(full)
	if os.IsNotExist(err) || rel == notebook {
		return rel, nil
	}
	if err != nil {
		return "", err
	}
	if IsOutput(rel, src) {
		return rel, nil
	}
	return "", fmt.Errorf("%s is there and is no output of a run; give another output", plain.OneLine(rel))
}

// IsOutput reports whether a notebook is the output of a run.
func IsOutput(name string, src []byte) bool {
	if notebooks.IsJupyterName(name) {
		nb, err := ipynb.Parse(name, src)
		return err == nil && nb.Manifest() != nil
	}
	return region.Strip(name, src).Manifest != nil
}
