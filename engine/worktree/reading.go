package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/listing"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/reads"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
)

// reading is what the run read of the base tree so far.
type reading struct {
	unknown   string          // why it is not known; nothing else is set then
	watch     *reads.Watcher  // nil where unknown
	watches   map[string]bool // the folders that are watched: whether they are of the base
	pending   map[string]bool
	walked    map[string]bool     // what by its access time was read at any time, and may have changed
	doubted   map[string]bool     // what the last walk read because its times prove nothing
	carried   map[string]bool     // what the carried step that is captured next had read; nil for one that runs
	carriedOf map[string][]string // of the folders that it was the first to list: which names count
	partly    bool                // of that step only what it was the first to read is known
	replays   map[string]bool     // what carried steps read that ran again: the next one that runs depends on it
	replaysOf map[string][]string // of the folders in replays: which names count
	whole     bool                // the whole tree counts as read
	lost      bool                // events were lost

	wholeNoted bool // a step has it among what it read
	wholeBy    notebooks.StepID

	tracked *notebooks.StepID  // the first step that opened Git's index, which lists all tracked names
	history *notebooks.History // the first step that read objects or refs

	files        map[string]notebooks.StepID // by path; the step that read it first
	folders      map[string]listed           // by path, the root "."
	ignored      map[string]object.Digest    // of the files that Git ignores
	dependencies map[string]repo.Dependency  // those that were copied, by folder
	depended     map[string]repo.Dependency  // those that count as read
}

// listed is a folder that was listed.
type listed struct {
	step notebooks.StepID // the first that did
	of   []string         // which names count, as in notebooks.Input
}

const inPlace = "the run worked in the folder itself"

// watchReads begins to watch what is read, after everything is in place.
func (t *Tree) watchReads() {
	r := &reading{watches: map[string]bool{}, pending: map[string]bool{}, walked: map[string]bool{},
		replays: map[string]bool{}, replaysOf: map[string][]string{},
		files:   map[string]notebooks.StepID{},
		folders: map[string]listed{}, ignored: map[string]object.Digest{},
		dependencies: map[string]repo.Dependency{}, depended: map[string]repo.Dependency{}}
	t.reading, r.whole = r, t.opt.IndexTimes
	if r.unknown = t.opt.ReadsOff; r.unknown != "" {
		return
	}
	if t.inUse || t.src == nil {
		r.unknown = inPlace
		return
	}
	t.findDependencies()
	var err error
	if r.watch, err = reads.Watch(t.dir, t.watched); err == nil {
		err = t.probeReads()
	}
	if err != nil {
		r.unknown = "what steps read is not seen here: " + err.Error()
		t.closeReads()
	}
}

// watched yields the folders to watch: the Git directory, and those of the base.
func (t *Tree) watched(yield func(string) bool) {
	if !yield("") || !yield(".git") || !yield(".git/objects/info") {
		return
	}
	var below func(n *snapshot.Node, prefix string) bool
	below = func(n *snapshot.Node, prefix string) bool {
		for _, d := range n.Dirs {
			t.reading.watches[prefix+d.Name] = true
			if !yield(prefix+d.Name) || !below(d, prefix+d.Name+"/") {
				return false
			}
		}
		return true
	}
	below(t.root, "")
	for _, m := range t.modules {
		m.tree.watchedBelow(m.path, yield)
	}
}

// watchedBelow yields the folders of a submodule, and of those in it.
func (t *Tree) watchedBelow(at string, yield func(string) bool) {
	if !yield(strings.TrimSuffix(at, "/")) {
		return
	}
	seen := map[string]bool{}
	for prefix := range t.root.Entries() {
		if prefix != "" && !seen[prefix] {
			seen[prefix] = true
			yield(at + strings.TrimSuffix(prefix, "/"))
		}
	}
	for _, m := range t.modules {
		m.tree.watchedBelow(at+m.path, yield)
	}
}

