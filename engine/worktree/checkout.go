package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

func sortNode(n *node) {
	slices.SortFunc(n.files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(n.dirs, func(a, b *node) int { return strings.Compare(a.name, b.name) })
}

// checkout writes the base into the empty worktree and keeps what the file system says of each
// file. Paths that the Git program has to write (a filter, ident, an encoding) are returned.
func (t *Tree) checkout(ctx context.Context) (external []string, err error) {
	f, err := openRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	c := &checkout{t: t, w: newWalk(t.fine), read: func(d digest) ([]byte, error) { return t.src.read("blob", d) }}
	if t.src != nil && t.root.count() >= parallelFrom {
		repo, err := t.src.openGit()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, repo.Close()) }()
		c.spare = make(chan reader, 1)
		c.spare <- func(d digest) ([]byte, error) { return t.src.readFrom(repo, "blob", d) }
	}
	err = c.folder(ctx, c.read, t.root, f, "", nil)
	return c.external, err
}

// parallelFrom is the number of files from which a second goroutine is worth its own reader.
const parallelFrom = 1000

// reader gets a blob of the source. Each goroutine has its own.
type reader func(digest) ([]byte, error)

type checkout struct {
	t        *Tree
	w        *walk
	read     reader
	spare    chan reader // of the second goroutine, while it is free
	mu       sync.Mutex
	external []string
}

// count is how many files are captured in and below a folder.
func (n *node) count() int {
	c := len(n.files)
	for _, d := range n.dirs {
		c += d.count()
	}
	return c
}

func (c *checkout) folder(ctx context.Context, read reader, n *node, f *folder, path string, up *rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := c.t
	n.rules = &rules{up: up, prefix: len(path)}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		if i, ok := findEntry(n.files, name); ok && n.files[i].mode&modeType == modeFile {
			data, err := read(n.files[i].oid)
			if err != nil {
				return err
			}
			n.rules.set(name, data, t.conv)
		}
	}
	for i := range n.files {
		if err := c.file(read, n, &n.files[i], f, path); err != nil {
			return err
		}
	}
	if err := c.below(ctx, read, n, f, path); err != nil {
		return err
	}
	var err error
	n.st, err = f.stat()
	n.suspect = c.w.suspect(n.st)
	return err
}

// below fills the folders in n, one of them at a time on the second goroutine.
func (c *checkout) below(ctx context.Context, read reader, n *node, f *folder, path string) (err error) {
	var wg sync.WaitGroup
	var other error // of the second goroutine
	for _, d := range n.dirs {
		if err = f.mkdir(d.name); err != nil {
			break
		}
		var sub *folder
		if sub, err = f.sub(d.name); err != nil {
			break
		}
		fill := func(read reader) error {
			defer sub.close()
			return c.folder(ctx, read, d, sub, path+d.name+"/", n.rules)
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

func (c *checkout) file(read reader, n *node, e *entry, f *folder, path string) error {
	t := c.t
	if e.mode == modeGitlink {
		return f.mkdir(e.name) // a submodule stays empty, as after a clone
	}
	data, err := read(e.oid)
	if err != nil {
		return err
	}
	switch {
	case e.mode == modeLink && t.mode.symlinks:
		if err := f.symlink(string(data), e.name); err != nil {
			return err
		}
		e.st, err = f.lstat(e.name)
	case e.mode == modeLink:
		e.st, err = f.create(e.name, data, 0o666)
	default:
		conv := t.conv.of(n.rules, path+e.name, e.name)
		if conv.external {
			c.mu.Lock()
			c.external = append(c.external, path+e.name)
			c.mu.Unlock()
			n.suspect = true
			return nil
		}
		perm := uint32(0o666)
		if e.mode&0o100 != 0 {
			perm = 0o777
		}
		e.st, err = f.create(e.name, conv.smudge(data), perm)
	}
	e.check = c.w.suspect(e.st)
	return err
}

// gitCheckout has the Git program write the paths whose content passes through a filter.
func (t *Tree) gitCheckout(ctx context.Context, paths []string) error {
	if !haveGit() {
		return errNeedsGit(paths[0])
	}
	if err := os.WriteFile(filepath.Join(t.dir, ".git", "HEAD"), t.headFile(), 0o666); err != nil {
		return err
	}
	_, err := runGit(ctx, t.dir, nil, []byte(strings.Join(paths, "\x00")+"\x00"), "checkout-index", "-f", "-z", "--stdin")
	if err != nil {
		return err
	}
	return os.Remove(filepath.Join(t.dir, ".git", "HEAD"))
}

// gitHash has the Git program store a file whose content passes through a filter. It works in the
// run's own repository, whose settings no step can write: a filter is a command.
func (t *Tree) gitHash(ctx context.Context, path string) (digest, error) {
	if !haveGit() {
		return digest{}, errNeedsGit(path)
	}
	if err := t.storeRepository(); err != nil {
		return digest{}, err
	}
	env := []string{"GIT_DIR=" + filepath.Dir(t.store.dir), "GIT_WORK_TREE=" + t.dir}
	out, err := runGit(ctx, t.dir, env, nil, "hash-object", "-w", "--path="+path, "--", path)
	if err != nil {
		return digest{}, err
	}
	d, ok := t.fmt.parse(OID(bytes.TrimSpace(out)))
	if !ok {
		return d, errNoObject(t.fmt, "blob", d)
	}
	if t.store.known[d] {
		return d, nil
	}
	if _, err := os.Lstat(t.store.path(d)); err == nil {
		t.store.known[d] = true
		t.store.order = append(t.store.order, d)
		return d, nil
	}
	// Git does not write an object that the source has. The base may lack it all the same.
	data, err := t.src.read("blob", d)
	if err != nil {
		return d, err
	}
	return t.store.put("blob", data)
}

// gitSmudge has the Git program give content as a filter writes it into the worktree. Like gitHash it works in the
// run's own repository.
func (t *Tree) gitSmudge(ctx context.Context, path string, content digest) ([]byte, error) {
	if !haveGit() {
		return nil, errNeedsGit(path)
	}
	if err := t.storeRepository(); err != nil {
		return nil, err
	}
	env := []string{"GIT_DIR=" + filepath.Dir(t.store.dir), "GIT_WORK_TREE=" + t.dir}
	return runGit(ctx, t.dir, env, nil, "cat-file", "--filters", "--path="+path, string(t.fmt.oid(content)))
}
