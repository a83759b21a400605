package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/pool"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// checkout writes the base into the empty worktree and records the stat of each file. It returns the paths that only
// the Git program can write (filters, ident, encodings).
func (t *Tree) checkout(ctx context.Context) (external []string, err error) {
	f, err := disk.Open(t.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &checkout{t: t, w: snapshot.New(t.fine), past: t.past, converted: map[string]bool{}}
	// Git reads each file that is no older than the index, in whole seconds, to see whether it changed. All have one
	// time, and the index, too (see make): how many a step reads with git status does not depend on the moment.
	c.stamp = time.Now().UnixNano()
	t.made = time.Unix(0, c.stamp)
	files := 0
	for range t.root.Entries() {
		files++
	}
	if t.src != nil && t.opt.IndexTimes {
		if index, err := snapshot.OpenIndex(filepath.Join(t.src.GitDir(), "index"), t.fmt); err == nil {
			index.Times(t.root) // without it they have the time at which they are made
		}
	}
	var had *snapshot.Node
	if t.past != nil {
		had, t.past = t.past.Root, nil
	}
	if t.src != nil && files >= parallelFrom {
		c.spare = make(chan reader, 1)
		c.spare <- t.reader()
	}
	err = c.folder(ctx, t.reader(), t.root, had, f, "", nil)
	if err == nil && len(c.external) == 0 && files >= t.poolFrom() {
		t.notePristine(c.converted)
	}
	return c.external, err
}

// parallelFrom is the number of files from which a second goroutine is worth its own reader.
const parallelFrom = 1000

// reader gets a blob of the source, which is valid until the next one. Each goroutine has its own.
type reader func(object.Digest) ([]byte, error)

func (t *Tree) reader() reader {
	if t.src == nil {
		return func(d object.Digest) ([]byte, error) { return nil, errNoObject(t.fmt, "blob", d) }
	}
	own := t.src.Reader()
	return func(d object.Digest) ([]byte, error) {
		if data, ok := own.Get("blob", d); ok {
			return data, nil
		}
		return t.src.Read("blob", d)
	}
}

type checkout struct {
	t        *Tree
	w        *snapshot.Walk
	spare    chan reader // of the second goroutine, while it is free
	mu       sync.Mutex
	external []string

	stamp     int64           // the time of files that have no other, in nanoseconds since 1970
	past      *pool.Tree      // of a worktree from the pool: what is proven there
	converted map[string]bool // files whose bytes are not those of their blob
	buffers   sync.Pool
}

// folder fills a folder. had is what the pool knows of it; nil: it is new and empty.
func (c *checkout) folder(ctx context.Context, read reader, n, had *snapshot.Node, f *disk.Folder, path string,
	up *rules.Chain) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := c.t
	n.Rules = &rules.Chain{Up: up, Prefix: len(path)}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		if i, ok := snapshot.FindEntry(n.Files, name); ok && n.Files[i].Mode&disk.ModeType == disk.ModeFile {
			data, err := read(n.Files[i].OID)
			if err != nil {
				return err
			}
			n.Rules.Set(name, bytes.Clone(data), t.conv)
		}
	}
	listed := false
	if had != nil {
		var err error
		if listed, err = c.clear(n, had, f); err != nil {
			return err
		}
	}
	for i := range n.Files {
		e := &n.Files[i]
		if had != nil {
			stays, err := c.stays(n, had, e, f, path, listed)
			if err != nil {
				return err
			}
			if stays {
				continue
			}
		}
		if err := c.file(read, n, e, f, path); err != nil {
			return err
		}
	}
	if err := c.below(ctx, read, n, had, f, path); err != nil {
		return err
	}
	if err := f.Touch(".", c.stamp); err != nil {
		return err
	}
	st, err := f.Stat()
	n.Stat, n.Suspect = st, c.w.Suspect(st)
	return err
}

// below fills the folders in n, one of them at a time on the second goroutine.
func (c *checkout) below(ctx context.Context, read reader, n, had *snapshot.Node, f *disk.Folder,
	path string) (err error) {
	var wg sync.WaitGroup
	var other error // of the second goroutine
	for _, d := range n.Dirs {
		sub, was, e := c.enter(had, f, d.Name)
		if e != nil {
			err = e
			break
		}
		fill := func(read reader) error {
			defer sub.Close()
			return c.folder(ctx, read, d, was, sub, path+d.Name+"/", n.Rules)
		}
		select {
		case second := <-c.spare:
			wg.Go(func() {
				if err := fill(second); err != nil {
					c.mu.Lock()
					other = errors.Join(other, err)
					c.mu.Unlock()
				}
				c.spare <- second
			})
		default:
			err = fill(read)
		}
		if err != nil {
			break
		}
	}
	wg.Wait()
	return errors.Join(err, other)
}

