package runs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"markmill/notebooks"
)

// Record is the record of one run: its journal, its source notebook and the files that events name. It is a run
// directory, or a tar archive of one (WriteTar), which can be read but not written.
//
// Names of files are slash-separated and relative to the run directory, as in events. A Record is an fs.FS: neither a
// name nor a symbolic link leads a reader out of it. It keeps no file open and needs no closing.
type Record struct {
	path    string
	archive *archive // nil for a run directory
	root    *os.Root // of the run directory while many files are read (see held)
	writer  Writer
}

// At returns the record in a run directory. It reads nothing.
func At(dir string) *Record { return &Record{path: dir} }

// OpenRecord opens a run directory or a tar archive of one. The list of an archive's files is read once; an archive
// that unpacking programs could read in two ways is an error.
func OpenRecord(path string) (*Record, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	if info.IsDir() {
		return At(path), nil
	}
	a, err := openArchive(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	return &Record{path: path, archive: a}, nil
}

// Path is the run directory, or the archive.
func (r *Record) Path() string { return r.path }

// File is the path on disk of a file of a run directory, for programs and for messages.
func (r *Record) File(name ...string) string {
	return filepath.Join(r.path, filepath.FromSlash(strings.Join(name, "/")))
}

// folder is the name of the folder that holds the record; a run directory is named as its run is.
func (r *Record) folder() RunID {
	if r.archive != nil {
		return RunID(r.archive.top)
	}
	abs, err := filepath.Abs(r.path)
	if err != nil {
		return "" // the working directory is gone
	}
	return RunID(filepath.Base(abs))
}

// held keeps the run directory open until done is called, so that reading many files takes fewer system calls.
func (r *Record) held() (held *Record, done func(), err error) {
	if r.archive != nil || r.root != nil {
		return r, func() {}, nil
	}
	if info, err := os.Stat(r.path); err == nil && !info.IsDir() {
		return nil, nil, cannotRead(r.path, errNoRecord)
	}
	root, err := os.OpenRoot(r.path)
	if err != nil {
		return nil, nil, cannotRead(r.path, err)
	}
	return &Record{path: r.path, root: root}, func() { root.Close() }, nil
}

var errNoRecord = errors.New("it is neither a run directory nor a tar archive of one")

// recordFile is a file of a record that is open for reading.
type recordFile interface {
	fs.File
	io.ReaderAt
}

// Open opens a file for reading.
func (r *Record) Open(name string) (fs.File, error) { return r.open(name) }

func (r *Record) open(name string) (recordFile, error) {
	if r.archive != nil {
		return r.archive.open(name)
	}
	var file *os.File
	var err error
	if r.root != nil {
		file, err = r.root.Open(filepath.FromSlash(name))
	} else {
		file, err = os.OpenInRoot(r.path, filepath.FromSlash(name))
	}
	if err != nil {
		return nil, err // not a recordFile that holds a nil *os.File
	}
	return file, nil
}

// ReadFile reads a whole file.
func (r *Record) ReadFile(name string) ([]byte, error) {
	file, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var b bytes.Buffer
	if info, err := file.Stat(); err == nil {
		b.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = b.ReadFrom(file)
	return b.Bytes(), err
}

// Stat describes a file. It does not follow a symbolic link.
func (r *Record) Stat(name string) (fs.FileInfo, error) {
	switch {
	case r.archive != nil:
		return r.archive.stat(name)
	case r.root != nil:
		return r.root.Lstat(filepath.FromSlash(name))
	default:
		return os.Lstat(r.File(name))
	}
}

// Has reports whether a file is there.
func (r *Record) Has(name string) bool {
	_, err := r.Stat(name)
	return err == nil
}

// Digest reads a file and returns its digest and size.
func (r *Record) Digest(name string) (Digest, int64, error) {
	file, err := r.open(name)
	if err != nil {
		return "", 0, err
	}
	sum := NewHasher()
	_, err = io.Copy(sum, file)
	return sum.Digest(), sum.bytes, errors.Join(err, file.Close())
}

// List returns the names of all files of the record in lexical order of folders. It leaves out the lock and what a
// crash left half-written. A symbolic link, a socket or a device is an error.
func (r *Record) List() (names []string, err error) {
	add := func(name string) error { names = append(names, name); return nil }
	var odd error
	err = r.walk(add, func(name string) { odd = errors.Join(odd, fmt.Errorf("%s is not a regular file", name)) })
	if err = errors.Join(err, odd); err != nil {
		return nil, cannotRead(r.path, err)
	}
	return names, nil
}

// walk visits the files of the record in lexical order of folders: every one but the lock and what a crash left
// half-written. odd, which may be nil, gets what is not a regular file.
func (r *Record) walk(visit func(name string) error, odd func(name string)) error {
	one := func(name string, mode fs.FileMode) error {
		switch {
		case name == LockFile || strings.HasPrefix(path.Base(name), TempPrefix):
			return nil
		case mode.IsRegular():
			return visit(name)
		case odd != nil:
			odd(name)
		}
		return nil
	}
	if r.archive != nil {
		return r.archive.walk(one)
	}
	// Not fs.WalkDir, which refuses names that are not UTF-8.
	return filepath.WalkDir(r.path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.path, file)
		if err != nil {
			return err
		}
		return one(filepath.ToSlash(name), entry.Type())
	})
}

