package runs

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Approvals is the part of a store that keeps requests, their answers, and which answers were used:
//
//	approvals/requests/<contract>.json  the newest request for a contract
//	approvals/answers/<id>.json (+.sig) the answers, as they were given
//	approvals/used/<id>                 made by the run that used the answer
//	approvals/key                       the key of the digests of secrets, and of ignored files that runs read
type Approvals struct {
	dir    string
	writer Writer
}

// Approvals returns the approvals of the store.
func (s Store) Approvals() Approvals { return Approvals{filepath.Join(s.Dir, "approvals"), s.Writer} }

// ErrUsed is returned by Use for an answer that a run has used already.
var ErrUsed = errors.New("the approval was used")

const (
	answerEnding    = ".json"
	signatureEnding = ".json.sig"
	keySize         = 32
)

// folder makes a folder of the approvals if it is missing.
func (a Approvals) folder(name string) (string, error) {
	dir := filepath.Join(a.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", cannotWrite(dir, err)
	}
	return dir, nil
}

func (a Approvals) write(folder, name string, data []byte) error {
	dir, err := a.folder(folder)
	if err != nil {
		return err
	}
	_, err = a.writer.WriteFile(filepath.Join(dir, name), data)
	return err
}

// Request keeps a request. It replaces an older one for the same contract.
func (a Approvals) Request(r *ApprovalRequest) error {
	dir, err := a.folder("requests")
	if err != nil {
		return err
	}
	return a.writer.WriteJSON(filepath.Join(dir, r.Contract.Hex()+answerEnding), r)
}

// Answer keeps an answer and its signature, which may be nil. The signature is written first: whoever sees the answer
// finds it.
func (a Approvals) Answer(text, signature []byte) error {
	answer, err := ReadApproval(text)
	if err != nil {
		return err
	}
	if signature != nil {
		if err := a.write("answers", answer.ID+signatureEnding, signature); err != nil {
			return err
		}
	}
	return a.write("answers", answer.ID+answerEnding, text)
}

// Answer is an answer in the store.
type Answer struct {
	*Approval
	Text      []byte // its bytes
	Signature []byte // nil when it has none
	Used      bool
}

// Changed is when an answer was last given; the zero time if none was.
func (a Approvals) Changed() (time.Time, error) {
	info, err := os.Stat(filepath.Join(a.dir, "answers"))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Answers returns all answers, in order of their names. One that cannot be read is an error: it may be a denial.
func (a Approvals) Answers() ([]Answer, error) {
	dir := filepath.Join(a.dir, "answers")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotRead(dir, err)
	}
	var out []Answer
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), answerEnding)
		if !is || strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		answer, err := a.read(dir, id)
		if err != nil {
			return nil, &notebooks.Error{
				Kind: notebooks.KindRecord, File: filepath.Join(dir, e.Name()), Err: err,
				Msg: "is no approval that can be read: " + cause(err).Error(), Hint: "remove it, and answer the " +
					"request again",
			}
		}
		out = append(out, answer)
	}
	return out, nil
}

func (a Approvals) read(dir, id string) (Answer, error) {
	var out Answer
	var err error
	if out.Text, err = os.ReadFile(filepath.Join(dir, id+answerEnding)); err != nil {
		return out, err
	}
	if out.Approval, err = ReadApproval(out.Text); err != nil {
		return out, err
	}
	if out.ID != id {
		return out, fmt.Errorf("it is the approval %s under another name", out.ID)
	}
	out.Signature, err = os.ReadFile(filepath.Join(dir, id+signatureEnding))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	switch _, err = os.Lstat(a.used(id)); {
	case err == nil:
		out.Used = true
	case !errors.Is(err, fs.ErrNotExist):
		return out, err
	}
	return out, nil
}

func (a Approvals) used(id string) string { return filepath.Join(a.dir, "used", id) }

// Use marks an answer as used by a run. Of any number of callers exactly one succeeds; the others get ErrUsed. A run
// that is killed right after Use has used its approval.
func (a Approvals) Use(id string, by RunID) error {
	if _, err := a.folder("used"); err != nil {
		return err
	}
	err := a.writer.WriteOnce(a.used(id), fmt.Appendf(nil, "%s\n", by))
	if errors.Is(err, fs.ErrExist) {
		return ErrUsed
	}
	if err != nil {
		return cannotWrite(a.used(id), err)
	}
	return nil
}

// Conceal returns the keyed digest of a secret, as a JSON text: the same for the same secret in this store, and of no
// use to anyone without the store's key.
func (a Approvals) Conceal(secret string, random io.Reader) (codec.Raw, error) {
	key, err := a.key(random)
	if err != nil {
		return nil, err
	}
	return codec.Marshal("hmac-" + string(keyed(key, secret)))
}

// ConcealBlob is Conceal for the blob of a file that Git ignores, such as .env: nobody can try passwords with what an
// output notebook shows of it. It begins with the name of the store's key and a colon, so that another store can tell
// that it cannot compare. Without random and without a key it is empty.
func (a Approvals) ConcealBlob(blob string, random io.Reader) (string, error) {
	key, err := a.key(random)
	if random == nil && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return "hmac-" + keyed(key, "the name of this key").Hex()[:8] + ":" + keyed(key, blob).Hex(), nil
}

func keyed(key []byte, text string) Digest {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(text))
	return makeDigest(sum.Sum(nil))
}

// key reads the store's key, and makes it first if there is none and random is not nil.
func (a Approvals) key(random io.Reader) ([]byte, error) {
	if random != nil {
		if _, err := a.folder(""); err != nil {
			return nil, err
		}
	}
	return readKey(filepath.Join(a.dir, "key"), random)
}

// readKey reads a key, and makes it first if there is none and random is not nil.
func readKey(path string, random io.Reader) ([]byte, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && random != nil {
		if err := makeKey(path, random); err != nil {
			return nil, cannotWrite(path, err)
		}
		key, err = os.ReadFile(path)
	}
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("it has %d bytes, and %d are expected", len(key), keySize)
	}
	if err != nil {
		return nil, cannotRead(path, err)
	}
	return key, nil
}

// makeKey links a whole file to its name, which fails if another process was faster.
func makeKey(path string, random io.Reader) error {
	key := make([]byte, keySize)
	if _, err := io.ReadFull(random, key); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*") // 0600
	if err != nil {
		return err
	}
	_, err = file.Write(key)
	if err = errors.Join(err, file.Close()); err == nil {
		if err = os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(file.Name()))
}

// Shown formats a time for people.
func Shown(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Citing returns the run whose record has an approval, "" without one. It finds the use of an approval whose mark was
// removed.
func (s Store) Citing(approval string) (RunID, error) {
	ids, err := s.IDs()
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		text, err := s.Record(id).ReadFile(ApprovalFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", cannotRead(ApprovalFile, err)
		}
		var a Approval
		if codec.Unmarshal(text, &a) == nil && a.ID == approval {
			return id, nil
		}
	}
	return "", nil
}
