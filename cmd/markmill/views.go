package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/render"
	"markmill/runs"
)

// views are the files that every run leaves for readers, in the order in which they are written:
// the report digests the others, so it comes last.
func (a *app) views(output string) []engine.View {
	return []engine.View{
		{Name: runs.PatchFile, Write: emptyPatch},
		{Name: runs.TestLogFile, Write: testLog},
		{Name: runs.OutputFile, Write: func(in engine.ViewInput) error { return a.outputNotebook(in, output) }},
		{Name: runs.ReportPageFile, Write: reportPage},
		{Name: runs.ReportFile, Write: reportAndSums},
	}
}

// outputView is the output notebook as a fold of a run directory; verify calls it again.
func outputView(dir string, run *runs.Run, source []byte) ([]byte, error) {
	nb, err := notebooks.Parse(run.Started.Notebook, source)
	if err != nil {
		return nil, err
	}
	return render.Output(nb, run, os.DirFS(dir))
}

func (a *app) outputNotebook(in engine.ViewInput, output string) error {
	b, err := render.Output(in.Notebook, in.Run, os.DirFS(in.Dir))
	if err != nil {
		return err
	}
	if in.Clean != nil {
		b = in.Clean(runs.OutputFile, b)
	}
	if err := writeWithAssets(filepath.Join(in.Dir, runs.OutputFile), b, in); err != nil {
		return err
	}
	switch output {
	case "":
		return nil
	case "-":
		_, err = a.stdout.Write(b)
		return err
	}
	return writeOutput(output, b, in)
}

// writeOutput writes OUTPUT: through a link into the file that it names, and into a device or a pipe
// as it is, where a new file must not take its place.
func writeOutput(path string, b []byte, in engine.ViewInput) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		return errors.Join(err, f.Close())
	}
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			if err := writeAssets(filepath.Dir(path), in); err != nil {
				return err
			}
			return runs.WriteFile(target, b)
		}
	}
	return writeWithAssets(path, b, in)
}

// writeWithAssets writes an output notebook and, beside it, the pictures that it shows.
func writeWithAssets(path string, b []byte, in engine.ViewInput) error {
	if err := writeAssets(filepath.Dir(path), in); err != nil {
		return err
	}
	return runs.WriteFile(path, b)
}

// writeAssets makes the folder of an output notebook and writes the pictures that it shows.
func writeAssets(folder string, in engine.ViewInput) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, asset := range render.Assets(in.Run) {
		to := filepath.Join(folder, filepath.FromSlash(asset.To))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(in.Dir, filepath.FromSlash(asset.From)))
		if err != nil {
			return err
		}
		if err := runs.WriteFile(to, data); err != nil {
			return err
		}
	}
	return nil
}

// assetsFolder is where an output notebook keeps its pictures: beside it, by its name.
func assetsFolder(output string) string {
	base := filepath.Base(output)
	if output == "" || output == "-" {
		base = runs.OutputFile
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + "_files"
}

// emptyPatch leaves a patch.diff also where no change was ever captured.
func emptyPatch(in engine.ViewInput) error {
	path := filepath.Join(in.Dir, runs.PatchFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return runs.WriteFile(path, nil)
}

func testLog(in engine.ViewInput) error {
	path := filepath.Join(in.Dir, runs.TestLogFile)
	f, err := os.CreateTemp(in.Dir, runs.TempPrefix+"*")
	if err != nil {
		return err
	}
	err = render.WriteTestLog(f, in.Run, os.DirFS(in.Dir))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		if err = os.Chmod(f.Name(), 0o644); err == nil {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, removed(f.Name()))
	}
	return nil
}

// removed takes a half-written file away.
func removed(path string) string {
	if err := os.Remove(path); err != nil {
		return "; " + err.Error()
	}
	return ""
}

func reportPage(in engine.ViewInput) error {
	b, err := render.ReportMarkdown(in.Run)
	if err != nil {
		return err
	}
	return runs.WriteFile(filepath.Join(in.Dir, runs.ReportPageFile), b)
}

// reportAndSums writes the index of the record, and the digests of all of it.
func reportAndSums(in engine.ViewInput) error {
	r, err := runs.NewReportKnowing(in.Run, in.Dir, in.Known)
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := runs.WriteFile(filepath.Join(in.Dir, runs.ReportFile), b); err != nil {
		return err
	}
	return r.WriteSums(in.Dir)
}
