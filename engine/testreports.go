package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"markmill/notebooks"
	"markmill/runs"
)

// countTests counts the tests of a step: by the reports in JUnit's XML that its runner left in MARKMILL_STEP_DIR, else
// by what "go test -json" printed, else by the end of its output.
func (r *run) countTests(step notebooks.StepID, dir, display string, outs [2]*stream) (*runs.TestCounts, error) {
	counts, err := r.keepReports(step, dir, display)
	if counts != nil || err != nil {
		return counts, err
	}
	if runs.IsGoEvents(outs[0].tail) {
		f, err := os.Open(filepath.Join(outs[0].dir, outs[0].name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return runs.CountGoEvents(f), nil
	}
	return runs.CountTests(append(outs[0].tail, outs[1].tail...)), nil
}

// keepReports copies the reports of a runner into the step's folder of the record, and adds up their counts; nil
// without a report.
func (r *run) keepReports(step notebooks.StepID, dir, display string) (*runs.TestCounts, error) {
	entries, err := os.ReadDir(display)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var sum *runs.TestCounts
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".xml" || !e.Type().IsRegular() {
			continue
		}
		n := 1
		if sum != nil {
			n += len(sum.Reports)
		}
		name := path.Join(filepath.ToSlash(dir), fmt.Sprintf("tests-%d.xml", n))
		size, digest, err := r.rec.keepFile(step, filepath.Join(display, e.Name()), name)
		if err != nil {
			return nil, err
		}
		text, err := r.rec.record.ReadFile(name)
		if err != nil {
			return nil, err
		}
		counts := runs.CountJUnit(bytes.NewReader(text))
		if counts == nil { // some other XML
			if err := r.rec.record.Remove(name); err != nil {
				return nil, err
			}
			continue
		}
		if sum == nil {
			sum = &runs.TestCounts{Runner: counts.Runner, From: counts.From}
		}
		sum.Passed, sum.Failed, sum.Skipped = sum.Passed+counts.Passed, sum.Failed+counts.Failed,
			sum.Skipped+counts.Skipped
		sum.Reports = append(sum.Reports, runs.StreamData{File: name, Bytes: size, Digest: digest})
	}
	return sum, err
}
