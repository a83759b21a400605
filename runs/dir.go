package runs

import "time"

// The functions below take a run directory instead of a Record.

func Load(dir string) (*Run, []byte, error) { return At(dir).Load() }

func Verify(dir string, render RenderFunc, signers Signers) (*Verification, error) {
	return At(dir).Verify(render, signers)
}

func NewReport(run *Run, dir string) (*Report, error) { return At(dir).Report(run, nil) }

func NewReportKnowing(run *Run, dir string, known map[string]Digest) (*Report, error) {
	return At(dir).Report(run, known)
}

func ReadReport(dir string) (*Report, error) { return At(dir).ReadReport() }

func (r *Report) WriteSums(dir string) error { return At(dir).Seal(r.ArtifactDigests) }

func WriteSums(dir string) error { return At(dir).Seal(nil) }

func SumsDigest(dir string) (Digest, error) { return At(dir).Sums() }

func RemoveTemporary(dir string) error { return At(dir).RemoveTemporary() }

func Reconcile(dir string, clock func() time.Time, finish func(dir string, run *Run) error) (bool, error) {
	return At(dir).Reconcile(clock, func(run *Run) error { return finish(dir, run) })
}
