package rerun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"markmill/cmd/internal/records"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/render/safe"
	"markmill/runs"
)

// Options configure a repetition. The zero value repeats a run on the commit that it began with.
type Options struct {
	// Base is a revision to begin with instead. A change of the run that it has already is taken back first, and only
	// changes are compared, not whole trees.
	Base  string
	Given []params.Given // the values of secrets, which no record has
	// Sinks gives the sinks of the new run, before anything runs.
	Sinks   func(*engine.Plan) (engine.Sinks, error)
	Signers runs.Signers
}

// Result is a repetition.
type Result struct {
	*runs.Rerun
	Dir string    // of the new run
	New *runs.Run // the new run
}

// DamagedError is the error for a record that does not hold, which there is no sense in repeating.
type DamagedError struct{ *runs.Verification }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the record of the run does not hold, so it is not repeated: %s (%d findings)", e.Findings[0],
		len(e.Findings))
}

// ErrInterrupted is returned by Run when ctx ended. Nothing is left of the repetition.
var ErrInterrupted = errors.New("interrupted; nothing of the repetition is kept")

// Run verifies a record and runs its notebook again, in a clean clone of src: what was uncommitted at the time is from
// the record, and files that Git ignores are not there. The new run has a record in the store of src, which names the
// run that it repeats; rerun.json beside it says what differed. The settings and policies are those of eng and src: the
// notebook of the record is code, and runs under today's rules.
func Run(ctx context.Context, eng *engine.Engine, src *worktree.Source, record *runs.Record, o Options) (
	result *Result, err error) {
	v, err := records.VerifyRecord(record, src, o.Signers)
	if err != nil {
		return nil, err
	}
	if v.Run != nil && v.Run.Completed == nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("run %s has not ended", v.Run.ID),
			Hint: "wait for its end, or complete a run that was killed: markmill runs maintain reconcile"}
	}
	if !v.OK() {
		return nil, &DamagedError{v}
	}
	id, err := eng.NewID(v.Run.Started.Notebook)
	if err != nil {
		return nil, err
	}
	defer func() {
		if ctx.Err() != nil {
			err = errors.Join(ErrInterrupted, eng.Store(src.Root()).Remove(id))
		}
	}()
	clone, err := eng.Clone(ctx, src, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, clone.Close()) }()
	again := *eng
	again.Source, again.Config.Pool = clone.Source, "off"
	base := ""
	if o.Base != "" {
		commit, err := src.Resolve(o.Base)
		if err != nil {
			return nil, err
		}
		base = string(commit)
	}
	req, err := again.Repeat(ctx, record, clone, src.Root(), base, o.Given)
	if err != nil {
		return nil, err
	}
	if base != "" {
		if err := takeBack(clone.Source, v.Run, &req); err != nil {
			return nil, err
		}
	}
	req.ID = id
	plan, err := again.Plan(ctx, req)
	if err == nil {
		err = lost(v.Run, plan)
	}
	if err == nil {
		err = safe.CheckNormalize(plan.Notebook())
	}
	if err != nil {
		return nil, err
	}
	sinks, err := o.Sinks(plan)
	if err != nil {
		return nil, err
	}
	ran, err := again.Run(ctx, plan, sinks)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	if ran.Run.Status() == runs.Interrupted { // by runs abort
		return nil, fmt.Errorf("the repetition %s was ended: nothing is compared", ran.Run.ID)
	}
	made := &Result{Dir: ran.Dir, New: ran.Run}
	if made.Rerun, err = Compare(record, runs.At(ran.Dir), eng.Config.Normalize); err != nil {
		return nil, err
	}
	text, err := codec.Indent(made.Rerun)
	if err != nil {
		return nil, err
	}
	return made, runs.At(ran.Dir).Write(runs.RerunFile, text)
}

