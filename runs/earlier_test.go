package runs

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"markmill/notebooks/codec"
)

// TestEarlierRecords reads records that earlier versions made: a run with options, rules, an approval, and a test and a
// path that broke a rule. They verify, and what is read of them and written again has the bytes that they have.
func TestEarlierRecords(t *testing.T) {
	files, err := filepath.Glob("testdata/earlier/*.tar.gz")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, err := OpenRecord(unpacked(t, file))
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.Verify(nil, Signers{})
			if err != nil || len(v.Findings) > 0 || v.Run.Granted == nil || v.Run.Started.Options == nil {
				t.Fatalf("%v\n%+v", err, v)
			}
			approval, err := r.ReadFile(ApprovalFile)
			if err == nil {
				_, err = ReadApproval(approval) // compares the digest of the terms
			}
			if err != nil {
				t.Error(err)
			}
			events, _, err := r.events(JournalFile, v.Run.Source)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				switch e.Type {
				case RunStarted:
					sameAgain[RunStartedData](t, e.Data)
				case ContractCreated:
					sameAgain[ContractData](t, e.Data)
				case PlanUpdated:
					sameAgain[PlanData](t, e.Data)
				case PatchApplied:
					sameAgain[PatchData](t, e.Data)
				case GitDiffChecked:
					sameAgain[DiffCheckedData](t, e.Data)
				case VerificationCompleted:
					sameAgain[VerificationData](t, e.Data)
				case RunCompleted:
					var members map[string]codec.Raw
					if err := codec.Unmarshal(e.Data, &members); err != nil {
						t.Fatal(err)
					}
					sameAgain[[]Blocker](t, members["blockers"])
				}
			}
			sameAgain[Approval](t, approval)
			request, err := r.ReadFile(RequestFile)
			if err != nil {
				t.Fatal(err)
			}
			sameAgain[ApprovalRequest](t, request)
		})
	}
}

// sameAgain reads a JSON value into a type and writes it again.
func sameAgain[T any](t *testing.T, text codec.Raw) {
	t.Helper()
	var value T
	if err := codec.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if again := codec.RawOf(value); !codec.Same(again, text) {
		t.Errorf("%T:\n%s\nis written again as\n%s", value, text, again)
	}
}

// unpacked returns a copy of a compressed archive that is not compressed.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "record.tar")
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
