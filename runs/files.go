package runs

import (
	"errors"
	"io"
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
	ArtifactsDir   = "artifacts" // with the files that artifacts: names, by their paths
	PatchFile      = "patch.diff"
	TestLogFile    = "test.log"
	TraceFile      = "trace.jsonl"
	ResultFile     = "result.json" // of a step
	BundleFile     = "commits.bundle"
	SumsFile       = "SHA256SUMS"
	// SumsSignatureFile is the SSH signature of SHA256SUMS, where one is configured. SHA256SUMS does not list it.
	SumsSignatureFile = "SHA256SUMS.sig"
	RequestFile       = "approval-request.json" // when an approval is required
	ApprovalFile      = "approval.json"         // the answer that was found
	SignatureFile     = "approval.json.sig"     // of a signed one
	// the allowed_signers it was checked with; the second is approval.signers.2
	SignersFile = "approval.signers"
	StepsDir    = "steps"
	// RerunFile says what differed from the run that this one repeats. It is written after the run, as decisions are.
	RerunFile = "rerun.json"
	LockFile  = ".lock" // there while the run is alive; it is no part of the record
)

// WriteFile writes a whole file: a reader finds the old bytes or the new ones and never a part, also after a crash. A
// file that is there keeps its mode. WriteFile makes no folder, and does not wait for the disk.
func WriteFile(path string, data []byte) error {
	return WriteStream(path, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// WriteStream is WriteFile for bytes that write writes one after the other.
func WriteStream(path string, write func(w io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return cannotWrite(path, err)
	}
	if err = fill(temp, path, write); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// fill writes a file that is to replace the one at path, gives it the mode of that one, and closes it.
func fill(file *os.File, path string, write func(w io.Writer) error) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return errors.Join(write(file), file.Chmod(mode), file.Close())
}

// Create creates a file that must not exist yet. It takes a third of the system calls of os.OpenFile, which registers
// each file with the poller.
func Create(path string) (*os.File, error) {
	fd, err := syscall.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// WriteNewFile writes a file that must not exist yet, with fewer system calls than WriteFile. A crash may leave a part
// of it; an error leaves nothing.
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

// LeakNote replaces the content of a file that showed the value of a secret. Its digest is recorded like any other.
const LeakNote = "Left out: the value of a secret stood here.\n"

// TempPrefix begins the names of files that are being written. One that a crash left is no part of the record.
const TempPrefix = ".tmp-"

// StagedName is the name of the temporary file beside an output of this name, while the run goes on. It follows from
// both alone.
func StagedName(name string, id RunID) string {
	const digits = 12 // enough for the files of one run in one folder
	return TempPrefix + string(id) + "-" + DigestOf([]byte(filepath.Base(name))).Hex()[:digits]
}

// StagedBy is the run that staged a file of this name, "" if none did.
func StagedBy(name string) RunID {
	rest, ok := strings.CutPrefix(name, TempPrefix)
	end := strings.LastIndexByte(rest, '-')
	if id := RunID(rest[:max(end, 0)]); ok && id.Valid() {
		return id
	}
	return ""
}
