package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/runs"
)

// views are the files that every run leaves for readers, with OUTPUT after the output notebook of the record.
func (a *app) views(output string) []engine.View {
	var out []engine.View
	for _, v := range api.Views() {
		out = append(out, v)
		if v.Name == runs.OutputFile {
			out = append(out, engine.View{Name: "OUTPUT",
				Write: func(in engine.ViewInput) error { return a.stageKeptOutput(in, output) }, Beside: true})
		}
	}
	return out
}

// askedFile is the output notebook in the run directory that has the form of OUTPUT.
func askedFile(run *runs.Run) string {
	files := run.OutputFiles()
	return files[len(files)-1]
}

// stageKeptOutput writes OUTPUT: to standard output at once, to a temporary file until the record is complete
// (commitOutput).
func (a *app) stageKeptOutput(in engine.ViewInput, path string) error {
	if path == "" || in.Run.Left(askedFile(in.Run)) != nil {
		return nil
	}
	b, err := runs.At(in.Dir).ReadFile(askedFile(in.Run))
	if err != nil {
		return err
	}
	if path == "-" {
		return a.shownText(b)
	}
	return stage(path, b, in)
}

// stageLeftOutput stages an OUTPUT whose run directory keeps no output notebook, and returns those that are left out.
func stageLeftOutput(in engine.ViewInput, path string) []runs.LeftOutput {
	if path == "" || !in.Run.CanLeave() || isDevice(path) { // without a path OUTPUT is that of a comparison
		return nil
	}
	var left []runs.LeftOutput
	for _, file := range in.Run.OutputFiles() {
		b, err := api.OutputNotebook(in, file)
		if err == nil && file == askedFile(in.Run) {
			err = stage(path, b, in)
		}
		if err != nil {
			return nil // the views try the same, and say why it fails
		}
		left = append(left, runs.LeftOutput{Name: file, Digest: runs.DigestOf(b), Bytes: int64(len(b))})
	}
	return left
}

// stage writes an output notebook to a temporary file, with its pictures. It writes directly into a device or a pipe,
// which a new file must not replace.
func stage(path string, b []byte, in engine.ViewInput) error {
	if isDevice(path) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		return errors.Join(err, f.Close())
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if askedFile(in.Run) == runs.OutputFile { // in Jupyter's notebooks the pictures stand in the file itself
		if err := api.WritePictures(filepath.Dir(path), in); err != nil {
			return err
		}
	}
	return runs.StageOutput(throughLinks(path), in.Run.ID, b)
}

// commitOutput renames the OUTPUT of a complete run into place, and removes that of any other.
func commitOutput(path string, id runs.RunID, complete bool) error {
	if path == "" || path == "-" || isDevice(path) {
		return nil
	}
	target := throughLinks(path)
	if !complete {
		return runs.DiscardOutput(filepath.Dir(target), id)
	}
	if err := runs.CommitOutput(target, id); err != nil {
		return fmt.Errorf("%w; the record is complete, and `markmill convert %s FILE` gives what %s was to be",
			errors.Join(err, runs.DiscardOutput(filepath.Dir(target), id)), id, path)
	}
	return nil
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// throughLinks is the file that a link leads to.
func throughLinks(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}
