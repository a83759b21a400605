package api

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	nb, err := eng.Parse(req)
	if err != nil {
		return "", err
	}
	// Any name may be a placeholder: whether it can be a parameter is for the plan to say.
	options := params.Options{AllowUnknown: true, IsName: func(string) bool { return true }, Getenv: eng.Getenv}
	bound, err := params.Bind(req.Path, nb.Params, req.Given, options)
	if err != nil {
		return "", err
	}
	now := eng.Now().UTC()
	extra := map[string]string{"run_id": string(req.ID), "date": now.Format(time.DateOnly),
		"now": now.Format(time.RFC3339)}
	if eng.Source != nil {
		if head, err := eng.Source.Head(); err == nil {
			extra["commit"] = string(head)
		}
	}
	return params.ExpandPath(output, bound, extra)
}

// Within returns an error if the values in an OUTPUT of the repository's settings lead out of the folder that they
// name: who gives values does not choose where files are written.
func Within(settings, output string) error {
	if !filepath.IsLocal(settings) || settings == output {
		return nil
	}
	if filepath.IsLocal(output) && !slices.Contains(strings.Split(filepath.ToSlash(output), "/"), "..") {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption, File: engine.ConfigFile,
		Msg:  fmt.Sprintf("output: %s is %s with these values, which leads out of its folder", settings, output),
		Hint: "give OUTPUT, or other values"}
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
