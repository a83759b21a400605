package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	watching "markmill/engine/worktree/reads"
	"markmill/notebooks"
	"markmill/runs"
	"markmill/runs/outfile"
)

// keepAlways is the value of keep: that has a run which did not pass put its data into the checkout, too.
const keepAlways = "always"

// dataset is what a run has of the checkout's ignored files that data: names. A folder that the patterns name is
// mounted in the worktree: it shows the checkout's files, and what the run writes is beside its record. Where that
// cannot be done, the files are copied into the worktree.
type dataset struct {
	w        *workspace
	patterns []string
	always   bool                 // see keepAlways
	folders  []dataFolder         // that are mounted
	before   map[string]disk.Stat // the checkout's files that the patterns name, as the run began
	read     map[string]notebooks.StepID
	of       map[string][]string // of the folders in read: the names that count
	lists    func(step notebooks.StepID) listing.Lister
	made     []runs.DataRead // of what was read: who wrote it
	hashes   sync.WaitGroup
	slots    chan struct{} // so many files are hashed at once
	ended    chan struct{} // ends ahead
}

type dataFolder struct {
	path         string // in the worktree
	upper, files string // see runs.Record.DataLayer
	brought      map[string]disk.Stat
	watch        *watching.Watcher // nil: what is read is not seen
}

// dataPatterns are the patterns of data:, of the settings, the notebook and the command line. One that ends in no star
// is a file, or everything in a folder.
func (p *Plan) dataPatterns(e *Engine) (list []string, always bool) {
	front := p.notebook.Front
	for _, pattern := range slices.Concat(e.Config.Data, front.Data, p.request.Data) {
		pattern = strings.TrimPrefix(path.Clean(strings.TrimSuffix(pattern, "/")), "./")
		list = append(list, pattern)
		if !strings.HasSuffix(pattern, "*") {
			list = append(list, pattern+"/**")
		}
	}
	return list, front.DataKeep == keepAlways || front.DataKeep == "" && e.Config.DataKeep == keepAlways
}

// newDataset reads what data: names; nil if that is nothing, or the run works in the checkout itself.
func (w *workspace) newDataset() (*dataset, error) {
	patterns, always := w.plan.dataPatterns(w.eng)
	if len(patterns) == 0 || !w.plan.mountable() {
		return nil, nil
	}
	for _, p := range patterns {
		first, _, _ := strings.Cut(p, "/")
		if badPattern([]string{p}) != "" || path.IsAbs(p) || first == ".." || p == "." {
			return nil, dataError(p+" is no pattern of paths in the repository",
				`write it relative to the root, as "data/**"`)
		}
	}
	return &dataset{w: w, patterns: patterns, always: always, before: map[string]disk.Stat{}}, nil
}

func dataError(msg, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindProvider, Msg: "data: " + msg, Hint: hint}
}

// names reports whether data: names a file.
func (d *dataset) names(name string) bool {
	return d != nil && MatchesAny(d.patterns, name) && isData(name)
}

// isData reports whether a file may be put into the checkout. None is that a tool, a shell or an editor would run or
// obey: those of byproducts, and whatever has a name that begins with a dot.
func isData(name string) bool {
	return !isByproduct(name) && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
}

// prefixes are the folders that the patterns begin with, without those inside of others; whole reports whether some
// pattern begins with none.
func (d *dataset) prefixes() (list []string, whole bool) {
	var all []string
	for _, p := range d.patterns {
		fixed := []string{}
		for part := range strings.SplitSeq(p, "/") {
			if strings.ContainsAny(part, "*?[\\") {
				break
			}
			fixed = append(fixed, part)
		}
		if !strings.ContainsAny(p, "*?[\\") {
			fixed = fixed[:len(fixed)-1] // the file itself
		}
		// A name alone is a folder if a pattern for all in it follows, and the checkout has no file of that name.
		name := strings.TrimSuffix(p, "/**")
		at, err := os.Lstat(filepath.Join(d.w.plan.root(), filepath.FromSlash(name)))
		isFile := err == nil && at.Mode().IsRegular() && slices.Contains(d.patterns, name)
		if len(fixed) == 0 {
			whole = whole || !slices.Contains(d.patterns, p+"/**") || isFile
			continue
		}
		if isFile && name != p {
			continue
		}
		all = append(all, path.Join(fixed...))
	}
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		if !slices.ContainsFunc(list, func(up string) bool { return strings.HasPrefix(p, up+"/") }) {
			list = append(list, p)
		}
	}
	return list, whole
}

