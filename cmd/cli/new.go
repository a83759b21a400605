package cli

import (
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/runs/outfile"
)

//go:embed templates
var templates embed.FS

func (a *app) newCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a notebook to start from",
		Long: `Writes NAME.md, which runs as it is. A NAME that ends in .md, .markdown or .ipynb is used as it is, and
.ipynb gives a Jupyter notebook. An existing file is not changed. Kinds: task (a change and its test), health
(measure, report, alert), agent (a coding agent scouts, implements, is reviewed and revises; tests decide),
observatory (checks of a machine and its services).

Exit codes: 0 written, 2 the file exists.`,
		Example: "  markmill new rename-flag\n  markmill new checks/disk.md --kind health\n" +
			"  markmill new analysis.ipynb --kind health\n  markmill new fix-parser --kind agent",
		Args: args(1, 1),
		RunE: func(_ *cobra.Command, names []string) error {
			text, err := templates.ReadFile("templates/" + kind + ".md")
			if err != nil {
				return usagef("--kind %s is not known; known: task, health, agent, observatory", kind)
			}
			path := names[0]
			ext := filepath.Ext(path)
			switch form := notebooks.FormOfName(path); {
			case form == notebooks.FormNative || form == notebooks.FormJupyter:
			case form != "" || strings.EqualFold(ext, ".html"):
				return usagef("%s: new writes Markdown or, for a name that ends in .ipynb, a Jupyter notebook; "+
					"markmill convert makes other forms of it", path)
			default:
				path, ext = path+".md", ".md"
			}
			title := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ext), "-", " ")
			if title == "" {
				return usagef("%s names no notebook; give it a name before %s", path, ext)
			}
			content := []byte(strings.ReplaceAll(string(text), "{{title}}", strings.ToUpper(title[:1])+title[1:]))
			if jupyterName(path) {
				if content, err = newJupyter(path, content); err != nil {
					return err
				}
			}
			if err := a.checkTarget("PATH", path); err != nil {
				return err
			}
			err = outfile.New(path, content)
			if errors.Is(err, fs.ErrExist) {
				return usagef("%s exists already; choose another name", path)
			}
			if err == nil {
				a.tell("wrote %s; try: markmill run %s\n", path, path)
			}
			return err
		},
	}
	c.Flags().StringVar(&kind, "kind", "task", "what to start from: task, health, agent, observatory")
	return c
}

// newJupyter makes a Jupyter notebook of a template.
func newJupyter(path string, markdown []byte) ([]byte, error) {
	d, err := convert.Read(notebooks.FormNative, path, markdown)
	if err != nil {
		return nil, err
	}
	out, _, err := d.To(notebooks.FormJupyter, name(path))
	return out, err
}