// Write writes a whole file: a reader finds the old bytes or the new ones and never a part, also after a crash. It
// does not wait for the disk. The folder must be there.
func (r *Record) Write(name string, data []byte) error {
	_, err := r.Keep(name, data)
	return err
}

// Keep is Write, and returns the name of the file and the digest of what was written.
func (r *Record) Keep(name string, data []byte) (SealedFile, error) {
	if err := r.writable(name); err != nil {
		return SealedFile{}, err
	}
	digest, err := r.writer.WriteFile(r.File(name), data)
	if err != nil {
		return SealedFile{}, err
	}
	return SealedFile{File: name, Digest: digest}, nil
}

// WriteStream is Write for bytes that write writes one after the other, which are masked already.
func (r *Record) WriteStream(name string, write func(w io.Writer) error) error {
	if err := r.writable(name); err != nil {
		return err
	}
	return r.writer.WriteStream(r.File(name), write)
}

// WriteNew writes a file that must not exist yet, with fewer system calls than Write. A crash may leave a part of it,
// so the event that names the file must come after it.
func (r *Record) WriteNew(name string, data []byte) error {
	if err := r.writable(name); err != nil {
		return err
	}
	_, err := r.writer.WriteNew(r.File(name), data)
	return err
}

// Remove removes a file. One that is not there is no error.
func (r *Record) Remove(name string) error {
	if err := r.writable(name); err != nil {
		return err
	}
	if err := os.Remove(r.File(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(r.File(name), err)
	}
	return nil
}

func (r *Record) writable(name string) error {
	switch {
	case r.archive != nil:
		return cannotWrite(r.path, errors.New("an archive of a record is only read"))
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return cannotWrite(r.path, fmt.Errorf("%q is not a name in a record", name))
	}
	return nil
}

// Begin writes the source notebook of a new record and returns its empty journal.
func (r *Record) Begin(sourceFile string, source []byte, clock func() time.Time) (*Journal, error) {
	if err := r.Write(sourceFile, source); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.File(StepsDir), 0o755); err != nil {
		return nil, cannotWrite(r.File(StepsDir), err)
	}
	j, err := CreateJournal(r.File(JournalFile), DigestOf(source), clock)
	if err == nil {
		j.writer = r.writer
	}
	return j, err
}

// Alive reports whether the run is alive (see Lock). The run of an archive is not.
func (r *Record) Alive() bool { return r.archive == nil && Alive(r.path) }

// Load reads the journal and the source notebook, and folds. A torn last line is dropped; any other break is an error.
func (r *Record) Load() (run *Run, source []byte, err error) {
	l, err := r.load()
	if err != nil {
		return nil, nil, err
	}
	return l.run, l.source, nil
}

// loaded is a record as it was read.
type loaded struct {
	events []Event
	torn   bool
	run    *Run
	source []byte
}

func (r *Record) load() (*loaded, error) {
	source, err := r.Source()
	if err != nil {
		return nil, err
	}
	l := &loaded{source: source}
	if l.events, l.torn, err = r.events(JournalFile, DigestOf(source)); err != nil {
		return l, err
	}
	l.run, err = Fold(l.events)
	return l, err
}