// othersData reports whether a path of the checkout may change while the run goes on: data: names it, or another run
// put it there.
func (r *run) othersData(name string) bool {
	d := r.ws.data
	if d != nil && (MatchesAny(d.patterns, name) || slices.ContainsFunc(d.patterns, func(p string) bool {
		return strings.HasPrefix(p, name+"/")
	})) {
		return true
	}
	by := r.eng.Store(r.plan.root()).Known(name)
	if by == nil || by.Run == "" {
		return false
	}
	return sameFile(r.plan.root(), name, disk.Stat{Size: by.Bytes, Mtime: by.Mtime, Inode: by.Inode})
}

// check looks at the folders that the patterns begin with: links and files in their place are errors.
func (d *dataset) check(root string) error {
	folders, _ := d.prefixes()
	for _, folder := range folders {
		for at := folder; at != "."; at = path.Dir(at) {
			info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(at)))
			switch {
			case err != nil:
			case info.Mode()&fs.ModeSymlink != 0:
				return dataError(at+" is a link, and data: follows none",
					"make it a folder, or mount what it leads to there")
			case !info.IsDir():
				return dataError(at+" is a file, and the pattern expects a folder", "")
			}
		}
	}
	return nil
}

// plan decides how the run gets the data: place, where there is one, mounts it. It returns the patterns of what is
// copied into the worktree.
func (d *dataset) plan(place *process.Place) (copied []string, err error) {
	if d == nil {
		return nil, nil
	}
	if err := d.check(d.w.plan.root()); err != nil {
		return nil, err
	}
	folders, whole := d.prefixes()
	if place != nil && d.probe(place) {
		for _, folder := range folders {
			upper, files, err := d.w.rec.record.DataLayer(folder)
			if err != nil {
				return nil, artifact(err)
			}
			d.folders = append(d.folders, dataFolder{path: folder, upper: upper, files: files,
				brought: map[string]disk.Stat{}})
		}
		if !whole {
			return nil, nil
		}
	}
	for _, p := range d.patterns {
		if d.folder(p) == nil {
			copied = append(copied, "/"+p)
		}
	}
	return copied, nil
}

// probe reports whether an overlay can keep what is written beside the record: the file system of the store may be
// unable to.
func (d *dataset) probe(place *process.Place) bool {
	upper, _, err := d.w.rec.record.DataLayer("probe")
	if err != nil {
		return false
	}
	to := filepath.Join(d.w.work.Deps, "probe")
	if os.Mkdir(to, 0o700) != nil {
		return false
	}
	_, err = place.Mount([]process.Mount{{From: to, To: to, Upper: upper, Kept: true}})
	return err == nil
}

// folder is the mounted folder in which a path is; nil if it is in none.
func (d *dataset) folder(name string) *dataFolder {
	if d != nil {
		for i := range d.folders {
			if strings.HasPrefix(name, d.folders[i].path+"/") {
				return &d.folders[i]
			}
		}
	}
	return nil
}

// mounts are the mounts of the folders, for which it makes folders in the worktree.
func (d *dataset) mounts() (list []process.Mount, err error) {
	if d == nil {
		return nil, nil
	}
	if err := d.check(d.w.tree.Dir()); err != nil {
		return nil, err
	}
	for _, f := range d.folders {
		to := filepath.Join(d.w.tree.Dir(), filepath.FromSlash(f.path))
		if err := os.MkdirAll(to, 0o777); err != nil {
			return nil, artifact(err)
		}
		m := process.Mount{From: to, To: to, Upper: f.upper, Kept: true}
		if at := filepath.Join(d.w.plan.root(), filepath.FromSlash(f.path)); disk.IsFolder(at) {
			m.From, m.Over = at, to
		}
		list = append(list, m)
	}
	return list, nil
}

