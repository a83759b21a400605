package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/runs"
	"markmill/runs/outfile"
)

// Views are the files that every run leaves for readers, with OUTPUT after the output notebook of the record.
func Views(a *program.App, output string, file *outfile.File) []engine.View {
	var out []engine.View
	for _, v := range views.Views() {
		out = append(out, v)
		if v.Name == runs.OutputFile {
			out = append(out, engine.View{Name: "OUTPUT",
				Write: func(in engine.ViewInput) error { return stageKeptOutput(a, in, output, file) }, Beside: true})
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
// (endRecord).
func stageKeptOutput(a *program.App, in engine.ViewInput, path string, file *outfile.File) error {
	if path == "" || in.Run.Left(askedFile(in.Run)) != nil {
		return nil
	}
	b, err := runs.At(in.Dir).ReadFile(askedFile(in.Run))
	if err != nil {
		return err
	}
	if path == "-" {
		return a.ShownText(b)
	}
	return stage(file, b, in)
}

// stageLeftOutput stages an OUTPUT whose run directory keeps no output notebook, and returns those that are left out.
func stageLeftOutput(in engine.ViewInput, file *outfile.File) []runs.LeftOutput {
	if file == nil || !in.Run.CanLeave() || file.Device() { // without a file OUTPUT is that of a comparison
		return nil
	}
	var left []runs.LeftOutput
	for _, name := range in.Run.OutputFiles() {
		b, err := views.OutputNotebook(in, name)
		if err == nil && name == askedFile(in.Run) {
			err = stage(file, b, in)
		}
		if err != nil {
			return nil // the views try the same, and say why it fails
		}
		left = append(left, runs.LeftOutput{Name: name, Digest: runs.DigestOf(b), Bytes: int64(len(b))})
	}
	return left
}

// stage writes an output notebook to a temporary file, with its pictures. It writes directly into a device or a pipe,
// which a new file must not replace.
func stage(file *outfile.File, b []byte, in engine.ViewInput) error {
	if askedFile(in.Run) == runs.OutputFile { // in Jupyter's notebooks the pictures stand in the file itself
		if err := views.WritePictures(in, file.Beside); err != nil {
			return err
		}
	}
	return file.Stage(in.Run.ID, b)
}

// endRecord renames the OUTPUT of a complete run into place and signs its record, and removes the OUTPUT of any other.
func endRecord(a *program.App, dir string, complete bool, file *outfile.File, output, key string) error {
	id := runs.RunID(filepath.Base(dir))
	switch {
	case !complete && file != nil:
		return file.Discard(id)
	case !complete:
		return nil
	case file != nil:
		if err := file.Commit(id); err != nil {
			return fmt.Errorf("%w; the record is complete, and `markmill convert %s FILE` gives what %s was to be",
				errors.Join(err, file.Discard(id)), id, output)
		}
	}
	return a.SignRecord(dir, key)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}
