package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"markmill/notebooks/codec"
)

// SweepVerification is the result of checking a sweep and its runs.
type SweepVerification struct {
	Sweep    *Sweep // nil if its record cannot be read
	Runs     int    // how many records of runs were checked
	Findings []Finding
	Notes    []string // what was not checked, and why
}

// VerifySweep recomputes the record of a sweep, and verifies each of its runs as Record.Verify does: that it is the run
// which the sweep names, by the digest of its SHA256SUMS, that it ran this notebook with the values of its row, and
// that its verdict is the one in the table. A run that was pruned is noted. An error means that there is nothing to
// check.
func VerifySweep(dir string, render RenderFunc, signers Signers) (*SweepVerification, error) {
	s, v := StoreOfSweep(dir), &SweepVerification{}
	find := func(where, words string, args ...any) {
		v.Findings = append(v.Findings, Finding{where, fmt.Sprintf(words, args...)})
	}
	if _, err := os.Stat(filepath.Join(dir, JournalFile)); err != nil {
		return nil, cannotRead(dir, err)
	}
	sweep, err := LoadSweep(dir)
	if err != nil {
		find(filepath.Base(dir), "%s", words(err))
		return v, nil
	}
	v.Sweep = sweep
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(abs) != string(sweep.Started.SweepID) {
		find(JournalFile, "is of %s, and the folder is called %s", sweep.Started.SweepID, filepath.Base(abs))
	}
	if done := sweep.Completed; done == nil {
		v.Notes = append(v.Notes, "the sweep is not completed: markmill resume "+string(sweep.Started.SweepID)+
			" runs what is missing")
	} else if want := sweep.Verdict(max(0, done.ExitCode-128)); done.Status != want.Status ||
		done.ExitCode != want.ExitCode || done.Picked != want.Picked {
		find(JournalFile, "the verdict is %s with exit code %d and the pick %d, and follows as %s with %d and %d",
			done.Status,
			done.ExitCode, done.Picked, want.Status, want.ExitCode, want.Picked)
	}
	// one verifies a run that the sweep names; differs says in what it is not what the sweep says.
	one := func(row int, id RunID, named Digest, differs func(*Run) []string) error {
		record := s.Record(id)
		if _, err := os.Stat(record.Path()); errors.Is(err, fs.ErrNotExist) {
			v.Notes = append(v.Notes, fmt.Sprintf("row %d: run %s is not kept any more", row+1, id))
			return nil
		}
		got, err := record.Verify(render, signers)
		if err != nil {
			return err
		}
		v.Runs++
		for _, f := range got.Findings {
			find(string(id)+": "+f.Where, "%s", f.Message)
		}
		if sums, err := record.Sums(); err != nil || sums != named {
			find(string(id), "the sweep names %s with %s, and the record here has %s", SumsFile, named, sums)
		}
		if got.Run != nil {
			for _, words := range differs(got.Run) {
				find(string(id), "%s", words)
			}
		}
		return nil
	}
	for i := range sweep.Rows {
		row := &sweep.Rows[i]
		if row.Ended == nil || row.Ended.Sums == "" {
			continue
		}
		err := one(i, row.Run, row.Ended.Sums, func(run *Run) []string { return sweep.differs(i, run) })
		if err != nil {
			return nil, err
		}
		if l := row.Ended.Lane; l != nil && l.Again != nil {
			if err := one(i, l.Again.Run, l.Again.Sums, l.Again.differs(row.Run)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// differs says in what a run is not the second judgement of an attempt.
func (d *JudgedData) differs(of RunID) func(*Run) []string {
	return func(run *Run) (out []string) {
		if from := run.Started.ResumedFrom; from == nil || from.Fork == nil || from.Run != of {
			out = append(out, fmt.Sprintf("it is no fork of %s, which it is to judge again", of))
		}
		if !maps.Equal(JudgementOf(run), d.Judges) {
			out = append(out, "what its tests said is not what the sweep says")
		}
		return out
	}
}

// differs says in what a run is not what the sweep says of its row.
func (s *Sweep) differs(i int, run *Run) (out []string) {
	row := &s.Rows[i]
	if run.Source != DigestOf(s.Source) {
		out = append(out, "it ran another notebook than the sweep's")
	}
	if run.Status() != row.Ended.Status {
		out = append(out, fmt.Sprintf("its verdict is %s, and the sweep says %s", run.Status(), row.Ended.Status))
	}
	want := SweepData{ID: s.Started.SweepID, Row: i + 1}
	if row.Lane != nil {
		want.Attempt = row.Lane.Attempt
	}
	if run.Started.Sweep == nil || *run.Started.Sweep != want {
		out = append(out, fmt.Sprintf("its record does not name row %d of %s", want.Row, want.ID))
	}
	if s.Started.Lanes != nil && row.Lane != nil {
		out = append(out, s.verifyLane(i, run)...)
	}
	if run.Started.Options == nil {
		return out
	}
	for _, given := range row.Given {
		found := false
		for _, has := range run.Started.Options.Given {
			found = found || has.Name == given.Name && codec.Same(codec.Raw(has.Wire), codec.Raw(given.Wire))
		}
		if !found {
			out = append(out, fmt.Sprintf("it did not run with the row's value of %s, %s", given.Name, given.Wire))
		}
	}
	return out
}

// pruneSweeps removes the records of sweeps that are not going on and none of whose runs is left.
func (s Store) pruneSweeps() error {
	ids, err := s.emptySweeps(nil)
	for _, id := range ids {
		dir := filepath.Join(s.sweeps(), string(id))
		release, err := Lock(dir)
		if err != nil {
			continue // it is going on
		}
		err = os.RemoveAll(dir)
		release()
		if err != nil {
			return cannotWrite(dir, err)
		}
	}
	return err
}

// emptySweeps returns the sweeps that are not going on and none of whose runs is left but those that go.
func (s Store) emptySweeps(gone map[RunID]bool) (empty []SweepID, err error) {
	ids, err := s.Sweeps()
	for _, id := range ids {
		dir := filepath.Join(s.sweeps(), string(id))
		sweep, err := LoadSweep(dir)
		if err != nil || Alive(dir) {
			continue // verify says what is wrong with it
		}
		left := slices.ContainsFunc(sweep.Rows, func(row SweepState) bool {
			_, err := os.Stat(s.Path(row.Run))
			return row.Run != "" && !gone[row.Run] && err == nil
		})
		if !left {
			empty = append(empty, id)
		}
	}
	return empty, err
}