// look notes what the checkout has of the data, before the first step.
func (d *dataset) look() error {
	if d == nil {
		return nil
	}
	folders, whole := d.prefixes()
	if whole {
		folders = []string{"."}
	}
	root, found := d.w.plan.root(), false
	for _, folder := range folders {
		at := filepath.Join(root, filepath.FromSlash(folder))
		err := filepath.WalkDir(at, func(file string, e fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			rel, _ := filepath.Rel(root, file)
			name := filepath.ToSlash(rel)
			if e.IsDir() {
				if file != at && (isByproduct(name+"/x") || strings.HasPrefix(e.Name(), ".")) {
					return fs.SkipDir
				}
				return nil
			}
			found = found || MatchesAny(d.patterns, name) && !d.w.tree.Ignores(name)
			if d.names(name) && d.w.tree.Ignores(name) {
				d.before[name], err = disk.StatAt(root, name)
			}
			return err
		})
		if err != nil {
			return dataError("the checkout's files cannot be looked at: "+err.Error(), "")
		}
	}
	if found && len(d.before) == 0 && !d.w.tree.Ignores(path.Join(folders[0], "x")) {
		return dataError(fmt.Sprintf("%s names files that Git tracks, or could, and none that it ignores",
			strings.Join(d.patterns, ", ")), "add them to .gitignore, or leave data: out")
	}
	return nil
}

// bring takes into the worktree what the run changed in mounted folders and Git does not ignore, so that captures
// find it. It returns how many files that Git ignores were written since it was called last.
func (d *dataset) bring() (ignored int, err error) {
	if d == nil {
		return 0, nil
	}
	tree := d.w.tree
	for _, f := range d.folders {
		err := runs.EachFile(f.files, func(rel string, _ fs.FileInfo) error {
			rel = filepath.ToSlash(rel)
			name := path.Join(f.path, rel)
			st, err := disk.StatAt(f.files, rel)
			if err != nil || f.brought[name] == st {
				return err
			}
			f.brought[name] = st
			switch {
			case tree.Ignores(name):
				ignored++
			case st.Mtime != d.before[name].Mtime:
				return tree.Bring(f.files, rel, name)
			}
			return nil
		})
		if err != nil {
			return ignored, err
		}
		for _, name := range tree.Captured(f.path) {
			if f.removed(name) {
				at := filepath.Join(tree.Dir(), filepath.FromSlash(name))
				if err := os.Remove(at); err != nil && !disk.Gone(err) {
					return ignored, err
				}
			}
		}
	}
	return ignored, nil
}

// removed reports whether the run removed a file that the folder showed: the overlay has a device in its place, or a
// folder above it was made anew.
func (f *dataFolder) removed(name string) bool {
	at, opaque := f.files, false
	parts := strings.Split(strings.TrimPrefix(name, f.path+"/"), "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return opaque
		case info.Mode()&fs.ModeCharDevice != 0:
			return true
		case i == len(parts)-1:
			return info.IsDir()
		case !info.IsDir():
			return true
		}
		opaque = opaque || disk.Opaque(at)
	}
	return false
}

// onlyOpened reports whether a file has the size and the time that the checkout's has: the run opened it for writing,
// or changed its mode, and wrote nothing.
func (d *dataset) onlyOpened(name string, info fs.FileInfo) bool {
	if d == nil {
		return false
	}
	was, had := d.before[name]
	return had && was.Size == info.Size() && was.Mtime == info.ModTime().UnixNano()
}

// written is a file that the run wrote and Git ignores.
type written struct {
	name  string
	from  string
	named bool
}

