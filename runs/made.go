package runs

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"markmill/notebooks"
)

// A record that this user's Markmill made on this machine has a mark in the folder "made" of its store: an HMAC, with a
// key of the user, of its run id and its SHA256SUMS. A record without one came from elsewhere, however it got there. It
// is shown and verified, counts as a proof only with a signature of an allowed signer, and none of its steps is carried
// (docs/evidence.md, "Records that travel").
//
// While the run goes on, its mark is an HMAC of its id alone: only then does Seal make the mark of the whole record, in
// the run itself or when a killed one is completed.

// NotMadeHere says of a record that it came from elsewhere.
const NotMadeHere = "not made by this user on this machine"

// keys are the keys that were read, by their files.
var keys sync.Map

// KeyFile is the file of this user's key, outside of any store: whoever copies a store does not copy it. It is "" for a
// user without a home.
func KeyFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "markmill.key")
}

// userKey reads the key of this user, once a process.
func userKey(random io.Reader) ([]byte, error) {
	file := KeyFile()
	if file == "" {
		return nil, errors.New("the user has no home folder")
	}
	if key, ok := keys.Load(file); ok {
		return key.([]byte), nil
	}
	if random != nil {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, cannotWrite(file, err)
		}
	}
	key, err := readKey(file, random)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(file)
	if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		err = &notebooks.Error{Kind: notebooks.KindInput, File: file, Msg: "others can read this key",
			Hint: "remove it: the next run makes another, and the records made until then count as from elsewhere"}
	}
	if err == nil {
		keys.Store(file, key)
	}
	return key, err
}

// MakeKey makes the key of this user if there is none. The error says why the runs of this user get no mark.
func MakeKey() error {
	_, err := userKey(rand.Reader)
	return err
}

// madeMark is the mark of a run, with the digest of its SHA256SUMS; "" while it goes on. Without a key it is "".
func madeMark(id string, sums Digest) string {
	key, err := userKey(nil)
	if err != nil {
		return ""
	}
	return keyed(key, "record "+id+" "+string(sums)).Hex() + "\n"
}

func (s Store) madeFile(name string) string { return filepath.Join(s.Dir, "made", name) }

// isMark reports whether a file has a mark.
func isMark(file, mark string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(mark)) || mark == "" {
		return false
	}
	got, err := os.ReadFile(file)
	return err == nil && hmac.Equal(got, []byte(mark))
}

// MarkBegun says that this user begins the run here, and that nothing in it comes from elsewhere. A user without a key
// runs all the same.
func (r *Record) MarkBegun() error {
	if MakeKey() != nil {
		return nil
	}
	store, name, _ := storeOf(r.path)
	return store.markMade(r.path, name, "")
}

// markSealed makes the mark of a run that was begun here, after its SHA256SUMS.
func (r *Record) markSealed(sums Digest) error {
	store, name, is := storeOf(r.path)
	if !is || !isMark(store.madeFile(name), madeMark(name, "")) {
		return nil
	}
	return store.markMade(r.path, name, sums)
}

// unseal removes SHA256SUMS. A run that was made here goes on.
func (r *Record) unseal() error {
	store, name, is := storeOf(r.path)
	if sums, err := r.Sums(); err == nil && is && isMark(store.madeFile(name), madeMark(name, sums)) {
		if err := store.markMade(r.path, name, ""); err != nil {
			return err
		}
	}
	return r.Remove(SumsFile)
}

// markMade writes the mark of a run, at first into its folder: what a crash leaves there is removed with the next run.
func (s Store) markMade(folder, name string, sums Digest) error {
	file, temp := s.madeFile(name), filepath.Join(folder, TempPrefix+"made")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cannotWrite(file, err)
	}
	if _, err := (Writer{}).WriteFile(temp, []byte(madeMark(name, sums))); err != nil {
		return err
	}
	if err := os.Rename(temp, file); err != nil {
		return cannotWrite(file, errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// Made reports whether this user made the record on this machine. It compares SHA256SUMS with the mark and the journal
// with SHA256SUMS; what the journal names is not looked at (see Verify).
func (r *Record) Made() bool {
	store, name, is := storeOf(r.path)
	text, err := r.ReadFile(SumsFile)
	if !is || r.archive != nil || err != nil || !isMark(store.madeFile(name), madeMark(name, DigestOf(text))) {
		return false
	}
	journal, _, err := r.Digest(JournalFile)
	return err == nil && strings.Contains(string(text), sumLine(JournalFile, journal))
}
