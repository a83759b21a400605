package views

import (
	"cmp"
	"io"
	"os"
	"path/filepath"

	"markmill/engine"
	"markmill/render"
	"markmill/runs"
)

// Views returns the files that every run leaves for readers, in writing order: the report holds the digests of the
// others, so it comes last. A record can be verified only if its Engine has these views.
func Views() []engine.View {
	return []engine.View{
		{Name: runs.PatchFile, Write: emptyPatch},
		{Name: runs.TestLogFile, Write: testLog},
		{Name: runs.OutputFile, Write: outputNotebook},
		{Name: runs.ReportPageFile, Write: reportPage},
		{Name: runs.ReportFile, Write: reportAndSums, Seals: true},
	}
}

// FoldView writes a view as a fold of a record: Record.Verify compares the one in the record with it.
func FoldView(w io.Writer, record *runs.Record, run *runs.Run, source []byte, file string) error {
	if file == runs.TestLogFile {
		return render.WriteTestLog(w, run, record)
	}
	var b []byte
	var err error
	if file == runs.ReportPageFile {
		b, err = render.ReportMarkdown(run)
	} else {
		b, err = render.Again(file, run, source, record)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func outputNotebook(in engine.ViewInput) error {
	if in.Run.Left(in.Run.OutputFile()) != nil { // the run directory keeps none
		return nil
	}
	err := WritePictures(in, func(_ runs.RunID, path string, data []byte) error {
		if err := os.MkdirAll(runs.At(in.Dir).File(filepath.Dir(path)), 0o755); err != nil {
			return err
		}
		return runs.At(in.Dir).Write(path, data)
	})
	if err != nil {
		return err
	}
	for _, file := range in.Run.OutputFiles() {
		b, err := OutputNotebook(in, file)
		if err != nil {
			return err
		}
		if err := runs.At(in.Dir).Write(file, b); err != nil {
			return err
		}
	}
	return nil
}

// OutputNotebook renders an output notebook by its name in the run directory.
func OutputNotebook(in engine.ViewInput, file string) ([]byte, error) {
	// The run itself wrote these files a moment ago: they need no guard against links, which costs three opens a file.
	b, err := render.Output(file, in.Notebook, in.Run, os.DirFS(in.Dir))
	if err == nil && in.Clean != nil {
		b = in.Clean(file, b)
	}
	return b, err
}

// WritePictures writes the pictures of an output notebook by a function that takes their paths, with slashes.
func WritePictures(in engine.ViewInput, write func(id runs.RunID, path string, data []byte) error) error {
	for _, asset := range render.Assets(in.Run) {
		data, err := runs.At(in.Dir).ReadFile(asset.From)
		if err == nil {
			err = write(in.Run.ID, asset.To, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// emptyPatch writes an empty patch.diff if no change was captured.
func emptyPatch(in engine.ViewInput) error {
	if record := runs.At(in.Dir); !record.Has(runs.PatchFile) {
		return record.Write(runs.PatchFile, nil)
	}
	return nil
}

func testLog(in engine.ViewInput) error {
	var made error
	err := runs.At(in.Dir).WriteStream(runs.TestLogFile, func(w io.Writer) error {
		made = render.WriteTestLog(w, in.Run, runs.At(in.Dir))
		return made
	})
	return cmp.Or(made, err)
}

func reportPage(in engine.ViewInput) error {
	b, err := render.ReportMarkdown(in.Run)
	if err != nil {
		return err
	}
	return runs.At(in.Dir).Write(runs.ReportPageFile, b)
}

// reportAndSums writes report.json and SHA256SUMS.
func reportAndSums(in engine.ViewInput) error {
	r, err := runs.At(in.Dir).Report(in.Run, in.Known)
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := runs.At(in.Dir).Write(runs.ReportFile, b); err != nil {
		return err
	}
	return runs.At(in.Dir).Seal(r.ArtifactDigests)
}
