package runs

import (
	"path"
	"slices"
	"strings"
)

// isView reports whether a file is made from the journal and the other files, so that verification makes it again to
// compare it. SHA256SUMS and what comes after the run are checked by themselves.
func (r *Run) isView(name string) bool {
	switch name {
	case JournalFile, ReportFile, ReportPageFile, TestLogFile, SumsFile:
		return true
	}
	return isBeside(name) || slices.Contains(r.OutputFiles(), name)
}

// isPicture reports whether a file is the copy of a picture that the output notebook in the record shows.
func (r *Run) isPicture(name string) bool {
	assets := r.Started.Assets
	return assets != "" && strings.HasPrefix(name, path.Clean(strings.ReplaceAll(assets, `\`, "/"))+"/")
}

// Unnamed returns the digests of the files, of those that among picks, which no event of a run names and which are no
// views. A nil among picks all.
func (r *Record) Unnamed(run *Run, among func(name string) bool) ([]SealedFile, error) {
	held, done, err := r.held()
	if err != nil {
		return nil, err
	}
	defer done()
	named := run.Digests()
	var files []SealedFile
	err = held.walk(func(name string) error {
		_, found := named[name]
		if found || run.isView(name) || run.isPicture(name) || among != nil && !among(name) {
			return nil
		}
		digest, _, err := held.Digest(name)
		files = append(files, SealedFile{File: name, Digest: digest})
		return err
	}, nil)
	if err != nil {
		return nil, cannotRead(r.path, err)
	}
	return files, nil
}

// accounted finds files that no event accounts for: planted files, and files whose event was removed.
func (c *check) accounted() {
	run := c.v.Run
	if run.Completed == nil {
		return // the run is alive, or its record is not completed yet
	}
	known := run.Digests()
	contents := map[Digest]bool{}
	for _, digest := range known {
		contents[digest] = true
	}
	leaked := reports(run, CodeSecretLeaked)
	for _, extra := range c.extraFiles(known) {
		if slices.ContainsFunc(c.v.Findings, func(f Finding) bool { return f.Where == extra }) {
			continue
		}
		digest, _, err := c.record.Digest(extra)
		switch {
		case err != nil:
			c.v.find(extra, "cannot be read: %s", cause(err))
		case run.isPicture(extra) && contents[digest]:
		case extra == PatchFile && (run.Diff == nil || run.Diff.Patch == "") && digest == DigestOf(nil):
			// Every record has a patch, which is empty when nothing was compared.
		case leaked && digest == DigestOf([]byte(LeakNote)):
		case extra == TraceFile && run.Started.Views == 0:
			c.v.note("%s is only in SHA256SUMS: records of its version name it in no event", extra)
		default:
			c.v.find(extra, "is in the record, and no event accounts for it")
		}
	}
}

// extraFiles returns the files that no event names and that are no views.
func (c *check) extraFiles(known map[string]Digest) (extra []string) {
	err := c.record.walk(func(name string) error {
		if _, named := known[name]; !named && !c.v.Run.isView(name) {
			extra = append(extra, name)
		}
		return nil
	}, func(odd string) { c.v.find(odd, "is no file: a record holds files only") })
	if err != nil {
		c.v.find(c.record.path, "cannot be listed: %s", cause(err))
	}
	return extra
}
