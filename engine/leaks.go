package engine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"markmill/runs"
)

// errLeaked says that a file of the record showed a secret: the verdict must be derived again.
var errLeaked = errors.New("a secret was written")

// withhold searches every file of the run directory and its name for secrets, whoever wrote it, and replaces a file
// that shows one.
func (c *recorder) withhold() (replaced []string, err error) {
	if c.plan.mask == nil {
		return nil, nil
	}
	root, err := os.OpenRoot(c.record.Path())
	if err != nil {
		return nil, artifact(err)
	}
	defer root.Close()
	err = filepath.WalkDir(c.record.Path(), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.record.Path(), name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if c.plan.mask.In([]byte(entry.Name())) || c.linksTo(name, entry) {
			c.leak("", "the name of a file or a link in "+path.Dir(rel)+" of the run directory")
			if err := root.RemoveAll(rel); err != nil || !entry.IsDir() {
				return err
			}
			return fs.SkipDir
		}
		// they were looked at before: what a bundle holds is compressed
		if !entry.Type().IsRegular() || rel == c.plan.sourceFile() || rel == runs.BundleFile {
			return nil
		}
		shows, err := c.shows(root, rel)
		if err != nil || !shows {
			return err
		}
		c.leak("", rel)
		if rel == runs.JournalFile {
			return nil // a chain cannot be mended; its texts were masked before they were linked
		}
		replaced = append(replaced, rel)
		return c.record.Write(rel, []byte(runs.LeakNote))
	})
	return replaced, artifact(err)
}

// linksTo reports whether the target of a symbolic link shows a secret.
func (c *recorder) linksTo(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := os.Readlink(name)
	return err == nil && c.plan.mask.In([]byte(target))
}

// shows reports whether a file shows a secret (runs.Writer.Shows).
func (c *recorder) shows(root *os.Root, rel string) (bool, error) {
	f, err := root.Open(rel)
	if err != nil {
		return false, err
	}
	defer f.Close()
	find := c.plan.mask.Find()
	if _, err := io.Copy(find, f); err != nil || !find.Found() {
		return false, err
	}
	b, err := root.ReadFile(rel)
	return err == nil && c.plan.writer().Shows(rel, b), err
}

// Shows reports whether a file of a run directory, or its name, shows a secret of the plan. It is for observers that
// send files away before the run has ended: a run itself searches its files at its end.
func (p *Plan) Shows(dir *os.Root, file string) (bool, error) {
	switch {
	case p.mask == nil:
		return false, nil
	case p.mask.In([]byte(file)):
		return true, nil
	}
	return (&recorder{plan: p}).shows(dir, file)
}
