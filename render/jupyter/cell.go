package jupyter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

// streamBytes bounds each stream of a step. Programs read these files, so it is far more than people read.
const streamBytes = 8 << 20

// recorded reads the outcomes of steps from the record of a run.
type recorded struct {
	j       *notebook
	files   fs.FS
	records map[notebooks.StepID]runs.StepRecord
	steps   []runs.StepRecord // the same, in their order
	book    *safe.RuleBook
	limit   int64 // bytes of a stream
	timings bool  // the cells say when they ran
	// displays are the final results by display id; see current.
	displays map[string]runs.OutputData
	widgets  *widgets
}

func newRecorded(j *notebook, run *runs.Run, files fs.FS) *recorded {
	r := &recorded{j: j, files: files, steps: run.Steps, records: map[notebooks.StepID]runs.StepRecord{},
		book: safe.NewRuleBook(j.nb), limit: streamBytes, timings: run.Timings()}
	if n := j.nb.Front.MaxOutput; n > 0 {
		r.limit = n
	}
	for _, rec := range run.Steps {
		r.records[rec.Planned.ID] = rec
	}
	return r
}

// step returns the outcome of one step.
func (r *recorded) step(step *notebooks.Step) (stepOutcome, error) {
	rec := r.records[step.ID]
	out := stepOutcome{status: rec.Status(), started: rec.Step != nil, ran: rec.Step != nil && rec.Finished != nil}
	rules, err := r.book.Asked(step)
	if err != nil {
		return out, err
	}
	if r.timings {
		out.timing = timingOf(rec)
	}
	out.outputs = func(count int) ([]map[string]any, error) { return r.outputs(rec, rules, count) }
	if r.j.tells && result.Reached(rec) {
		said := result.Of(rec)
		words := result.Summary(&said)
		clean := safe.Cleaner{Names: r.j.names, Rules: rules}
		for i := range words {
			words[i] = clean.OneLine(words[i], 200)
		}
		out.note = stepNote{stepResult{out.status, strings.Join(words, " · ")}}
	}
	return out, nil
}

// outputs returns the outputs of one step in nbformat.
func (r *recorded) outputs(rec runs.StepRecord, rules safe.Rules, count int) ([]map[string]any, error) {
	f := rec.Finished
	if f == nil || f.Status == runs.StepSkipped || f.Status == runs.StepPending {
		return nil, nil
	}
	o := cellOutputs{clean: safe.Cleaner{Names: r.j.names, Rules: rules}, files: r.files,
		dir: stepDir(rec), count: count,
		streams: map[string]*streamReader{}}
	defer o.close()
	for name, s := range map[string]runs.StreamData{"stdout": f.Stdout, "stderr": f.Stderr} {
		o.streams[name] = &streamReader{files: r.files, data: s, limit: r.limit}
	}
	if !r.j.tells || !result.Hides(rec.Planned.Tags) { // Jupyter's programs hide by themselves
		list, err := r.list(f)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if d.Type == runs.OutputWidget { // it stands in the notebook's metadata
				continue
			}
			d, shown, err := r.current(d)
			if err != nil {
				return nil, err
			}
			if !shown {
				continue
			}
			if view := d.Data[ipynb.WidgetView]; view != nil {
				d.Data = maps.Clone(d.Data)
				d.Data[ipynb.WidgetView] = r.widgets.renamed(view)
			}
			if err := o.add(d); err != nil {
				return nil, err
			}
			if scrapbook.Holds(d.Data, d.Metadata) {
				o.told = append(o.told, scrapbook.Read(d.Data, d.Metadata)...)
			}
		}
	}
	o.flush()
	o.breaks(&r.j.manifest, rec.Planned.ID)
	if r.j.tells {
		if err := o.besides(rec); err != nil {
			return nil, err
		}
	}
	for _, s := range rec.Scraps {
		if !o.holds(s) {
			if err := o.scrap(s); err != nil {
				return nil, err
			}
		}
	}
	o.flush()
	return o.list, nil
}

// stepDir returns the folder of a step in the run directory.
func stepDir(rec runs.StepRecord) string {
	if rec.Finished.Outputs.File != "" {
		return path.Dir(rec.Finished.Outputs.File)
	}
	if rec.Step != nil {
		return rec.Step.Dir
	}
	return ""
}

