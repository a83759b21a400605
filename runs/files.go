package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Names of the files of a run directory. The source notebook's is RunStartedData.SourceFile.
const (
	JournalFile    = "events.jsonl"
	OutputFile     = "output.md" // of a Markdown notebook; see Run.OutputFile
	ReportFile     = "report.json"
	ReportPageFile = "report.md"
	PatchFile      = "patch.diff"
	TestLogFile    = "test.log"
	TraceFile      = "trace.jsonl"
	BundleFile     = "commits.bundle"
	SumsFile       = "SHA256SUMS"
	// SumsSignatureFile is the SSH signature of SHA256SUMS, where one is configured. SHA256SUMS does not list it.
	SumsSignatureFile = "SHA256SUMS.sig"
	RequestFile       = "approval-request.json" // when an approval is required
	ApprovalFile      = "approval.json"         // the answer that was found
	SignatureFile     = "approval.json.sig"     // of a signed one
	SignersFile       = "approval.signers"      // the allowed_signers that it was held against; a second one is approval.signers.2
	StepsDir          = "steps"
	LockFile          = ".lock" // present while a run is alive; it is no part of the record
)

// WriteFile writes a whole file of the record: a reader, also after a crash, finds the old bytes
// or the new ones and never a part. A file that is there keeps its mode. It makes no folder, and does
// not wait for the disk.
func WriteFile(path string, data []byte) (err error) {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return cannotWrite(path, err)
	}
	defer func() {
		if err != nil {
			err = cannotWrite(path, errors.Join(err, os.Remove(temp.Name())))
		}
	}()
	_, err = temp.Write(data)
	if changed := temp.Chmod(mode); err == nil {
		err = changed
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// Create creates a file that must not exist yet. It takes a third of the system calls of os.OpenFile, which tries to
// have each file polled.
func Create(path string) (*os.File, error) {
	fd, err := syscall.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// WriteNewFile writes a file that must not exist yet, with fewer system calls than WriteFile. A crash may leave a part
// of it, so an event that names the file comes after it. An error leaves nothing.
func WriteNewFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// TempPrefix begins the names of files that are being written. One that a crash left is no part of
// the record.
const TempPrefix = ".tmp-"

// recordFiles walks the files that are the record's own, by their slash-separated paths in
// lexical order of folders: every one but the lock and what a crash left half-written. A symbolic link, a
// socket or a device is no file: odd gets its path.
func recordFiles(dir string, visit func(path string) error, odd func(path string)) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		switch {
		case entry.IsDir() || path == LockFile || strings.HasPrefix(entry.Name(), TempPrefix):
			return nil
		case !entry.Type().IsRegular():
			if odd != nil {
				odd(path)
			}
			return nil
		default:
			return visit(path)
		}
	})
}

// digestFile reads a file below root, which no path or link can leave.
func digestFile(root *os.Root, path string) (Digest, int64, error) {
	file, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return "", 0, err
	}
	digest, size, err := digestOfReader(file)
	return digest, size, errors.Join(err, file.Close())
}

// Load reads the journal and the source notebook of a run directory, and folds. A torn last line is
// dropped; any other break is an error.
func Load(dir string) (run *Run, source []byte, err error) {
	record, err := load(dir)
	if err != nil {
		return nil, nil, err
	}
	return record.run, record.source, nil
}

// loaded is a record as it was read.
type loaded struct {
	events []Event
	torn   bool
	run    *Run
	source []byte
}

func load(dir string) (*loaded, error) {
	source, err := readSource(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, JournalFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &loaded{source: source}
	if l.events, l.torn, err = ReadJournal(file, DigestOf(source)); err != nil {
		return l, err
	}
	l.run, err = Fold(l.events)
	return l, err
}

// readSource reads the notebook that ran, by the name that the first event gives it.
func readSource(dir string) ([]byte, error) {
	first, err := firstEvent(dir)
	if err != nil {
		return nil, err
	}
	started, err := decode[RunStartedData](first)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	source, err := root.ReadFile(filepath.FromSlash(started.SourceFile))
	if err != nil {
		return nil, fmt.Errorf("source notebook of the run: %w", err)
	}
	return source, nil
}