// ignoredWritten lists what the run wrote and Git ignores, and the data that it removed. With look the worktree is
// looked at again.
func (w *workspace) ignoredWritten(look bool) (list []written, removed []string, err error) {
	names, err := w.tree.IgnoredWritten(look)
	if err != nil {
		return nil, nil, err
	}
	kept := map[string]bool{} // in the record already
	for _, a := range w.tree.Artifacts() {
		kept[worktree.RawPath(a.Path)] = true
	}
	for _, name := range names {
		if kept[name] {
			continue
		}
		at := filepath.Join(w.tree.Dir(), filepath.FromSlash(name))
		info, err := os.Lstat(at)
		if err == nil && !isByproduct(name) && !w.data.onlyOpened(name, info) &&
			(info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
			list = append(list, written{name, at, w.data.names(name)})
		}
	}
	if w.data == nil {
		return list, nil, nil
	}
	for i := range w.data.folders {
		f := &w.data.folders[i]
		err := runs.EachFile(f.files, func(rel string, info fs.FileInfo) error {
			name := path.Join(f.path, filepath.ToSlash(rel))
			if w.tree.Ignores(name) && !isByproduct(name) && !w.data.onlyOpened(name, info) {
				list = append(list, written{name, filepath.Join(f.files, rel), w.data.names(name)})
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for name := range w.data.before {
		f := w.data.folder(name)
		gone := f != nil && f.removed(name)
		if f == nil {
			info, err := os.Lstat(filepath.Join(w.tree.Dir(), filepath.FromSlash(name)))
			gone = disk.Gone(err) || err == nil && info.IsDir()
		}
		if gone {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	slices.SortFunc(list, func(a, b written) int { return strings.Compare(a.name, b.name) })
	return list, removed, nil
}

// keepData moves what the run wrote and Git ignores beside its record, and what data: names of it into the checkout if
// the run passed. Nothing of the run is alive. cut says that the end of the run was not captured.
func (r *run) keepData(ctx context.Context, cut bool) error {
	w := r.ws
	if w.tree == nil || !r.plan.mountable() {
		return nil
	}
	list, removed, err := w.ignoredWritten(cut)
	w.data.stop()
	if err != nil {
		return w.keepTree(err)
	}
	record, data := r.rec.record, runs.DataWritten{Files: []runs.DataFile{}}
	if w.data != nil {
		data.Read = w.data.made
	}
	if len(list)+len(removed)+len(data.Read) == 0 {
		return record.DropLayers()
	}
	var left error
	for i, f := range list {
		if left = record.KeepData(f.from, worktree.ShownPath(f.name)); left != nil {
			list, left = list[:i], w.keepTree(left)
			break
		}
	}
	digests, err := digestsOf(record, list)
	if err != nil {
		return err
	}
	put, err := r.eng.newDataPut(r.plan.source, record, r.id, r.plan.request.Path)
	if err != nil {
		return err
	}
	for i, f := range list {
		one := digests[i]
		one.Path, one.Named, one.Left = worktree.ShownPath(f.name), f.named, put.never(f.name)
		if at := filepath.Join(record.DataDir(), filepath.FromSlash(one.Path)); one.Secret {
			one.Digest = ""
			if err := os.Chmod(at, 0o600); err != nil && !one.Link {
				return err
			}
			if f.named {
				r.rec.leak("", one.Path)
			}
		}
		data.Files = append(data.Files, one)
	}
	for _, name := range removed {
		data.Files = append(data.Files, runs.DataFile{Path: worktree.ShownPath(name), Named: true, Removed: true,
			Left: put.never(name)})
	}
	if left == nil {
		if err = record.DropLayers(); err == nil {
			err = r.publishData(ctx, put, &data)
		}
	}
	if err = errors.Join(left, err, r.rec.emit(runs.DataKept, "", &data)); err != nil {
		return err
	}
	return record.DropLayers()
}

// digestsOf reads the files that are kept, two at a time.
func digestsOf(record *runs.Record, list []written) ([]runs.DataFile, error) {
	digests, group := make([]runs.DataFile, len(list)), errgroup.Group{}
	group.SetLimit(2)
	for i, f := range list {
		group.Go(func() (err error) {
			at := filepath.Join(record.DataDir(), filepath.FromSlash(worktree.ShownPath(f.name)))
			digests[i], err = record.DigestData(at)
			return err
		})
	}
	return digests, group.Wait()
}

// keepTree keeps the worktree, in which files are that could not be moved beside the record.
func (w *workspace) keepTree(err error) error {
	w.keeps = true
	return fmt.Errorf("what the run wrote and Git ignores is still in %s, which is kept: %w", w.tree.Dir(), err)
}

// publishData puts what data: names into the checkout, and marks it.
func (r *run) publishData(ctx context.Context, put *dataPut, data *runs.DataWritten) error {
	passed := len(r.verdict.blockers) == 0 && !r.verdict.blocked && ctx.Err() == nil && r.whole.Err() == nil
	var named []*runs.DataFile
	for i := range data.Files {
		if f := &data.Files[i]; f.Named {
			named = append(named, f)
		}
	}
	if len(named) == 0 || r.plan.request.Aside || !passed && (!r.ws.data.always || r.verdict.leaks()) {
		return nil
	}
	put.before = r.ws.data.before
	if s := r.plan.request.Sweep; s != nil {
		put.sweep = s.ID
	}
	return put.store.Publishing(func() error {
		free := true
		for _, f := range named {
			why, hint := "", "the run's is kept in "+r.rec.record.DataDir()
			if f.Left != "" {
				why = f.Path + " is not put into the checkout: " + f.Left
			} else if why = put.conflict(*f); why != "" {
				hint = "the run's is kept: markmill apply --data --force " + string(r.id) +
					" puts it into the checkout"
			}
			if why != "" {
				free = false
				r.verdict.block(runs.Blocker{Code: runs.CodeDataConflict, Paths: []string{f.Path}, Message: why,
					Hint: hint})
			}
		}
		if !free {
			return nil
		}
		if err := r.rec.record.ListData(data); err != nil {
			return err
		}
		return put.all(named)
	})
}

// dataPut puts files that are kept beside a record into the checkout.
type dataPut struct {
	store    runs.Store
	root     string
	real     string          // root without links
	tracked  map[string]bool // by Git, in the checkout
	rules    outfile.Rules
	record   *runs.Record
	run      runs.RunID
	notebook string
	sweep    runs.SweepID
	before   map[string]disk.Stat // what the checkout had when the run began
	now      time.Time
}

// newDataPut reads what keeps a file out of the checkout of a source.
func (e *Engine) newDataPut(src *worktree.Source, record *runs.Record, run runs.RunID, notebook string) (*dataPut,
	error) {
	p := &dataPut{store: e.Store(src.Root()), root: src.Root(), real: disk.RealPath(src.Root()),
		tracked: map[string]bool{}, record: record, run: run, notebook: notebook,
		before: map[string]disk.Stat{}, now: e.Now()}
	around, err := checkoutAround(src.Root())
	p.rules.Checkout = func(string) (*outfile.Checkout, error) { return around, nil }
	return p, errors.Join(err, src.EachTracked(func(path []byte) bool { p.tracked[string(path)] = true; return true }))
}

// never says why a file is not put into the checkout, whoever wants it there; "" if it may be.
func (p *dataPut) never(name string) string {
	for at := name; at != "."; at = path.Dir(at) { // it may be in a submodule
		if p.tracked[at] {
			return "Git tracks " + at
		}
	}
	if !isData(name) {
		return "a tool or a shell may obey a file of that name"
	}
	if err := p.rules.Allows(name, p.real, filepath.Join(p.real, filepath.FromSlash(name))); err != nil {
		return err.Error()
	}
	return ""
}

// conflict says why a file may not be put into the checkout: somebody else changed it since the run began, or something
// else is in its place. "" if it may.
func (p *dataPut) conflict(f runs.DataFile) string {
	name := worktree.RawPath(f.Path)
	kept := filepath.Join(p.record.DataDir(), filepath.FromSlash(f.Path))
	if f.Link {
		target, err := os.Readlink(kept)
		if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
			return f.Path + " is a link that leads out of the checkout"
		}
	}
	now, err := disk.StatAt(p.root, name)
	was, had := p.before[name]
	switch {
	case err != nil && !had || f.Removed && disk.Gone(err):
		return ""
	case err != nil:
		return f.Path + " was removed from the checkout while the run went on"
	case now.Kind() == disk.KindDir:
		return f.Path + " is a folder in the checkout, and the run made a file"
	}
	by := p.store.Known(name)
	if by != nil && (by.Run == "" || by.Bytes != now.Size || by.Mtime != now.Mtime) {
		by = nil // somebody else changed it since
	}
	sibling := by != nil && p.sweep != "" && by.Sweep == p.sweep && by.Run != p.run
	if had && sameFile(p.root, name, was) && !sibling {
		return ""
	}
	if sum, err := p.store.DataDigest(p.root, name); err == nil && sum == string(f.Digest) {
		return ""
	}
	switch {
	case sibling:
		return fmt.Sprintf("%s was written by run %s of this sweep, too", f.Path, by.Run)
	case by != nil:
		return fmt.Sprintf("%s was written by run %s (%s), too, while this one went on", f.Path, by.Run, by.Notebook)
	case had:
		return f.Path + " changed in the checkout while the run went on"
	}
	return f.Path + " was made in the checkout while the run went on"
}

// AppliedData is what became of the files that are kept beside a record.
type AppliedData struct {
	Done   []string // paths of those that are in the checkout now
	Bytes  int64    // of them
	Differ []string // why none was put there
	Left   []string // those that never are, each with the reason
	Gone   []string // paths of those that are kept no more, and of which the checkout has no such file
}

// ApplyData moves the files that are kept beside a record into the checkout: all that may be there, or none where
// some differ from what the run found. before is called before the first file moves.
func (e *Engine) ApplyData(src *worktree.Source, run *runs.Run, record *runs.Record, force bool,
	before func(names []string) error) (done AppliedData, err error) {
	put, err := e.newDataPut(src, record, run.ID, run.Started.Notebook)
	if err != nil {
		return done, err
	}
	all, _ := run.Data.Split()
	var kept []runs.DataFile
	for _, f := range all {
		if record.Keeps(f.Path) {
			kept = append(kept, f)
			continue
		}
		sum, err := put.store.DataDigest(put.root, worktree.RawPath(f.Path))
		if err != nil || f.Digest != "" && sum != string(f.Digest) {
			done.Gone = append(done.Gone, f.Path)
		}
	}
	if len(kept) == 0 {
		return done, nil
	}
	return done, put.store.Publishing(func() error {
		var files []*runs.DataFile
		for i := range kept {
			f := &kept[i]
			name := worktree.RawPath(f.Path)
			if why := put.never(name); why != "" {
				done.Left = append(done.Left, f.Path+": "+why)
				continue
			}
			st, err := disk.StatAt(put.root, name)
			if err == nil && max(st.Mtime, st.Ctime) < run.StartedAt.UnixNano() {
				put.before[name] = st
			}
			if why := put.conflict(*f); why != "" && !force {
				done.Differ = append(done.Differ, why)
			}
			files = append(files, f)
		}
		if len(done.Differ) > 0 || len(files) == 0 {
			return nil
		}
		for _, f := range files {
			done.Done, done.Bytes = append(done.Done, f.Path), done.Bytes+f.Bytes
		}
		err := before(done.Done)
		if err == nil {
			err = put.all(files)
		}
		if err == nil {
			err = record.DropLayers()
		}
		return err
	})
}

// all puts files into the checkout and marks them: first those are removed that the run removed.
func (p *dataPut) all(files []*runs.DataFile) error {
	for _, removed := range []bool{true, false} {
		for _, f := range files {
			if f.Removed != removed {
				continue
			}
			if err := p.one(f); err != nil {
				return fmt.Errorf("%s cannot be put into the checkout, and is kept: %w", f.Path, err)
			}
			f.Published = true
		}
	}
	return nil
}

// one puts a file into the checkout, or removes it there. First it notes which run does, and of what file: a rename
// keeps that.
func (p *dataPut) one(f *runs.DataFile) error {
	name := worktree.RawPath(f.Path)
	if f.Removed {
		if err := os.Remove(filepath.Join(p.root, filepath.FromSlash(name))); !disk.Gone(err) {
			return err
		}
		return nil
	}
	st, err := disk.StatAt(p.record.DataDir(), f.Path)
	if err != nil {
		return err
	}
	known := runs.KnownFile{Path: f.Path, Bytes: st.Size, Mtime: st.Mtime, Inode: st.Inode, Digest: f.Digest,
		Run: p.run, Notebook: p.notebook, Sweep: p.sweep, Time: p.now}
	if err = p.store.Know(known); err != nil {
		return err
	}
	if err := outfile.Place(filepath.Join(p.record.DataDir(), filepath.FromSlash(f.Path)), p.root, name); err != nil {
		return err
	}
	if st, err = disk.StatAt(p.root, name); err != nil || st.Inode == known.Inode {
		return err
	}
	known.Mtime, known.Inode = st.Mtime, st.Inode // it was copied
	return p.store.Know(known)
}
