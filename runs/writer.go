package runs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"markmill/notebooks/codec"
)

// Mask finds and replaces the secrets of a run, in all their spellings (engine/mask).
type Mask interface {
	In(b []byte) bool
	Bytes(b []byte) []byte
	// JSON masks the strings of a value; digests stay, and so do numbers unless numbers is set.
	JSON(raw codec.Raw, numbers bool) (codec.Raw, error)
}

// Writer writes the files of a store: everything below the store's folder, so that no secret of a run gets there past
// its mask. What a step prints or leaves in files is masked as it comes, before it is written. The zero value masks
// nothing.
type Writer struct{ mask Mask }

// Masked returns the store for a run that has secrets: whatever is written to it is masked.
func (s Store) Masked(mask Mask) Store {
	s.Writer = Writer{mask}
	return s
}

// JSON is the JSON of v, masked.
func (w Writer) JSON(v any) (codec.Raw, error) {
	raw, err := codec.Marshal(v)
	if err != nil || w.mask == nil {
		return raw, err
	}
	return w.mask.JSON(raw, false)
}

// Shows reports whether the content of a file of a record shows a secret. In Markmill's own JSON only texts count: a
// number, or the digits of a digest, may equal a value by chance.
func (w Writer) Shows(name string, data []byte) bool {
	if w.mask == nil || filepath.Base(name) == SumsFile { // digests, and names that are looked at by themselves
		return false
	}
	if !w.mask.In(data) {
		return false
	}
	var values [][]byte
	switch filepath.Base(name) {
	case JournalFile, TraceFile, OutputsFile:
		values = bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'})
	case ReportFile, ResultFile, RequestFile, ApprovalFile:
		values = [][]byte{data}
	default:
		return true
	}
	for _, value := range values {
		was, err := codec.Marshal(codec.Raw(value))
		if err != nil {
			return true // not what was written
		}
		if now, err := w.mask.JSON(was, false); err != nil || !bytes.Equal(was, now) {
			return true
		}
	}
	return false
}

// clean is data without secrets. A file that is no text is left out.
func (w Writer) clean(name string, data []byte) []byte {
	switch {
	case !w.Shows(name, data):
		return data
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return w.mask.Bytes(data)
	}
	return []byte(LeakNote)
}

// WriteJSON writes a value, indented, as WriteFile does.
func (w Writer) WriteJSON(path string, v any) error {
	raw, err := w.JSON(v)
	if err != nil {
		return err
	}
	text, err := codec.Indent(raw)
	if err != nil {
		return err
	}
	return WriteFile(path, text)
}

// WriteFile is the function of that name for a file of a store. It returns the digest of what it wrote.
func (w Writer) WriteFile(path string, data []byte) (Digest, error) {
	data = w.clean(path, data)
	return DigestOf(data), WriteFile(path, data)
}

// WriteStream is the function of that name for bytes that are masked as they come.
func (w Writer) WriteStream(path string, write func(w io.Writer) error) error {
	return WriteStream(path, write)
}

// WriteNew is the function WriteNewFile for a file of a store.
func (w Writer) WriteNew(path string, data []byte) (Digest, error) {
	data = w.clean(path, data)
	return DigestOf(data), WriteNewFile(path, data)
}

// Append adds lines to a file, which it makes if there is none, and waits for the disk.
func (w Writer) Append(path string, lines []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return cannotWrite(path, err)
	}
	lines = w.clean(path, lines)
	last := make([]byte, 1)
	if info, serr := f.Stat(); serr == nil && info.Size() > 0 {
		if _, err = f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			lines = append([]byte("\n"), lines...) // a crash tore the line before
		}
	}
	if err == nil {
		_, err = f.Write(lines)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

// Overwrite writes a file that is too short to be torn, without a temporary one.
func (w Writer) Overwrite(path string, data []byte) error {
	if err := os.WriteFile(path, w.clean(path, data), 0o644); err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// WriteOnce writes a file that nobody else has written; fs.ErrExist says that somebody has.
func (w Writer) WriteOnce(path string, data []byte) error {
	file, err := Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(w.clean(path, data))
	return errors.Join(err, file.Sync(), file.Close())
}

// Copy copies a file of another record, which was masked when it was written, and returns its digest.
func (w Writer) Copy(from io.Reader, to string) (Digest, error) {
	file, err := Create(to)
	if err != nil {
		return "", err
	}
	sum := NewHasher()
	_, err = io.Copy(io.MultiWriter(file, sum), from)
	return sum.Digest(), errors.Join(err, file.Close())
}
