package runs

// Digests are the files whose digests the events of a run give, by name.
func (r *Run) Digests() map[string]Digest {
	known := map[string]Digest{r.Started.SourceFile: r.Source}
	if from := r.Started.ResumedFrom; from != nil {
		known[from.File] = from.Digest
		if from.Fork != nil {
			known[from.Fork.File] = from.Fork.Digest
		}
	}
	for _, f := range r.eventFiles() {
		known[f.File] = f.Digest
	}
	delete(known, "")
	return known
}

// eventFiles are the files whose digests events give, but the source notebook and the journals of earlier runs. Bytes
// is -1 where an event does not give the size.
func (r *Run) eventFiles() []StreamData {
	var files fileList
	if q := r.Requested; q != nil {
		files.add(q.File, q.Digest)
	}
	if g := r.Granted; g != nil {
		files.add(g.File, g.Digest)
		if g.Signature != nil {
			files.add(g.Signature.File, g.Signature.Digest)
		}
		files.sealed(g.Signers)
	}
	if d := r.Denied; d != nil {
		files.add(d.File, d.Digest)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		files = append(files, s.Files()...)
		if p := s.Replayed; p != nil {
			files.stream(p.Stdout, p.Stderr)
		}
		if e := s.Eligibility; e != nil && e.Marker != nil {
			files.add(e.Marker.File, e.Marker.Digest)
		}
		files.sealed(s.agentFiles)
		if f := s.Finished; f != nil {
			files.add(f.Result, f.ResultDigest)
		}
	}
	if r.Diff != nil {
		files.add(r.Diff.Patch, r.Diff.PatchDigest)
		for _, a := range r.Diff.Artifacts {
			files.stream(a.StreamData)
		}
	}
	if r.Verification != nil && r.Verification.Judges != nil {
		for _, s := range r.Verification.Judges.Steps {
			files.stream(s.Stdout, s.Stderr, s.Outputs)
			files.displays(s.Displays)
			files.tests(s.Tests)
		}
	}
	if done := r.Completed; done != nil {
		files.sealed(done.Files)
		if b := done.Bundle; b != nil {
			files.stream(StreamData{b.File, b.Bytes, b.Digest})
		}
	}
	return files
}

// Files are what a step left in the record, but its result.json: Bytes is -1 where its events do not give the size.
func (s *StepRecord) Files() []StreamData {
	var files fileList
	if s.Patch != nil {
		files.add(s.Patch.Patch, s.Patch.Digest)
	}
	for _, scrap := range s.Scraps {
		files.add(scrap.File, scrap.Digest)
	}
	if f := s.Finished; f != nil {
		files.stream(f.Stdout, f.Stderr)
		files.displays(f.Displays)
		files.stream(f.Outputs)
		files.tests(f.Tests)
		if f.Reads != nil {
			files.add(f.Reads.File, f.Reads.Digest)
		}
	}
	return files
}

// fileList leaves out what has no file: a stream that stayed empty, a check that was skipped.
type fileList []StreamData

func (l *fileList) add(file string, digest Digest) { l.stream(StreamData{file, -1, digest}) }

func (l *fileList) sealed(files []SealedFile) {
	for _, f := range files {
		l.add(f.File, f.Digest)
	}
}

func (l *fileList) displays(displays []DisplayData) {
	for _, d := range displays {
		l.stream(StreamData{d.File, d.Bytes, d.Digest})
	}
}

func (l *fileList) tests(counts *TestCounts) {
	if counts != nil {
		l.stream(counts.Reports...)
	}
}

func (l *fileList) stream(streams ...StreamData) {
	for _, s := range streams {
		if s.File != "" {
			*l = append(*l, s)
		}
	}
}
