package runs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/codec"
)

// plainMask masks one value as it is.
type plainMask string

func (m plainMask) In(b []byte) bool { return bytes.Contains(b, []byte(m)) }

func (m plainMask) Bytes(b []byte) []byte { return bytes.ReplaceAll(b, []byte(m), []byte("***")) }

func (m plainMask) JSON(raw codec.Raw, _ bool) (codec.Raw, error) {
	if raw.Kind() == '0' {
		return raw, nil
	}
	return m.Bytes(raw), nil
}

// TestMaskedStore writes a secret to every part of a store: none of its files shows it, and the digests are those of
// what was written.
func TestMaskedStore(t *testing.T) {
	const secret = "s3cret-47"
	store := Store{Dir: t.TempDir()}.Masked(plainMask(secret))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, release, err := store.Create("20260101T000000Z-x-1")
	must(err)
	defer release()
	journal, err := record.Begin("notebook.md", []byte("text"), ticking(aTime))
	must(err)
	_, err = journal.Append(GateBlocked, "", Blocker{Code: "x", Message: "of " + secret})
	must(err)
	last, err := journal.Prepare(GateBlocked, "", Blocker{Code: "y", Message: "again " + secret})
	must(err)
	must(journal.Commit(last))
	must(journal.Close())
	kept, err := record.Keep("text.txt", []byte("a "+secret+" b"))
	must(err)
	must(record.WriteNew("new.json", []byte(`{"a":"`+secret+`"}`)))
	binary, err := record.Keep("binary", []byte("\x00"+secret))
	must(err)
	must(store.Approvals().Request(&ApprovalRequest{Contract: DigestOf(nil), Terms: Terms{Cwd: secret},
		Requester: Person{User: secret}}))
	sweep, err := store.CreateSweep(SweepStartedData{SweepID: "sweep-x", SourceFile: "notebook.md",
		Rows: []SweepRow{{Output: secret}}}, []byte("text"), ticking(aTime))
	must(err)
	must(sweep.Append(SweepRunStarted, SweepRunStartedData{Row: 1, Run: "r"}))
	must(sweep.Append(SweepRunEnded, SweepRunEndedData{Row: 1, Run: "r", Status: Fail, Reason: secret}))
	must(sweep.Close())
	resumed, _, err := store.ResumeSweep(store.SweepDir("sweep-x"), secret, ticking(aTime))
	must(err)
	must(resumed.Close())
	must(store.Writer.Append(filepath.Join(store.Dir, "lines"), []byte(secret+"\n")))
	must(store.Writer.WriteOnce(filepath.Join(store.Dir, "once"), []byte(secret)))

	marks := 0
	must(filepath.WalkDir(store.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s shows the secret", name)
		}
		marks += strings.Count(string(text), "***")
		return err
	}))
	if marks != 11 {
		t.Errorf("%d values are masked, want 11", marks)
	}
	for name, want := range map[string]Digest{"text.txt": kept.Digest, "binary": binary.Digest} {
		if got, _, err := record.Digest(name); err != nil || got != want {
			t.Errorf("%s has the digest %s, want %s (%v)", name, got, want, err)
		}
	}
	if text, err := record.ReadFile("binary"); err != nil || string(text) != LeakNote {
		t.Errorf("a binary file is %q (%v)", text, err)
	}
}

// TestShowsByChance: the digits of digests and numbers in Markmill's own JSON are no secrets, in other files they are.
func TestShowsByChance(t *testing.T) {
	w := Store{}.Masked(plainMask("123456")).Writer
	for name, shows := range map[string]bool{JournalFile: false, ResultFile: false, SumsFile: false, "x.json": true} {
		if got := w.Shows("steps/01-a/"+name, []byte("123456\n")); got != shows {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !w.Shows(JournalFile, []byte("{\"a\":1}\n{\"b\":\"123456\"}\n")) {
		t.Error("a text of the journal is not found")
	}
}
