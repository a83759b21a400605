package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"

	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/expr"
	"markmill/runs"
)

// readScraps records what a step has glued: the lines that it appended to the scraps file. Files that a scrap names are
// copied into the step's folder of the record.
func (r *run) readScraps(s *PlannedStep, dir, display string) error {
	if info, err := os.Stat(r.ws.work.Scraps); err != nil || info.Size() <= r.scrapsRead {
		return err
	}
	list, err := r.newScraps()
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindSyntax, Step: s.ID, Msg: "its scraps cannot be read: " +
			err.Error(),
			Hint: "glue values with glue, not by writing the file", Err: err}
	}
	for _, scrap := range list {
		if scrap.Type == runs.ScrapCheck && !s.Has(notebooks.TagHealth) {
			return &notebooks.Error{Kind: notebooks.KindOption, Step: s.ID, Hint: "tag it: {#" + string(s.ID) +
				" .check}",
				Msg: "it reports " + scrap.Name + " and is not tagged check"}
		}
		scrap.Name = r.rec.hide(s.ID, "scrap", scrap.Name)
		if scrap.File != "" {
			if err := r.keepScrapFile(s.ID, &scrap, dir, display); err != nil {
				return artifact(err)
			}
		}
		if scrap.Value, err = r.plan.mask.JSON(scrap.Value, true); err != nil {
			return err
		}
		if scrap.Value != nil { // that of a file has none
			scrap.Value = codec.Raw(r.rec.hide(s.ID, "scrap", string(scrap.Value)))
		}
		r.scraps[scrap.Name] = scrap
		if err := r.rec.emit(runs.ScrapRecorded, s.ID, scrap); err != nil {
			return err
		}
	}
	return nil
}

// newScraps reads the lines of the scraps file that were not read before.
func (r *run) newScraps() ([]runs.ScrapData, error) {
	f, err := os.Open(r.ws.work.Scraps)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(r.scrapsRead, io.SeekStart); err != nil {
		return nil, err
	}
	list, n, err := runs.ReadScraps(f)
	r.scrapsRead += n
	return list, err
}

// keepScrapFile copies the file of a scrap into the record and digests it.
func (r *run) keepScrapFile(step notebooks.StepID, scrap *runs.ScrapData, dir, display string) error {
	from := scrap.File
	if !filepath.IsAbs(from) {
		from = filepath.Join(display, from)
	}
	from = r.ws.real(from)
	if err := r.ws.checkReadable(from); err != nil {
		return err
	}
	name := "scrap-" + safeName(scrap.Name) + filepath.Ext(from)
	if r.plan.mask.In([]byte(name)) {
		name = "scrap-" + safeName(scrap.Name)
	}
	scrap.File = path.Join(filepath.ToSlash(dir), name)
	_, digest, err := r.rec.keepFile(step, from, scrap.File)
	if err != nil {
		return err
	}
	if scrap.MIME == "" {
		scrap.MIME = mime.TypeByExtension(filepath.Ext(from))
	}
	scrap.Digest = digest
	return nil
}

// moveDisplays copies a step's rich results into its folder of the record.
func (r *run) moveDisplays(step notebooks.StepID, from, dir string, left kernel.Outcome) ([]runs.DisplayData, error) {
	var out []runs.DisplayData
	for i, d := range left.Displays {
		base := filepath.Base(d.File)
		to := base
		if r.plan.mask.In([]byte(base)) {
			to = fmt.Sprintf("display-of-a-masked-name-%d", i)
		}
		to = path.Join(filepath.ToSlash(dir), to)
		var size int64
		var digest runs.Digest
		var err error
		if content, held := left.Held[d.File]; held {
			size, digest, err = r.rec.keepFrom(step, bytes.NewReader(content), to)
		} else {
			size, digest, err = r.rec.keepFile(step, filepath.Join(from, base), to)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, runs.DisplayData{MIME: d.MIME, File: to, Bytes: size,
			Digest: digest, Alt: r.rec.hide(step, "result", d.Alt),
			DisplayID: r.rec.hide(step, "result", d.ID), Update: d.Update})
	}
	return out, nil
}

// scope is what the condition of a step can refer to: parameters, the scraps so far, and which steps passed. Secrets
// are left out: whether the step runs would reveal them.
func (r *run) scope() expr.Scope {
	s := expr.Scope{Params: map[string]any{}, Scraps: map[string]any{}, Steps: map[string]bool{}}
	for _, b := range r.plan.values() {
		if b.Value.Type != "secret" {
			s.Params[b.Param.Name] = b.Value.Native()
		}
	}
	for name, scrap := range r.scraps {
		if v, ok := scrapValue(scrap); ok {
			s.Scraps[name] = v
		}
	}
	for _, step := range r.plan.steps {
		s.Steps[string(step.ID)] = r.results[step.ID].Status == runs.StepPassed
	}
	return s
}

// scrapValue is a scrap in a condition: numbers and dates as such, a file as its path.
func scrapValue(scrap runs.ScrapData) (any, bool) {
	if scrap.File != "" {
		return scrap.File, true
	}
	if v, err := notebooks.ParseWire(scrap.Value); err == nil {
		return v.Native(), true
	}
	var v any // an object as programs write it
	err := codec.Unmarshal(scrap.Value, &v)
	return v, err == nil
}
