package views

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

// OutputPath replaces the placeholders of a path, such as {date} and {threshold}, as run does in OUTPUT and in output:
// of markmill.yaml. Values are the parameters of req, the date and time, the id of the run and the commit of the
// repository. A path without placeholders, and that of a file with braces in its name, stays as it is.
func OutputPath(output string, eng *engine.Engine, req engine.Request) (string, error) {
	if !HasPlaceholders(output) {
		return output, nil
	}
	bound, extra, err := placeholders(eng, req)
	if err != nil {
		return "", err
	}
	return ExpandOutput(output, bound, extra)
}

// Expand replaces the placeholders of a text that is no path, such as key: of the front matter.
func Expand(text string, eng *engine.Engine, req engine.Request) (string, error) {
	bound, extra, err := placeholders(eng, req)
	if err != nil {
		return "", err
	}
	return params.Expand(text, bound, extra)
}

// placeholders are the values that placeholders stand for.
func placeholders(eng *engine.Engine, req engine.Request) ([]notebooks.Bound, map[string]string, error) {
	nb, err := eng.Parse(req)
	if err != nil {
		return nil, nil, err
	}
	// Any name may be a placeholder: whether it can be a parameter is for the plan to say.
	options := params.Options{AllowUnknown: true, IsName: func(string) bool { return true }, Getenv: eng.Getenv}
	bound, err := params.Bind(req.Path, nb.Params, req.Given, options)
	if err != nil {
		return nil, nil, err
	}
	now := eng.Now().UTC()
	extra := map[string]string{"run_id": string(req.ID), "date": now.Format(time.DateOnly),
		"now": now.Format(time.RFC3339)}
	if eng.Source != nil {
		if head, err := eng.Source.Head(); err == nil {
			extra["commit"] = string(head)
		}
	}
	return bound, extra, nil
}

// ExpandOutput replaces the placeholders of a path. Values lead through no link: who gives them does not choose where
// files are written.
func ExpandOutput(output string, bound []notebooks.Bound, extra map[string]string) (string, error) {
	path, err := params.ExpandPath(output, bound, extra)
	if err != nil {
		return "", err
	}
	return path, CheckLinks(output, path)
}

// FixedFolder is the folder of an output, as far as its path has no placeholder.
func FixedFolder(output string) string {
	return filepath.Dir(output[:strings.IndexAny(output+"{", "{}")] + "x")
}

// CheckLinks returns an error if path, which is output with values in it, goes through a link that the values name.
func CheckLinks(output, path string) error {
	fixed := FixedFolder(output)
	for at := filepath.Clean(path); at != fixed && at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return &notebooks.Error{Kind: notebooks.KindParameter,
				Msg:  fmt.Sprintf("OUTPUT %s: with these values a part of it is a symbolic link", output),
				Hint: "give another value, or write the name of the link into OUTPUT itself"}
		}
	}
	return nil
}

// LikeSource gives the OUTPUT of the repository's settings, which is written for Markdown, the extension of a Jupyter
// notebook if the source is one.
func LikeSource(output string, jupyter bool) string {
	if jupyter && notebooks.IsMarkdownName(output) {
		return strings.TrimSuffix(output, filepath.Ext(output)) + ".ipynb"
	}
	return output
}

// HasPlaceholders reports whether a path contains placeholders. Braces in the name of a file that exists are none.
func HasPlaceholders(path string) bool {
	if !strings.ContainsAny(path, "{}") {
		return false
	}
	_, err := os.Lstat(path)
	return err != nil
}

// AssetsFolder is the name of the folder with the pictures of an output notebook, which is beside it. "", - and a
// Jupyter notebook take the name of the run's own output notebook.
func AssetsFolder(output string) string {
	base := filepath.Base(output)
	if output == "" || output == "-" || notebooks.IsJupyterName(output) {
		base = runs.OutputFile
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + "_files"
}