func (c *checkout) file(read reader, n *snapshot.Node, e *snapshot.Entry, f *disk.Folder, path string) error {
	t := c.t
	if e.Mode == disk.ModeGitlink {
		return f.Mkdir(e.Name) // a submodule stays empty, as after a clone
	}
	data, err := read(e.OID)
	if err != nil {
		return err
	}
	switch {
	case e.Mode == disk.ModeLink && t.mode.symlinks:
		if err := f.Symlink(string(data), e.Name); err != nil {
			return err
		}
		if err := f.Touch(e.Name, c.stamp); err != nil {
			return err
		}
		e.Stat, err = f.Lstat(e.Name)
	case e.Mode == disk.ModeLink:
		c.convert(path + e.Name)
		e.Stat, err = f.Create(e.Name, data, 0o666, cmp.Or(e.Stat.Mtime, c.stamp))
	default:
		conv := t.conv.Of(n.Rules, path+e.Name, e.Name)
		if !conv.Plain() {
			c.convert(path + e.Name)
		}
		if conv.External {
			c.mu.Lock()
			c.external = append(c.external, path+e.Name)
			c.mu.Unlock()
			n.Suspect, e.Stat = true, disk.Stat{}
			return nil
		}
		perm := uint32(0o666)
		if e.Mode&0o100 != 0 {
			perm = 0o777
		}
		e.Stat, err = f.Create(e.Name, conv.Smudge(data), perm, cmp.Or(e.Stat.Mtime, c.stamp))
	}
	e.Check = c.w.Suspect(e.Stat)
	return err
}

// gitCheckout has the Git program write the paths whose content passes through a filter.
func (t *Tree) gitCheckout(ctx context.Context, paths []string) error {
	if !repo.HaveGit() {
		return errNeedsGit(paths[0])
	}
	if err := os.WriteFile(filepath.Join(t.dir, ".git", "HEAD"), t.headFile(), 0o666); err != nil {
		return err
	}
	_, err := repo.RunGit(ctx, t.dir, nil, []byte(strings.Join(paths, "\x00")+"\x00"), "checkout-index", "-f", "-z",
		"--stdin")
	if err != nil {
		return filterFailed(paths[0], err)
	}
	return os.Remove(filepath.Join(t.dir, ".git", "HEAD"))
}

// filterFailed is the error of the Git program where it converts files.
func filterFailed(path string, err error) error {
	return &notebooks.Error{Kind: notebooks.KindProvider, File: path, Err: err,
		Msg:  "Git could not convert this file as .gitattributes asks: " + err.Error(),
		Hint: "install what its filter calls; `git check-attr filter -- FILE` names the filter"}
}

// gitHash has the Git program store a file whose content passes through a filter. It works in the run's own repository,
// whose settings no step can write: a filter is a command. Where the blob that is stored decides, too, it is put into
// an index: `git hash-object` reads none.
func (t *Tree) gitHash(ctx context.Context, path string, e *snapshot.Entry, conv rules.Conversion) (object.Digest,
	error) {
	if !repo.HaveGit() {
		return object.Digest{}, errNeedsGit(path)
	}
	if err := t.storeRepository(); err != nil {
		return object.Digest{}, err
	}
	env := []string{"GIT_DIR=" + filepath.Dir(t.store.Dir), "GIT_WORK_TREE=" + t.dir}
	keeps, err := conv.Keeps(func() ([]byte, error) { return t.stored(e) })
	if err != nil {
		return object.Digest{}, err
	}
	command := []string{"hash-object", "-w", "--path=" + path, "--", path}
	if keeps {
		index := filepath.Join(filepath.Dir(t.store.Dir), "index.one")
		defer os.Remove(index)
		env = append(env, "GIT_INDEX_FILE="+index)
		if _, err := repo.RunGit(ctx, t.dir, env, nil, "update-index", "--add", "--cacheinfo",
			fmt.Sprintf("%06o,%s,%s", e.Mode, t.fmt.OID(e.OID), path), "--", path); err != nil {
			return object.Digest{}, err
		}
		command = []string{"rev-parse", "--verify", ":0:" + path}
	}
	out, err := repo.RunGit(ctx, t.dir, env, nil, command...)
	if err != nil {
		return object.Digest{}, filterFailed(path, err)
	}
	d, ok := t.fmt.Parse(object.OID(bytes.TrimSpace(out)))
	if !ok {
		return d, errNoObject(t.fmt, "blob", d)
	}
	if t.store.Known[d] {
		return d, nil
	}
	if _, err := os.Lstat(t.store.Path(d)); err == nil {
		t.store.Known[d] = true
		t.store.Order = append(t.store.Order, d)
		return d, nil
	}
	// Git does not write an object that the source has. The base may lack it all the same.
	data, err := t.src.Read("blob", d)
	if err != nil {
		return d, err
	}
	return t.store.Put("blob", data)
}

// gitSmudge has the Git program convert content to what a filter writes into the worktree. Like gitHash it works in the
// run's own repository.
func (t *Tree) gitSmudge(ctx context.Context, path string, content object.Digest) ([]byte, error) {
	if !repo.HaveGit() {
		return nil, errNeedsGit(path)
	}
	if err := t.storeRepository(); err != nil {
		return nil, err
	}
	env := []string{"GIT_DIR=" + filepath.Dir(t.store.Dir), "GIT_WORK_TREE=" + t.dir}
	return repo.RunGit(ctx, t.dir, env, nil, "cat-file", "--filters", "--path="+path, string(t.fmt.OID(content)))
}