// events reads a journal: the record's own, or that of a run that it resumes.
func (r *Record) events(name string, source Digest) (events []Event, torn bool, err error) {
	file, err := r.open(name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	return ReadJournal(file, source)
}

// Source reads the notebook that ran, by the name that the first event gives it.
func (r *Record) Source() ([]byte, error) {
	first, err := r.firstEvent()
	if err != nil {
		return nil, err
	}
	started, err := decode[RunStartedData](first)
	if err != nil {
		return nil, err
	}
	source, err := r.ReadFile(started.SourceFile)
	if err != nil {
		return nil, fmt.Errorf("source notebook of the run: %w", err)
	}
	return source, nil
}

func cannotRead(path string, err error) error {
	if _, known := errors.AsType[*notebooks.Error](err); known {
		return err
	}
	return &notebooks.Error{
		Kind: notebooks.KindRecord, File: path, Msg: "cannot be read: " + cause(err).Error(), Err: err,
	}
}

func cannotWrite(path string, err error) error {
	return &notebooks.Error{
		Kind: notebooks.KindArtifact, File: path,
		Msg: "cannot be written: " + cause(err).Error(), Hint: Remedy(err), Err: err,
	}
}

// cause leaves out the path that a PathError repeats.
func cause(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Remedy says what to do about a file that cannot be written; "" if only the system's message is known.
func Remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "make room on the disk, and run again"
	case errors.Is(err, syscall.EDQUOT):
		return "make room in the quota, and run again"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit of the size of files (ulimit -f), and run again"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "let somebody write there, or let MARKMILL_DIR (records) and XDG_CACHE_HOME (worktrees) " +
			"name other folders"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: see the log of the system"
	}
	return ""
}

// Replay folds the events of the journal up to the one with the number at, counted from 0, and returns what was known
// after it, with all events of the journal. at -1 is the last event. The run may be alive. It returns an error for a
// number that the journal does not have.
func (r *Record) Replay(at int) (*Run, []Event, error) {
	l, err := r.load()
	if err != nil {
		return nil, nil, err
	}
	if at == -1 {
		at = len(l.events) - 1
	}
	if at < 0 || at >= len(l.events) {
		return nil, nil, &notebooks.Error{Kind: notebooks.KindOption, File: JournalFile,
			Msg: fmt.Sprintf("run %s has no event %d: its events are 0 to %d", l.run.ID, at, len(l.events)-1)}
	}
	run, err := Fold(l.events[:at+1])
	return run, l.events, err
}

// Bounds of what a list of runs reads of a journal. run.started and run.completed are much shorter.
const (
	headMax   = 1 << 20
	tailFirst = 4 << 10
	tailMax   = 1 << 20
)

// firstEvent reads the first event of the journal, unchecked.
func (r *Record) firstEvent() (Event, error) {
	file, err := r.open(JournalFile)
	if err != nil {
		return Event{}, err
	}
	defer file.Close()
	return readFirst(file)
}

func readFirst(r io.Reader) (Event, error) {
	line, err := bufio.NewReader(io.LimitReader(r, headMax)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return Event{}, &notebooks.Error{Kind: notebooks.KindRecord, File: JournalFile, Msg: "holds no whole event"}
	}
	if err != nil {
		return Event{}, err
	}
	event, err := decodeEvent(line)
	if err != nil {
		return Event{}, broken(0, "bad JSON: "+err.Error())
	}
	if event.Type != RunStarted {
		return Event{}, broken(0, "is not "+string(RunStarted))
	}
	return event, nil
}

// ends reads the first and the last whole event of the journal, and nothing between. The last one's own hash is
// checked; a last event longer than tailMax (a scrap) is returned as a zero Event.
func (r *Record) ends() (first, last Event, err error) {
	file, err := r.open(JournalFile)
	if err != nil {
		return Event{}, Event{}, err
	}
	defer file.Close()
	if first, err = readFirst(file); err != nil {
		return Event{}, Event{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return Event{}, Event{}, err
	}
	for size := int64(tailFirst); ; size *= 16 {
		start := max(0, info.Size()-size)
		tail := make([]byte, info.Size()-start)
		if _, err := file.ReadAt(tail, start); err != nil {
			return Event{}, Event{}, err
		}
		line, found := lastLine(tail, start == 0)
		if found {
			last, err = checkedEvent(line)
			return first, last, err
		}
		if start == 0 || size >= tailMax {
			return first, Event{}, nil
		}
	}
}

// lastLine finds the last whole line, newline included. whole says that tail begins at the start of a line.
func lastLine(tail []byte, whole bool) ([]byte, bool) {
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		return nil, false
	}
	start := bytes.LastIndexByte(tail[:end], '\n') + 1
	if start == 0 && !whole {
		return nil, false
	}
	return tail[start : end+1], true
}

func checkedEvent(line []byte) (Event, error) {
	event, err := decodeEvent(line)
	if err != nil {
		return Event{}, &notebooks.Error{
			Kind: notebooks.KindRecord, File: JournalFile, Msg: "the last line is bad JSON: " + err.Error(),
		}
	}
	return readEvent(line, event.Seq, event.Prev)
}
