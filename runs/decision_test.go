package runs

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"markmill/runs/sshsig"
)

// aSigner signs decisions with a key made of a number.
func aSigner(t testing.TB, seed byte) func([]byte) ([]byte, error) {
	t.Helper()
	key := make([]byte, ed25519.SeedSize)
	key[0] = seed
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(key))
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) ([]byte, error) { return sshsig.Sign(signer, DecisionNamespace, text) }
}

func decide(t testing.TB, r *Record, answer string, sign func([]byte) ([]byte, error)) *StoredDecision {
	t.Helper()
	made, err := r.Decide(Decision{Answer: answer, Actor: "alice", Time: aTime, Reason: "seen"}, sign, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// copyOf copies a folder.
func copyOf(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// A record holds with its decisions, in its folder, in a copy and in an archive, and SHA256SUMS is as it was.
func TestDecide(t *testing.T) {
	store := newStore(t)
	r := At(aPass(t, store, aTime, 1).dir)
	before, err := r.Sums()
	if err != nil {
		t.Fatal(err)
	}
	decide(t, r, Accepted, aSigner(t, 1))
	decide(t, r, Rejected, nil)
	last := decide(t, r, Accepted, aSigner(t, 2))
	if last.Seq != 3 || last.Sums != before || last.Prev == "" || last.PrevSignature != "" {
		t.Errorf("the last decision is %+v", last.Decision)
	}
	if after, err := r.Sums(); err != nil || after != before {
		t.Errorf("SHA256SUMS is %s (%v), was %s", after, err, before)
	}
	copied := filepath.Join(t.TempDir(), string(r.folder()))
	copyOf(t, r.Path(), copied)
	for name, record := range map[string]*Record{"folder": r, "copy": At(copied), "archive": archived(t, tarOf(t, r))} {
		v := verified(t, record)
		if !v.OK() || len(v.Decisions) != 3 || v.Decisions[1].Answer != Rejected || v.Decisions[2].Signed.Counts() {
			t.Errorf("%s: %v, decisions %+v", name, v.Findings, v.Decisions)
		}
	}
	entry := readEntry(r.folder(), r.Path())
	if entry.Decision != Accepted || entry.DecidedBy != "alice" {
		t.Errorf("the entry says %q by %q", entry.Decision, entry.DecidedBy)
	}
}

func TestDecideRefuses(t *testing.T) {
	store := newStore(t)
	r := At(aPass(t, store, aTime, 1).dir)
	refused := errors.New("no")
	for name, try := range map[string]func() error{
		"accepts without a signature": func() error {
			_, err := r.Decide(Decision{Answer: Accepted, Time: aTime}, nil, nil)
			return err
		},
		"is no decision": func() error {
			_, err := r.Decide(Decision{Answer: "perhaps", Time: aTime}, nil, nil)
			return err
		},
		"no": func() error {
			_, err := r.Decide(Decision{Answer: Rejected, Time: aTime}, nil,
				func(*StoredDecision) error { return refused })
			return err
		},
		"an archive of a record is only read": func() error {
			_, err := archived(t, tarOf(t, r)).Decide(Decision{Answer: Rejected, Time: aTime}, nil, nil)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	if r.Has(DecisionsDir) {
		t.Error("a decision that was refused left its folder")
	}
	release, err := Lock(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := r.Decide(Decision{Answer: Rejected, Time: aTime}, nil, nil); !errors.Is(err, ErrLive) {
		t.Errorf("of a run that is alive: %v", err)
	}
}

// Of many that decide at the same time, each decision that is reported as kept is in the chain.
func TestDecideAtTheSameTime(t *testing.T) {
	r := At(aPass(t, newStore(t), aTime, 1).dir)
	kept := make(chan bool)
	const all = 8
	for i := range all {
		go func() {
			_, err := r.Decide(Decision{Answer: Rejected, Actor: fmt.Sprint(i), Time: aTime}, aSigner(t, byte(i)), nil)
			kept <- err == nil
		}()
	}
	want := 0
	for range all {
		if <-kept {
			want++
		}
	}
	if list, err := r.Decisions(); err != nil || len(list) != want || want == 0 {
		t.Errorf("%d decisions (%v), %d were reported as kept", len(list), err, want)
	}
}

// Whatever is done to decisions afterwards, verification finds it.
func TestDecisionsTampered(t *testing.T) {
	first, second := decisionFile(1), decisionFile(2)
	for _, c := range []struct {
		name, want string
		edit       func(t *testing.T, r, other *Record)
	}{
		{"a changed record", "decides on the record", func(t *testing.T, r, _ *Record) {
			appendTo(t, r.File(PatchFile), "x")
			appendTo(t, r.File(SumsFile), strings.Repeat("0", 64)+"  x\n")
		}},
		{"a moved decision", "decides on the record", func(t *testing.T, r, other *Record) {
			copyOf(t, r.File(DecisionsDir), other.File(DecisionsDir))
			*r = *other
		}},
		{"a changed rejection", decisionFile(3) + " does not follow", func(t *testing.T, r, _ *Record) {
			decide(t, r, Accepted, aSigner(t, 1))
			replaceIn(t, r.File(second), "seen", "good")
		}},
		{"a changed reason", "has a signature that does not hold", func(t *testing.T, r, _ *Record) {
			replaceIn(t, r.File(first), "seen", "good")
		}},
		{"another key", "does not follow the decision before it", func(t *testing.T, r, _ *Record) {
			sign(t, r, first, aSigner(t, 9))
		}},
		{"another key of the last one", "is another decision than the one that", func(t *testing.T, r, _ *Record) {
			remove(t, r.Path(), second)
			sign(t, r, first, aSigner(t, 9))
		}},
		{"a signature for another purpose", "has a signature that does not hold", func(t *testing.T, r, _ *Record) {
			key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
			if err != nil {
				t.Fatal(err)
			}
			sign(t, r, first, func(text []byte) ([]byte, error) { return sshsig.Sign(key, RecordNamespace, text) })
		}},
		{"no signature", "accepts without a signature", func(t *testing.T, r, _ *Record) {
			remove(t, r.Path(), first+decisionSignature)
		}},
		{"a rejection that was removed", second + " is missing", func(t *testing.T, r, _ *Record) {
			remove(t, r.Path(), second)
		}},
		{"all removed", first + " is missing", func(t *testing.T, r, _ *Record) {
			if err := os.RemoveAll(r.File(DecisionsDir)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a gap", "follows no decision", func(t *testing.T, r, _ *Record) {
			decide(t, r, Accepted, aSigner(t, 1))
			remove(t, r.Path(), second)
		}},
		{"a replayed acceptance", "is decision 1, and stands as decision 3", func(t *testing.T, r, _ *Record) {
			for _, ending := range []string{"", decisionSignature} {
				text, err := r.ReadFile(first + ending)
				if err == nil {
					err = r.Write(decisionFile(3)+ending, text)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"a rejection that an acceptance replaces", "is decision 1, and stands as decision 2",
			func(t *testing.T, r, _ *Record) {
				copyFile(t, r.File(first), r.File(second))
				copyFile(t, r.File(first+decisionSignature), r.File(second+decisionSignature))
			}},
		{"a planted file", "follows no decision", func(t *testing.T, r, _ *Record) {
			if err := r.Write(DecisionsDir+"/note\x1b.txt", []byte("x")); err != nil {
				t.Fatal(err)
			}
		}},
		{"garbage", "invalid", func(t *testing.T, r, _ *Record) {
			if err := r.Write(first, []byte("\x00\xff{")); err != nil {
				t.Fatal(err)
			}
		}},
		{"nothing", "is no decision", func(t *testing.T, r, _ *Record) {
			if err := r.Write(second, []byte("null")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newStore(t)
			r, other := At(aPass(t, store, aTime, 1).dir), At(aPass(t, store, aTime.Add(time.Hour), 2).dir)
			decide(t, r, Accepted, aSigner(t, 1))
			decide(t, r, Rejected, nil)
			c.edit(t, r, other)
			var found bool
			for _, f := range verified(t, r).Findings {
				found = found || f.Where == DecisionsDir && strings.Contains(f.Message, c.want)
			}
			if !found {
				t.Errorf("no finding says %q: %v", c.want, verified(t, r).Findings)
			}
		})
	}
}

func sign(t testing.TB, r *Record, file string, with func([]byte) ([]byte, error)) {
	t.Helper()
	text, err := r.ReadFile(file)
	if err == nil {
		text, err = with(text)
	}
	if err == nil {
		err = r.Write(file+decisionSignature, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func replaceIn(t testing.TB, file, old, now string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A folder with another name does not hide what the log has.
func TestDecisionsOfARenamedRun(t *testing.T) {
	r := At(aPass(t, newStore(t), aTime, 1).dir)
	decide(t, r, Rejected, nil)
	remove(t, r.Path(), decisionFile(1))
	moved := At(filepath.Join(filepath.Dir(r.Path()), "20260131T120000Z-other-00"))
	if err := os.Rename(r.Path(), moved.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := moved.Decisions(); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v", err)
	}
}

// What a crash leaves, between the signature, the decision and the log, is no damage, and the next decision mends it.
func TestDecisionsAfterACrash(t *testing.T) {
	store := newStore(t)
	r := At(aPass(t, store, aTime, 1).dir)
	decide(t, r, Accepted, aSigner(t, 1))
	log := filepath.Join(store.Dir, DecisionLog)
	appendTo(t, log, `{"run_id":"torn`)
	if err := r.Write(decisionFile(2)+decisionSignature, []byte("torn")); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, r); !v.OK() {
		t.Fatal(v.Findings)
	}
	decide(t, r, Rejected, nil)
	if v := verified(t, r); !v.OK() || len(v.Decisions) != 2 {
		t.Fatal(v.Findings, v.Decisions)
	}
	text, err := r.ReadFile(decisionFile(2))
	if err != nil {
		t.Fatal(err)
	}
	remove(t, r.Path(), decisionFile(2))
	if v := verified(t, r); v.OK() {
		t.Error("the torn line has hidden the one after it")
	}
	if err := r.Write(decisionFile(2), text); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	decide(t, r, Accepted, aSigner(t, 1))
	remove(t, r.Path(), decisionFile(3))
	if v := verified(t, r); v.OK() {
		t.Error("a log that was made again does not have the last decision")
	}
}

// Decisions travel: a copy takes those that it lacks, and never gives one up.
func TestTakeDecisions(t *testing.T) {
	r := At(aPass(t, newStore(t), aTime, 1).dir)
	elsewhere := newStore(t)
	other := At(elsewhere.Path(r.folder()))
	copyOf(t, r.Path(), other.Path())
	decide(t, other, Accepted, aSigner(t, 1))
	decide(t, other, Rejected, nil)
	for _, want := range []int{2, 0} {
		if more, err := r.TakeDecisions(other); err != nil || more != want {
			t.Fatalf("%d, %v; want %d", more, err, want)
		}
	}
	if more, err := other.TakeDecisions(r); err != nil || more != 0 {
		t.Errorf("%d, %v", more, err)
	}
	// one that is missing here, and in the log, comes back
	remove(t, r.Path(), decisionFile(2))
	if more, err := r.TakeDecisions(other); err != nil || more != 1 {
		t.Errorf("%d, %v", more, err)
	}
	decide(t, r, Accepted, aSigner(t, 1))
	if more, err := r.TakeDecisions(other); err != nil || more != 0 {
		t.Errorf("from one that has fewer: %d, %v", more, err)
	}
	decide(t, other, Accepted, aSigner(t, 2))
	if _, err := r.TakeDecisions(other); err == nil || !strings.Contains(err.Error(), "decision 3 is another one") {
		t.Errorf("got %v", err)
	}
	if v := verified(t, r); !v.OK() || len(v.Decisions) != 3 {
		t.Error(v.Findings, v.Decisions)
	}
}