// list returns the outputs of a step in order. A record without that order gives the streams, results and error.
func (r *recorded) list(f *runs.StepFinishedData) (list []runs.OutputData, err error) {
	if f.Outputs.File == "" {
		stream := func(name string, s runs.StreamData) {
			if s.Bytes > 0 {
				list = append(list, runs.OutputData{Type: runs.OutputStream, Name: name, Bytes: s.Bytes})
			}
		}
		stream("stdout", f.Stdout)
		for _, d := range f.Displays {
			o := runs.OutputData{Type: runs.OutputDisplay, MIME: d.MIME, DisplayID: d.DisplayID}
			if d.Update {
				o.Type = runs.OutputUpdate
			}
			if d.File != "" {
				o.File = path.Base(d.File)
			}
			if alt, err := codec.Marshal(d.Alt); err == nil && d.Alt != "" {
				o.Data = map[string]codec.Raw{"text/plain": alt}
			}
			list = append(list, o)
		}
		stream("stderr", f.Stderr)
		if e := f.Error; e != nil {
			list = append(list, runs.OutputData{Type: runs.OutputError, Ename: e.Name, Evalue: e.Value,
				Traceback: strings.Split(strings.TrimSuffix(e.Traceback, "\n"), "\n")})
		}
		return list, nil
	}
	raw, err := fs.ReadFile(r.files, f.Outputs.File)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(raw) {
		var d runs.OutputData
		if err := codec.Unmarshal(line, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Outputs.File, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// cellOutputs gathers the outputs of a step.
type cellOutputs struct {
	clean   safe.Cleaner
	files   fs.FS
	dir     string
	count   int
	streams map[string]*streamReader
	list    []map[string]any
	name    string // of the stream whose text is gathered
	text    strings.Builder
	told    []scrapbook.Scrap // those that the outputs hold
}

// shown cleans a text: this machine's paths by name, and normalize rules. Colors stay, because Jupyter shows them.
func (o *cellOutputs) shown(text string) string {
	text = o.clean.Names.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(o.clean.Rules) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(o.clean.Rules.Line(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (o *cellOutputs) close() {
	for _, s := range o.streams {
		s.close()
	}
}

// flush ends a stream output. Consecutive pieces of one stream become one output.
func (o *cellOutputs) flush() {
	if o.text.Len() > 0 {
		text := o.shown(o.text.String())
		o.list = append(o.list, map[string]any{"output_type": "stream", "name": o.name, "text": ipynb.Lines(text)})
		o.text.Reset()
	}
}

func (o *cellOutputs) add(d runs.OutputData) error {
	switch d.Type {
	case runs.OutputStream, runs.OutputCleared:
		s := o.streams[d.Name]
		if s == nil {
			return fmt.Errorf("there is no stream %q", d.Name)
		}
		text, err := s.next(d.Bytes)
		if err != nil || d.Type == runs.OutputCleared {
			return err
		}
		if d.Name != o.name {
			o.flush()
			o.name = d.Name
		}
		o.text.Write(text)
		return nil
	case runs.OutputError:
		lines := make([]string, len(d.Traceback))
		for i, line := range d.Traceback {
			lines[i] = o.shown(line)
		}
		o.raise(o.shown(d.Ename), o.shown(d.Evalue), lines)
		return nil
	case runs.OutputDisplay, runs.OutputResult:
		data, err := o.bundle(d)
		if err != nil {
			return err
		}
		metadata := map[string]any{}
		for name, v := range d.Metadata {
			metadata[name] = v
		}
		o.display(data, metadata)
		if last := o.list[len(o.list)-1]; d.Type == runs.OutputResult {
			last["output_type"], last["execution_count"] = d.Type, o.count
		}
		return nil
	}
	return fmt.Errorf("an output of the type %q is not known", d.Type)
}

// display adds a display of these representations.
func (o *cellOutputs) display(data, metadata map[string]any) {
	o.flush()
	o.list = append(o.list, map[string]any{"output_type": "display_data", "data": data, "metadata": metadata})
}

// raise adds an error.
func (o *cellOutputs) raise(name, value string, traceback []string) {
	o.flush()
	o.list = append(o.list, map[string]any{"output_type": "error", "ename": name, "evalue": value,
		"traceback": traceback})
}

// bundle returns a result in all its representations.
func (o *cellOutputs) bundle(d runs.OutputData) (map[string]any, error) {
	data := map[string]any{}
	rich := d.File != "" || len(d.Data) > 1
	for mime, raw := range d.Data {
		var text string
		if codec.Unmarshal(raw, &text) != nil { // JSON, or already a list of lines
			data[mime] = raw
			continue
		}
		if mime == "text/plain" && rich {
			text = safe.WithoutAddress(text)
		}
		data[mime] = o.form(mime, text)
	}
	if d.File == "" {
		return data, nil
	}
	if d.MIME = strings.ToValidUTF8(d.MIME, "\uFFFD"); d.MIME == "" {
		d.MIME = "application/octet-stream"
	}
	content, err := fs.ReadFile(o.files, path.Join(o.dir, d.File))
	if err != nil {
		return nil, err
	}
	switch {
	case d.MIME == "application/json" && codec.Raw(content).IsValid():
		data[d.MIME] = codec.Raw(content)
	case strings.HasPrefix(d.MIME, "image/") && d.MIME != "image/svg+xml",
		!strings.HasPrefix(d.MIME, "text/") && !utf8.Valid(content):
		data[d.MIME] = runs.Base64(content, d.Column)
	default:
		data[d.MIME] = o.form(d.MIME, strings.ToValidUTF8(string(content), "\uFFFD"))
	}
	return data, nil
}

// form returns text as nbformat stores it for a MIME type: a list of lines, or one string.
func (o *cellOutputs) form(mime, text string) any {
	if strings.HasPrefix(mime, "text/") || mime == "image/svg+xml" || mime == "application/javascript" {
		return ipynb.Lines(o.shown(text))
	}
	return text
}

// scrap writes a scrap as Python's scrapbook package does: as a display that shows nothing unless asked to.
func (o *cellOutputs) scrap(s runs.ScrapData) error {
	about := map[string]any{"name": s.Name, "data": true, "display": s.Display}
	data := map[string]any{}
	if s.Type == runs.ScrapImage && s.File != "" && s.MIME != "" {
		in := &cellOutputs{clean: safe.Cleaner{Names: o.clean.Names}, files: o.files, dir: path.Dir(s.File)}
		shown, err := in.bundle(runs.OutputData{File: path.Base(s.File), MIME: s.MIME})
		if err != nil {
			return err
		}
		data, about["data"], about["display"] = shown, false, true
	} else {
		mime, payload := o.scrapPayload(s)
		data[mime] = payload
		if s.Display {
			o.showScrap(s, data)
		}
	}
	o.display(data, map[string]any{"scrapbook": about})
	return nil
}

// holds reports whether an output already holds a scrap, left there by the scrapbook package.
func (o *cellOutputs) holds(s runs.ScrapData) bool {
	return slices.ContainsFunc(o.told, func(t scrapbook.Scrap) bool {
		return t.Name == s.Name && (s.File != "" || t.Shown || scrapbook.Same(t.Value, s.Value))
	})
}

// scrapPayload encodes a scrap for one of scrapbook's encoders.
func (o *cellOutputs) scrapPayload(s runs.ScrapData) (mime string, payload map[string]any) {
	if s.File != "" { // a file has no place in a notebook
		about, err := codec.Marshal(map[string]any{"file": s.File, "mime": s.MIME, "digest": s.Digest})
		if err == nil {
			s = runs.ScrapData{Name: s.Name, Type: runs.ScrapJSON, Value: about}
		}
	}
	s.Value = codec.Raw(o.clean.Names.Replace(string(s.Value)))
	return scrapbook.Payload(s)
}

// showScrap adds the visible form of a scrap.
func (o *cellOutputs) showScrap(s runs.ScrapData, data map[string]any) {
	data["text/plain"] = ipynb.Lines(o.shown(safe.CellText(s.Value)))
	if s.Type != runs.ScrapTable && s.Type != runs.ScrapJSON {
		return
	}
	var b bytes.Buffer
	if safe.WriteTable(&b, s, &o.clean); b.Len() > 0 {
		data["text/markdown"] = ipynb.Lines(b.String())
	}
}

// streamReader reads a stream in pieces. A stream above the limit comes as one piece, without its middle.
type streamReader struct {
	files fs.FS
	data  runs.StreamData
	limit int64 // bytes
	file  fs.File
	done  bool
}

func (s *streamReader) next(n int64) ([]byte, error) {
	if s.data.File == "" || s.done || n <= 0 {
		return nil, nil
	}
	if s.data.Bytes > s.limit {
		s.done = true
		w, err := safe.ReadWindow(s.files, s.data.File, s.limit, s.limit/2)
		if err != nil || w.Whole {
			return w.Head, err
		}
		words := fmt.Sprintf("\n… %s elided: %s, %s\n", plain.Counted(int(w.Size)-len(w.Head)-len(w.Tail), "byte"),
			s.data.File, s.data.Digest)
		return slices.Concat(w.Head, []byte(words), w.Tail), nil
	}
	if s.file == nil {
		var err error
		if s.file, err = s.files.Open(s.data.File); err != nil {
			return nil, err
		}
	}
	b := make([]byte, min(n, s.data.Bytes))
	got, err := io.ReadFull(s.file, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the disk was full, or what was masked is shorter
	}
	return b[:got], err
}

func (s *streamReader) close() {
	if s.file != nil {
		s.file.Close()
	}
}