// takeBack makes a run on another commit begin without the change of the run, if that commit has it.
func takeBack(src *worktree.Source, run *runs.Run, req *engine.Request) error {
	if run.Diff == nil || len(run.Diff.Files) == 0 {
		return nil
	}
	tree, err := src.CommitFiles(worktree.OID(req.Base))
	if err != nil {
		return err
	}
	defer tree.Close()
	var changes []notebooks.ManifestChange
	for _, f := range run.Diff.Files {
		changes = append(changes, notebooks.ManifestChange{Path: worktree.RawPath(f.Path), OldPath: f.OldPath,
			OldBlob: f.OldBlob, NewBlob: f.NewBlob, OldMode: f.OldMode, NewMode: f.NewMode})
	}
	req.Reverse, _, err = retest.TakeBack(src, tree, changes)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("run %s cannot be repeated: %v", run.ID,
			err),
			Hint: "fetch the whole history (git fetch --unshallow), or name the commit before the change with --base"}
	}
	return nil
}

// lost returns an error for a value that the run was given and that no record has.
func lost(run *runs.Run, plan *engine.Plan) error {
	var errs notebooks.ErrorList
	now := map[string]runs.ParamData{}
	for _, p := range plan.Parameters() {
		now[p.Name] = p
	}
	for _, was := range run.Contract.Parameters {
		if was.Given && !now[was.Name].Given {
			errs = append(errs, &notebooks.Error{Kind: notebooks.KindParameter, File: run.Started.Notebook,
				Msg:  fmt.Sprintf("parameter %s: it is a secret, or holds one, and no record keeps it", was.Name),
				Hint: fmt.Sprintf("give it again: -p %s=VALUE", was.Name)})
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// Check adds to the verification of a run that repeats another whether its rerun.json follows from the two records. The
// comparison is not looked at if the store does not have the other run as it was.
func Check(store runs.Store, v *runs.Verification) error {
	if v.Run == nil || v.Run.Started.Rerun == nil {
		return nil
	}
	of, record := v.Run.Started.Rerun, runs.At(v.Dir)
	if !record.Has(runs.RerunFile) {
		v.Notes = append(v.Notes, fmt.Sprintf("it was not compared with run %s, which it repeats", of.Run))
		return nil
	}
	claimed, err := record.Rerun()
	if err != nil {
		v.Findings = append(v.Findings, runs.Finding{Where: runs.RerunFile, Message: "cannot be read: " + err.Error()})
		return nil
	}
	original := store.Record(of.Run)
	if sums, err := original.Sums(); err != nil || sums != of.Sums {
		v.Notes = append(v.Notes,
			fmt.Sprintf("run %s, which it repeats, is not here as it was, so %s was not made again",
				of.Run, runs.RerunFile))
		return nil
	}
	made, err := Compare(original, record, claimed.Normalize)
	if err != nil {
		return err
	}
	if len(claimed.Normalize) > 0 {
		v.Notes = append(v.Notes,
			"what normalize: in markmill.yaml masked in the comparison with the run that it repeats")
	}
	if !bytes.Equal(codec.RawOf(claimed), codec.RawOf(made)) {
		v.Findings = append(v.Findings, runs.Finding{Where: runs.RerunFile, Message: fmt.Sprintf(
			"is not what the two records give: they %s, with %d differences", Words(made), len(made.Differences))})
	}
	return nil
}

// Agreeing returns the first of some repetitions of a run that proves it: its record holds, is of the run as it is
// here, and came to the same by no other rules than normalize, which a repetition could have widened. "" if none does.
func Agreeing(store runs.Store, of *runs.Verification, repetitions []*runs.Record, normalize []notebooks.Normalize,
	signers runs.Signers) (runs.RunID, error) {
	sums, err := runs.At(of.Dir).Sums()
	if err != nil {
		return "", err
	}
	for _, record := range repetitions {
		claimed, err := record.Rerun()
		if err != nil || !claimed.Agrees || claimed.Sums != sums ||
			len(claimed.Normalize) > 0 && !reflect.DeepEqual(claimed.Normalize, normalize) {
			continue
		}
		v, err := record.Verify(views.FoldView, signers)
		if err != nil || v.Run == nil || v.Run.Started.Rerun == nil || v.Run.Started.Rerun.Run != of.Run.ID ||
			v.Run.Started.Rerun.Sums != sums {
			continue
		}
		if err := Check(store, v); err != nil {
			return "", err
		}
		if len(v.Findings) == 0 {
			return v.Run.ID, nil
		}
	}
	return "", nil
}

// Words is the verdict of a comparison in a word.
func Words(r *runs.Rerun) string {
	if r.Agrees {
		return "agree"
	}
	return "differ"
}
