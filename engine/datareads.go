package engine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	watching "markmill/engine/worktree/reads"
	"markmill/notebooks"
	"markmill/runs"
)

// watch begins to watch what steps read in mounted folders of data:. What the worktree has there is seen in no other
// way.
func (d *dataset) watch() {
	if d == nil {
		return
	}
	d.lists = d.w.plan.listers()
	d.read, d.of, d.slots = map[string]notebooks.StepID{}, map[string][]string{}, make(chan struct{}, 2)
	for i := range d.folders {
		f := &d.folders[i]
		if !d.w.tree.SeesReads() {
			return
		}
		root := d.w.place.Outside(filepath.Join(d.w.tree.Dir(), filepath.FromSlash(f.path)))
		var folders []string // before they are watched: this opens them
		_ = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(root, at); err == nil && e.IsDir() {
				folders = append(folders, strings.TrimPrefix(filepath.ToSlash(rel), "."))
			}
			return nil
		})
		var err error
		f.watch, err = watching.Watch(root, slices.Values(folders))
		if err != nil {
			f.watch = nil
			d.w.tree.LoseReads("what steps read of " + f.path + " is not seen here: " + err.Error())
			return
		}
	}
	if len(d.folders) > 0 {
		d.ahead()
	}
}

// ahead makes digests of large files while the step that opened them goes on, until the watching ends.
func (d *dataset) ahead() {
	const often = 100 * time.Millisecond
	ended, begun := make(chan struct{}), map[string]bool{}
	d.ended = ended
	d.hashes.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(often):
			}
			for _, f := range d.folders {
				f.watch.Peek(func(name string) {
					name = path.Join(f.path, name)
					if was, data := d.before[name]; data && was.Size > aheadFrom && !begun[name] {
						begun[name] = true
						d.hash(name)
					}
				})
			}
		}
	})
}

// aheadFrom is the size from which a file is hashed before the step that opened it has ended.
const aheadFrom = 16 << 20

// take attributes to a step what was opened in mounted folders since the last capture.
func (d *dataset) take(step notebooks.StepID) {
	if d == nil {
		return
	}
	for _, f := range d.folders {
		if f.watch == nil {
			continue
		}
		opened, lost := f.watch.Take()
		if lost {
			d.w.tree.LoseReads("files of " + f.path + " were opened faster than they could be seen")
		}
		files := map[string]bool{}
		for name := range opened {
			if !strings.HasPrefix(name, "/") {
				files[path.Join(f.path, name)] = true
			}
		}
		for name := range opened {
			folder := strings.HasPrefix(name, "/")
			name = path.Join(f.path, strings.Trim(name, "/"))
			if folder {
				of := d.lists(step).Names(name, files)
				name += "/"
				if _, known := d.read[name]; known {
					of = listing.Union(d.of[name], of)
				}
				d.of[name] = of
			}
			if _, data := d.before[name]; !folder && !data {
				d.w.tree.CountRead(name) // Git tracks it, or nothing was there
				continue
			}
			if _, known := d.read[name]; !known {
				d.read[name] = step
				if !folder {
					d.hash(name)
				}
			}
		}
	}
}

// hash begins to make the digest of a file of the checkout, while the run goes on.
func (d *dataset) hash(name string) {
	d.hashes.Go(func() {
		d.slots <- struct{}{}
		_, _ = d.w.store().DataDigest(d.w.plan.root(), name) // it is known then
		<-d.slots
	})
}

func (w *workspace) store() runs.Store { return w.eng.Store(w.plan.root()) }

// settle waits for the digests.
func (d *dataset) settle() {
	if d.ended != nil {
		close(d.ended)
		d.ended = nil
	}
	d.hashes.Wait()
}

// stop ends the watching.
func (d *dataset) stop() {
	if d == nil {
		return
	}
	d.settle()
	for i := range d.folders {
		if d.folders[i].watch != nil {
			_ = d.folders[i].watch.Close()
			d.folders[i].watch = nil
		}
	}
}

// inputs are what the run read of the data, and had not written. Those of in that were copied are among them.
func (d *dataset) inputs(in *notebooks.Inputs) error {
	if d == nil {
		return nil
	}
	list, removed, err := d.w.ignoredWritten(false)
	if err != nil {
		return err
	}
	wrote := map[string]bool{}
	for _, f := range list {
		wrote[f.name] = true
	}
	for _, name := range removed {
		wrote[name] = true
	}
	in.Read = slices.DeleteFunc(in.Read, func(one notebooks.Input) bool {
		is := one.Ignored && d.names(one.Path)
		if is {
			d.read[one.Path] = one.Step
		}
		return is
	})
	d.settle()
	store, root := d.w.store(), d.w.plan.root()
	for name, step := range d.read {
		if wrote[name] {
			continue
		}
		one, by, err := lookUpData(store, root, name, d.of[name], wrote)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(name, "/") && !sameFile(root, name, d.before[name]) {
			in.Unknown = name + " changed while the run went on"
		}
		if by != nil {
			d.made = append(d.made, runs.DataRead{Path: name, Bytes: by.Bytes, Digest: by.Digest, Run: by.Run,
				Notebook: by.Notebook, Time: by.Time})
		}
		if one.Step = step; one.Digest+one.Names != "" {
			in.Data = append(in.Data, one)
		}
	}
	slices.SortFunc(in.Data, func(a, b notebooks.DataInput) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(d.made, func(a, b runs.DataRead) int { return strings.Compare(a.Path, b.Path) })
	if len(in.Data) > notebooks.MaxInputs*notebooks.MaxInputs {
		in.Unknown, in.Data = "more files of data: were read than a run lists", nil
	}
	return nil
}

func sameFile(root, name string, was disk.Stat) bool {
	now, err := disk.StatAt(root, name)
	return err == nil && now.Size == was.Size && now.Mtime == was.Mtime && now.Inode == was.Inode
}

// dataNames is the digest of the names of files in a folder of data: that count, without those that a run wrote; ""
// where there is no such folder.
func dataNames(root, folder string, of []string, without map[string]bool) string {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(folder)))
	if err != nil {
		return ""
	}
	var names strings.Builder
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !isByproduct(name) && !without[name] &&
			listing.Match(of, e.Name()) {
			names.WriteString(e.Name() + "\n")
		}
	}
	return string(runs.DigestOf([]byte(names.String())))
}

// LookUpData says what a data input of a run is now, and which notebook made it; no digest where it is gone. wrote are
// the files that the run wrote.
func LookUpData(store runs.Store, root string, in notebooks.DataInput, wrote map[string]bool) (now notebooks.DataInput,
	err error) {
	if !filepath.IsLocal(filepath.FromSlash(in.Path)) { // a manifest may name anything
		return notebooks.DataInput{Path: in.Path}, nil
	}
	now, _, err = lookUpData(store, root, in.Path, in.Of, wrote)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return now, err
}

// lookUpData says what a file of data: is, and who made it, or which names a folder has: its path ends in a slash.
func lookUpData(store runs.Store, root, name string, of []string, wrote map[string]bool) (now notebooks.DataInput,
	by *runs.KnownFile, err error) {
	now = notebooks.DataInput{Path: name, Of: of}
	if strings.HasSuffix(name, "/") {
		now.Names = dataNames(root, name, of, wrote)
		return now, nil, nil
	}
	if now.Digest, err = store.DataDigest(root, name); err != nil {
		return now, nil, err
	}
	if by = store.Known(name); by == nil || by.Run == "" || string(by.Digest) != now.Digest {
		return now, nil, nil
	}
	now.Maker = by.Notebook
	return now, by, nil
}
