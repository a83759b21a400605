package runs

// Digests are the files whose digests the events of a run give, by path relative to its directory.
func (r *Run) Digests() map[string]Digest {
	known := map[string]Digest{r.Started.SourceFile: r.Source}
	add := func(file string, digest Digest) {
		if file != "" && digest != "" {
			known[file] = digest
		}
	}
	for _, f := range r.approvalFiles() {
		add(f.File, f.Digest)
	}
	if from := r.Started.ResumedFrom; from != nil {
		add(from.File, from.Digest)
	}
	if r.Completed != nil {
		for _, f := range r.Completed.Files {
			add(f.File, f.Digest)
		}
	}
	if r.Diff != nil {
		add(r.Diff.Patch, r.Diff.PatchDigest)
	}
	if r.Verification != nil && r.Verification.Judges != nil {
		for _, s := range r.Verification.Judges.Steps {
			add(s.Stdout.File, s.Stdout.Digest)
			add(s.Stderr.File, s.Stderr.Digest)
			add(s.Outputs.File, s.Outputs.Digest)
			for _, d := range s.Displays {
				add(d.File, d.Digest)
			}
		}
	}
	if c := r.Completed; c != nil && c.Bundle != nil {
		add(c.Bundle.File, c.Bundle.Digest)
	}
	for _, s := range r.Steps {
		if s.Patch != nil {
			add(s.Patch.Patch, s.Patch.Digest)
		}
		for _, scrap := range s.Scraps {
			add(scrap.File, scrap.Digest)
		}
		if p := s.Replayed; p != nil {
			add(p.Stdout.File, p.Stdout.Digest)
			add(p.Stderr.File, p.Stderr.Digest)
		}
		if f := s.Finished; f != nil {
			add(f.Stdout.File, f.Stdout.Digest)
			add(f.Stderr.File, f.Stderr.Digest)
			add(f.Result, f.ResultDigest)
			add(f.Outputs.File, f.Outputs.Digest)
			for _, d := range f.Displays {
				add(d.File, d.Digest)
			}
		}
	}
	return known
}
