package new

import (
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/runs/outfile"
)

//go:embed templates
var templates embed.FS

const kinds = "task, report, health, agent, review, observatory"

func Command(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "new [KIND] NAME", Short: "Write a notebook to start from: " + kinds,
		Long: `Writes NAME.md, which runs as it is; a NAME with the ending .md, .markdown or .ipynb (a Jupyter notebook) is kept.
KIND is task (a change and its test; the default), report (data, a table, a plot), health (measure, report, alert), agent
(a coding agent scouts, implements, is reviewed and revises; tests decide), review (what a branch changed, questions,
tests), observatory (checks of a machine and its services).

Exit codes: 0 written, 2 the file exists, and is not changed.`,
		Example: "  markmill new rename-flag\n  markmill new health checks/disk.md\n" +
			"  markmill new report analysis.ipynb\n  markmill new agent fix-parser",
		Args: program.Args(1, 2),
		RunE: func(_ *cobra.Command, words []string) error {
			kind, path := "task", words[len(words)-1]
			if len(words) == 2 {
				kind = words[0]
			}
			path, content, err := Content(kind, path)
			if err != nil {
				return err
			}
			if err := a.CheckTarget("PATH", path); err != nil {
				return err
			}
			err = outfile.New(path, content)
			if errors.Is(err, fs.ErrExist) {
				return program.Usagef("%s exists already; choose another name", path)
			}
			if err == nil {
				a.Tell("wrote %s; try: markmill run %s\n", path, path)
			}
			return err
		},
	}
}

// Content is a notebook of a kind for the file that a name stands for, with the path of that.
func Content(kind, name string) (path string, content []byte, err error) {
	text, err := templates.ReadFile("templates/" + kind + ".md")
	if err != nil {
		return "", nil, program.Usagef("new %s: there is no such kind; there are: %s", kind, kinds)
	}
	path = name
	ext := filepath.Ext(path)
	switch form := notebooks.FormOfName(path); {
	case form == notebooks.FormNative || form == notebooks.FormJupyter:
	case form != "" || strings.EqualFold(ext, ".html"):
		return "", nil, program.Usagef(
			"%s: new writes Markdown or, for a name that ends in .ipynb, a Jupyter notebook; "+
				"markmill convert makes other forms of it", path)
	default:
		path, ext = path+".md", ".md"
	}
	title := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ext), "-", " ")
	if title == "" {
		return "", nil, program.Usagef("%s names no notebook; give it a name before %s", path, ext)
	}
	content = []byte(strings.ReplaceAll(string(text), "{{title}}", strings.ToUpper(title[:1])+title[1:]))
	if program.JupyterName(path) {
		content, err = newJupyter(path, content)
	}
	return path, content, err
}

// newJupyter makes a Jupyter notebook of a template.
func newJupyter(path string, markdown []byte) ([]byte, error) {
	d, err := convert.Read(notebooks.FormNative, path, markdown)
	if err != nil {
		return nil, err
	}
	out, _, err := d.To(notebooks.FormJupyter, program.Name(path))
	return out, err
}