// watchNew watches the folders that the step made, and returns them: what was opened in them so far was not seen.
func (t *Tree) watchNew() (unseen []string) {
	if !t.SeesReads() {
		return nil
	}
	r := t.reading
	for p := range t.step {
		for at := path.Dir(p); at != "." && t.root.Find(p) != nil; at = path.Dir(at) {
			if _, watched := r.watches[at]; watched {
				break
			}
			if err := r.watch.Add(at); err != nil && !disk.Gone(err) {
				t.LoseReads("what steps read is not seen any more: " + err.Error())
				return nil
			}
			r.watches[at] = false
			unseen = append(unseen, quote.Escaped(at))
		}
	}
	return unseen
}

// probeReads makes sure that a read shows, in the access time and as an event.
func (t *Tree) probeReads() error {
	const name = "markmill-probe"
	f, err := disk.Open(filepath.Join(t.dir, ".git"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Create(name, []byte{0}, 0o600, 0); err != nil { // a full disk leaves it empty
		return errors.Join(err, f.Remove(name))
	}
	file, err := os.Open(filepath.Join(f.Path, name))
	if err != nil {
		return err
	}
	_, err = io.ReadAll(file)
	_, read, statErr := f.LstatRead(name)
	if err := errors.Join(err, statErr, file.Close(), f.Remove(name)); err != nil {
		return err
	}
	opened, lost := t.reading.watch.Take()
	switch {
	case !read:
		return errors.New("the file system keeps no access times (noatime)")
	case lost || !opened[".git/"+name]:
		return errors.New("inotify does not tell what is opened")
	}
	return nil
}

// markAll marks as not read what was copied into the worktree.
func (t *Tree) markAll() error {
	f, err := disk.Open(t.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return markFolder(f)
}

func markFolder(f *disk.Folder) error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		st, read, err := f.LstatRead(name)
		if err == nil && st.Kind() == disk.KindDir {
			var sub *disk.Folder
			if sub, err = f.Sub(name); err == nil {
				err = markFolder(sub)
				sub.Close()
			}
		} else if err == nil && read {
			err = f.Mark(name)
		}
		if err != nil {
			return err
		}
	}
	if _, read, err := f.StatRead(); err != nil || !read {
		return err
	}
	return f.Mark(".")
}

func (t *Tree) closeReads() {
	if r := t.reading; r != nil && r.watch != nil {
		_ = r.watch.Close() // nothing is written to it
		r.watch = nil
	}
}

// gather takes what was opened up to now. Call it before the engine itself opens what steps may have opened.
func (t *Tree) gather() { t.takeReads(func(string) bool { return true }) }

// forget takes what was opened since gather and drops what the engine opened itself: all folders, the rules, what
// changed, and what the last walk read because its times prove nothing.
func (t *Tree) forget() {
	t.takeReads(func(p string) bool {
		if name := path.Base(p); strings.HasPrefix(p, "/") || strings.HasPrefix(p, ".git/") ||
			name == ".gitignore" || name == ".gitattributes" {
			return false
		}
		_, changed := t.step[p]
		return !changed && !t.reading.doubted[p]
	})
}

func (t *Tree) takeReads(keep func(path string) bool) {
	r := t.reading
	if r == nil || r.watch == nil {
		return
	}
	opened, lost := r.watch.Take()
	r.whole, r.lost = r.whole || lost, r.lost || lost
	for p := range opened {
		if folder, removed := strings.CutSuffix(p, "/"+reads.Removed); removed && strings.HasPrefix(folder, ".git/") {
			r.pending[".git/"+reads.Removed] = true
		} else if removed && folder != ".git" {
			delete(r.watches, folder)
		} else if sub := t.moduleOf(p); sub != "" {
			r.pending[sub] = r.pending[sub] || keep(p)
		} else if keep(p) {
			r.pending[p] = true
		}
	}
}

// walkedReads notes what a walk found by access times.
func (t *Tree) walkedReads(found map[string]bool) {
	for p := range found {
		if strings.HasSuffix(p, "/") {
			p = "/" + strings.TrimPrefix(p, "/")
		}
		t.reading.walked[p] = true
	}
}

// Reads is what a step read first: what no step before it read, of the base tree.
type Reads []notebooks.Input

// Opened is what a step opened of the base and of what the run made, also what an earlier step read. A file that is
// opened to be written is in it, too.
type Opened map[string]bool

// Split returns the files and the folders, with paths as in a Change; the root is ".".
func (o Opened) Split() (files, folders map[string]bool) {
	files, folders = map[string]bool{}, map[string]bool{}
	for p := range o {
		if strings.HasPrefix(p, "/") {
			folders[quote.Escaped(cmp.Or(strings.Trim(p, "/"), "."))] = true
		} else {
			files[quote.Escaped(p)] = true
		}
	}
	return files, folders
}

// Again returns what was opened and is not among Reads, sorted.
func (c *Change) Again() []notebooks.Input {
	files, folders := c.Opened.Split()
	for _, in := range c.Reads {
		if in.Blob != "" {
			delete(files, in.Path)
		} else {
			delete(folders, in.Path)
		}
	}
	var out []notebooks.Input
	for p := range files {
		out = append(out, notebooks.Input{Path: p, Again: notebooks.AgainFile})
	}
	for p := range folders {
		out = append(out, notebooks.Input{Path: p, Again: notebooks.AgainFolder})
	}
	slices.SortFunc(out, func(a, b notebooks.Input) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// known reports whether a step is known to have read a path, which is that of a folder between slashes.
func (r *reading) known(p string) bool {
	if folder, ok := strings.CutPrefix(p, "/"); ok {
		_, known := r.folders[cmp.Or(strings.TrimSuffix(folder, "/"), ".")]
		return known
	}
	_, known := r.files[p]
	return known
}

// opened returns what is pending of the base and of what the run made, without what Git ignores.
func (t *Tree) opened() Opened {
	opened := Opened{}
	for p := range t.reading.pending {
		if strings.HasPrefix(p, "/") {
			at := strings.Trim(p, "/")
			if _, watched := t.reading.watches[at]; watched || at == "" || at == "." {
				opened[p] = true
			}
			continue
		}
		e := t.root.Find(p)
		if _, changed := t.total[p]; (changed || e != nil && e.Mode != 0) && !t.isOwn(p) {
			opened[p] = true
		}
	}
	return opened
}

// SeesReads reports whether what steps read is known.
func (t *Tree) SeesReads() bool { return t.reading != nil && t.reading.unknown == "" }

// CountRead counts a path as read by the step that goes on. Nothing may be there.
func (t *Tree) CountRead(path string) {
	if t.SeesReads() {
		t.reading.pending[path] = true
	}
}

// LoseReads says why what was read is not known any more.
func (t *Tree) LoseReads(why string) {
	if t.SeesReads() {
		t.reading.unknown = why
		t.closeReads()
	}
}

// stepReads attributes to a step what was read since the last capture, and returns what is new, and all of it.
func (t *Tree) stepReads(step notebooks.StepID) (Reads, Opened, error) {
	if !t.SeesReads() {
		return nil, nil, nil
	}
	r := t.reading
	for p := range r.walked {
		if _, changed := t.total[p]; changed {
			continue // the engine itself reads what has changed: that a step did, only inotify tells
		}
		folder, listed := strings.CutPrefix(strings.TrimSuffix(p, "/"), "/")
		if base := r.watches[folder]; !r.known(p) && (!listed || base || folder == "") {
			r.pending[p] = true
		}
		delete(r.walked, p)
	}
	carried := r.carried != nil
	of := r.namesOf(t.lister(step))
	if carried {
		for folder := range folders(r.pending) {
			r.replaysOf[folder] = of(folder)
		}
		maps.Copy(r.replays, r.pending)
		r.pending, r.carried = r.carried, nil
		of = func(folder string) []string {
			if of, first := r.carriedOf[folder]; first {
				return of
			}
			return r.folders[folder].of
		}
	}
	opened := t.opened()                              // without what steps before it opened again
	if !carried && step != "" && len(r.replays) > 0 { // at the end of the run no step runs that depends on them
		own, ofOwn, again := folders(r.pending), of, maps.Clone(r.replaysOf)
		maps.Copy(r.pending, r.replays)
		clear(r.replays)
		clear(r.replaysOf)
		of = func(folder string) []string {
			names, replayed := again[folder]
			switch {
			case !replayed:
				return ofOwn(folder)
			case !own[folder]:
				return names
			}
			return listing.Union(ofOwn(folder), names)
		}
	}
	if r.lost || carried && r.partly {
		opened = nil
	}
	maps.Copy(r.pending, r.walked)
	clear(r.walked)
	out, err := t.firstReads(step, of)
	return out, opened, err
}

// lister is what lists folders in a step.
func (t *Tree) lister(step notebooks.StepID) listing.Lister {
	if t.opt.Lister == nil {
		return listing.Every()
	}
	return t.opt.Lister(step)
}

// namesOf returns which names count of a folder, as the step tells that listed it.
func (r *reading) namesOf(l listing.Lister) func(folder string) []string {
	opened := map[string]bool{}
	for p := range r.pending {
		if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, ".git/") {
			opened[p] = true
		}
	}
	return func(folder string) []string { return l.Names(folder, opened) }
}

// folders are the folders among what was opened, the root as ".".
func folders(opened map[string]bool) map[string]bool {
	out := map[string]bool{}
	for p := range opened {
		if strings.HasPrefix(p, "/") {
			out[cmp.Or(strings.Trim(p, "/"), ".")] = true
		}
	}
	return out
}

// firstReads takes what is pending, and returns what no step before this one read of the base tree. of says which names
// of a folder count that was listed.
func (t *Tree) firstReads(step notebooks.StepID, of func(folder string) []string) (Reads, error) {
	r := t.reading
	t.dependReads()
	base, err := t.BaseView()
	if err != nil {
		return nil, err
	}
	var out Reads
	ignored := len(r.ignored)
	for _, p := range slices.Sorted(maps.Keys(r.pending)) {
		switch {
		case strings.HasPrefix(p, "/"):
			p = strings.Trim(p, "/")
			if p == "" {
				p = "."
			}
			if p == ".git" {
				continue
			}
			was, known := r.folders[p]
			now := listed{step, of(p)}
			if known {
				now = listed{was.step, listing.Union(was.of, now.of)}
				if slices.Equal(was.of, now.of) {
					continue
				}
			}
			names, err := base.Names(quote.Escaped(p), now.of)
			if err != nil {
				return nil, err
			}
			if names == "" {
				continue // the base does not have it
			}
			r.folders[p] = now
			out = append(out, notebooks.Input{Path: quote.Escaped(p), Names: names, Of: now.of, Step: step})
		case strings.HasPrefix(p, ".git/"):
			switch strings.TrimPrefix(p, ".git/") {
			case "index":
				if r.tracked == nil {
					r.tracked = &step
					in, err := t.trackedInput()
					if err != nil {
						return nil, err
					}
					out = append(out, in)
				}
			case "packed-refs", "objects/info/alternates":
				if t.opt.Judges != nil && t.opt.Judges(step) {
					r.whole = true // objects have every content, and no proof is as of another commit
				} else if r.history == nil {
					r.history = &notebooks.History{Commit: string(t.Base()), Step: step}
					out = append(out, notebooks.Input{Path: notebooks.HistoryPath, Blob: string(t.Base()), Step: step})
				}
			case reads.Removed:
				r.whole = true
			}
		default:
			in, ok, err := t.readFile(p, step)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, in)
			}
		}
	}
	for p, was := range t.step { // what the step changed depends on what was there
		if _, known := r.files[p]; !known && was.Mode != 0 && t.total[p].Mode != 0 {
			in, ok, err := t.readFile(p, step)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, in)
			}
		}
	}
	r.pending = map[string]bool{}
	if len(r.ignored) > ignored { // readFile has opened them, and the folders above
		t.forget()
	}
	if r.whole && !r.wholeNoted {
		r.wholeNoted, r.wholeBy = true, step
		tree, err := base.Below(".", nil)
		if err != nil {
			return nil, err
		}
		out = append(out, notebooks.Input{Path: ".", Tree: tree, Step: step})
	}
	slices.SortFunc(out, func(a, b notebooks.Input) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// trackedInput is the input that Git's index is: all names, and no content.
func (t *Tree) trackedInput() (notebooks.Input, error) {
	base, err := t.BaseView()
	if err != nil {
		return notebooks.Input{}, err
	}
	in := notebooks.Input{Path: ".", Of: []string{listing.Tracked}, Step: *t.reading.tracked}
	in.Names, err = base.Names(in.Path, in.Of)
	return in, err
}

// readFile notes that a step read a file, if that is one of the base, or one that Git ignores and that the run began
// with.
func (t *Tree) readFile(p string, step notebooks.StepID) (in notebooks.Input, ok bool, err error) {
	r := t.reading
	if _, known := r.files[p]; known {
		return in, false, nil
	}
	was, changed := t.total[p]
	if !changed {
		e := t.root.Find(p)
		if e == nil {
			return in, false, nil
		}
		was = *e
	}
	if was.Mode == disk.ModeGitlink && t.moduleOf(p+"/") == "" {
		return in, false, nil
	}
	in = notebooks.Input{Path: quote.Escaped(p), Blob: string(t.fmt.OID(was.OID)), Step: step}
	if was.Mode == 0 {
		if !was.Ignored || t.ignored[p] {
			return in, false, nil
		}
		f, name, err := disk.Reach(t.dir, p)
		if err != nil {
			return in, false, err
		}
		defer f.Close()
		var digest object.Digest
		if was.Stat.Kind() == disk.KindLink {
			var target string
			target, err = f.Readlink(name)
			digest = t.fmt.Sum("blob", []byte(target))
		} else if file, operr := f.File(name); operr != nil {
			err = operr
		} else {
			digest, err = t.fmt.SumStream(file, was.Stat.Size, io.Discard)
			file.Close()
		}
		if err != nil {
			return in, false, err
		}
		r.files[p], r.ignored[p] = step, digest
		return t.ignoredInput(p), true, nil
	}
	if mode := fmt.Sprintf("%06o", was.Mode); mode != in.BlobMode() {
		in.Mode = mode
	}
	base, err := t.BaseView()
	if err != nil {
		return in, false, err
	}
	if output, err := base.OfOutput(in.Path); err != nil || output {
		return in, false, err
	}
	if in.Attributes, err = base.Attributes(in.Path); err != nil {
		return in, false, err
	}
	r.files[p] = step
	return in, true, nil
}

// ignoredInput is the input that an ignored file is.
func (t *Tree) ignoredInput(p string) notebooks.Input {
	return notebooks.Input{Path: quote.Escaped(p), Blob: string(t.fmt.OID(t.reading.ignored[p])), Ignored: true,
		Step: t.reading.files[p]}
}

// CarryReads says what the carried step that is captured next had read in an earlier run; with all, that is not only
// what it was the first to read.
func (t *Tree) CarryReads(list Reads, all bool) {
	if !t.SeesReads() {
		return
	}
	r := t.reading
	r.carried, r.carriedOf, r.partly = map[string]bool{}, map[string][]string{}, !all
	for _, in := range list {
		p := quote.Raw(in.Path)
		switch {
		case in.Tree != "":
			r.whole = true
		case slices.Contains(in.Of, listing.Tracked):
			r.carried[".git/index"] = true
		case in.Path == notebooks.HistoryPath:
			r.carried[".git/packed-refs"] = true
		case in.Names != "":
			r.carried["/"+p], r.carriedOf[p] = true, in.Of
		case in.Again == notebooks.AgainFolder:
			r.carried["/"+p] = true
		default:
			r.carried[p] = true
		}
	}
}

// BaseView is the tree that the run began with, without its own output.
func (t *Tree) BaseView() (*repo.View, error) {
	if t.baseOf == nil {
		view, err := t.src.TreeFiles(t.baseTree, t.object).View().Without(t.opt.Own, nil)
		if err != nil {
			return nil, err
		}
		t.baseOf = view
	}
	return t.baseOf, nil
}

// Inputs returns what the run read of the base tree, in at most notebooks.MaxInputs entries.
func (t *Tree) Inputs() (*notebooks.Inputs, error) {
	in := &notebooks.Inputs{Rules: notebooks.InputRules, Except: t.opt.Own}
	r := t.reading
	switch {
	case r == nil:
		return &notebooks.Inputs{Unknown: inPlace}, nil
	case r.unknown != "":
		return &notebooks.Inputs{Unknown: r.unknown}, nil
	}
	for _, dir := range slices.Sorted(maps.Keys(r.depended)) {
		in.Dependencies = append(in.Dependencies, notebooks.Dependency{Path: quote.Escaped(dir),
			Digest: r.depended[dir].Digest()})
	}
	view, err := t.BaseView()
	if err != nil {
		return nil, err
	}
	c := newCollapse(t.root)
	for p, l := range r.folders {
		c.listed(p, l.step, l.of)
	}
	if r.whole {
		c.whole(r.wholeBy)
	}
	for p, step := range r.files {
		if _, ignored := r.ignored[p]; ignored {
			in.Read = append(in.Read, t.ignoredInput(p))
			continue
		}
		c.file(p, step)
	}
	if len(in.Read) > notebooks.MaxInputs/2 {
		return &notebooks.Inputs{Unknown: fmt.Sprintf("%d files that Git ignores were read", len(in.Read))}, nil
	}
	for _, e := range c.entries(notebooks.MaxInputs - len(in.Read)) {
		one := notebooks.Input{Path: quote.Escaped(e.path), Step: e.step}
		switch {
		case e.file:
			var mode string
			if one.Blob, mode, err = view.Entry(one.Path); mode != one.BlobMode() {
				one.Mode = mode
			}
		case e.tree:
			one.Of = e.of
			one.Tree, err = view.Below(one.Path, e.of)
		default:
			one.Of = e.of
			one.Names, err = view.Names(one.Path, e.of)
		}
		if err == nil && one.Blob+one.Tree != "" {
			one.Attributes, err = view.Attributes(one.Path)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case one.Blob+one.Tree+one.Names != "":
			in.Read = append(in.Read, one)
		case !t.isOwn(e.path):
			return &notebooks.Inputs{Unknown: one.Path +
				" was read, and is not in the tree that the run began with"}, nil
		}
	}
	if r.tracked != nil {
		one, err := t.trackedInput()
		if err != nil {
			return nil, err
		}
		in.Read = append(in.Read, one)
	}
	in.History = r.history
	slices.SortStableFunc(in.Read, func(a, b notebooks.Input) int { return strings.Compare(a.Path, b.Path) })
	in.Looked, err = view.Looked(in.Read)
	return in, err
}

// isOwn reports whether a path is the output of the run, or a folder that holds nothing else.
func (t *Tree) isOwn(p string) bool {
	return slices.ContainsFunc(t.opt.Own, func(own string) bool {
		return p == own || strings.HasPrefix(p, own+"/") || strings.HasPrefix(own, p+"/")
	})
}
