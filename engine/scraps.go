package engine

import (
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// readScraps records what a step glued since the last time: the lines that it appended to the
// scraps file. Files that a scrap names are moved into the step's folder of the record.
func (r *run) readScraps(s *PlannedStep, dir, display string) error {
	info, err := os.Stat(r.work.Scraps)
	if err != nil || info.Size() <= r.scrapsRead {
		return err
	}
	f, err := os.Open(r.work.Scraps)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(r.scrapsRead, io.SeekStart); err != nil {
		return err
	}
	list, n, err := runs.ReadScraps(f)
	r.scrapsRead += n
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindSyntax, Step: s.ID, Msg: "its scraps cannot be read: " + err.Error(), Hint: "glue values with glue, not by writing the file", Err: err}
	}
	for _, scrap := range list {
		if scrap.File != "" {
			if err := r.keepScrapFile(&scrap, dir, display); err != nil {
				return artifact(err)
			}
		}
		if scrap.Value, err = r.concealJSON(scrap.Value); err != nil {
			return err
		}
		r.scraps[scrap.Name] = scrap
		if err := r.emit(runs.ScrapRecorded, s.ID, scrap); err != nil {
			return err
		}
	}
	return nil
}

// keepScrapFile copies the file of a scrap into the record and digests it.
func (r *run) keepScrapFile(scrap *runs.ScrapData, dir, display string) error {
	from := scrap.File
	if !filepath.IsAbs(from) {
		from = filepath.Join(display, from)
	}
	if err := r.mayRead(from); err != nil {
		return err
	}
	name := "scrap-" + safeName(scrap.Name) + filepath.Ext(from)
	_, digest, err := keepFile(from, filepath.Join(r.dir, dir, name))
	if err != nil {
		return err
	}
	if scrap.MIME == "" {
		scrap.MIME = mime.TypeByExtension(filepath.Ext(from))
	}
	scrap.File, scrap.Digest = filepath.ToSlash(filepath.Join(dir, name)), digest
	return nil
}

// moveDisplays keeps a step's rich results in its folder of the record.
func (r *run) moveDisplays(from, dir string, list []kernel.Display) ([]runs.DisplayData, error) {
	var out []runs.DisplayData
	for _, d := range list {
		base := filepath.Base(d.File)
		size, digest, err := keepFile(filepath.Join(from, base), filepath.Join(r.dir, dir, base))
		if err != nil {
			return nil, err
		}
		out = append(out, runs.DisplayData{MIME: d.MIME, File: filepath.ToSlash(filepath.Join(dir, base)), Bytes: size, Digest: digest, Alt: r.conceal(d.Alt)})
	}
	return out, nil
}

// keepFile copies a regular file, never following a link that a step put in its place.
func keepFile(from, to string) (int64, runs.Digest, error) {
	info, err := os.Lstat(from)
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, "", err
	}
	sum := runs.NewHasher()
	n, err := io.Copy(io.MultiWriter(out, sum), in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return n, sum.Digest(), err
}

// conceal masks secrets in a text that is recorded whole.
func (r *run) conceal(s string) string {
	for _, secret := range r.secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, masked)
		}
	}
	return s
}

// concealJSON masks secrets in the texts of a JSON value.
func (r *run) concealJSON(raw codec.Raw) (codec.Raw, error) {
	if len(r.secrets) == 0 || len(raw) == 0 {
		return raw, nil
	}
	var v any
	if err := codec.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return codec.Marshal(r.concealIn(v))
}

func (r *run) concealIn(v any) any {
	switch v := v.(type) {
	case string:
		return r.conceal(v)
	case []any:
		for i := range v {
			v[i] = r.concealIn(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[r.conceal(key)] = r.concealIn(value)
		}
		return out
	}
	return v
}
