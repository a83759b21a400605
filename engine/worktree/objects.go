package worktree

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	git "github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/cache"
	"github.com/go-git/go-git/v6/storage/filesystem"
	"github.com/go-git/go-git/v6/storage/filesystem/dotgit"

	"markmill/notebooks"
)

// git opens the source with go-git, once.
func (s *Source) git() (*git.Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		repo, err := s.openGit()
		if err != nil {
			return nil, err
		}
		s.repo = repo
	}
	return s.repo, nil
}

// openGit opens the source anew, for one goroutine; its packs are mapped, not read.
func (s *Source) openGit() (*git.Repository, error) {
	dot := osfs.New(s.gitDir, osfs.WithBoundOS(), osfs.WithMmap())
	var common billy.Filesystem
	if s.common != s.gitDir {
		common = osfs.New(s.common, osfs.WithBoundOS(), osfs.WithMmap())
	}
	store := filesystem.NewStorageWithOptions(dotgit.NewRepositoryFilesystem(dot, common), cache.NewObjectLRUDefault(),
		filesystem.Options{AlternatesFS: osfs.New("/", osfs.WithBoundOS(), osfs.WithMmap())})
	repo, err := git.Open(store, nil)
	if err != nil {
		err = errors.Join(err, store.Close())
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: "the Git repository cannot be read: " + err.Error(), Err: err}
	}
	return repo, nil
}

// read gets an object of the source. One that is not found is looked for once more: a pack may
// have come, or taken the place of others, since the source was opened.
func (s *Source) read(kind string, d digest) ([]byte, error) {
	data, err := s.readOnce(kind, d)
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return data, err
	}
	s.mu.Lock()
	if s.repo != nil {
		err = s.repo.Close()
	}
	s.repo = nil
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.readOnce(kind, d)
}

func (s *Source) readOnce(kind string, d digest) ([]byte, error) {
	repo, err := s.git()
	if err != nil {
		return nil, err
	}
	return s.readFrom(repo, kind, d)
}

// packPatience is how long a pack may be without its index: Git, which fetches or packs at this moment, puts the pack
// in its place first, and go-git reads nothing meanwhile.
const packPatience = 2 * time.Second

func (s *Source) readFrom(repo *git.Repository, kind string, d digest) ([]byte, error) {
	id, ok := plumbing.FromBytes(s.fmt.raw(&d))
	if !ok {
		return nil, fmt.Errorf("no object name: %x", d)
	}
	t, err := plumbing.ParseObjectType(kind)
	if err != nil {
		return nil, err
	}
	obj, err := repo.Storer.EncodedObject(t, id)
	for deadline := time.Now().Add(packPatience); errors.Is(err, dotgit.ErrPackfileNotFound) && time.Now().Before(deadline); {
		s.pause(time.Millisecond)
		obj, err = repo.Storer.EncodedObject(t, id)
	}
	if err != nil {
		e := &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("%s %s cannot be read: %v", kind, id, err), Err: err}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			e.Hint = "in a partial clone, `git fetch --refetch --no-filter` brings what is missing; `git fsck` checks the rest"
		}
		return nil, e
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, obj.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, id, err)
	}
	return data, nil
}

// treeOf reads which tree a commit is of.
func (s *Source) treeOf(commit digest) (digest, error) {
	data, err := s.read("commit", commit)
	if err != nil {
		return digest{}, err
	}
	c := parseCommit(s.fmt, data)
	if c.tree.zero() {
		return digest{}, fmt.Errorf("commit %s names no tree", s.fmt.oid(commit))
	}
	return c.tree, nil
}

// commitObject is what a commit says, as far as Git reads it: its tree, then its parents, then its people.
type commitObject struct {
	tree    digest
	parents []digest
	date    int64 // of the committer, in seconds
	message string
}

// parseCommit reads a commit object. What is missing or damaged is zero.
func parseCommit(f *format, data []byte) (c commitObject) {
	head, message, _ := strings.Cut(string(data), "\n\n")
	c.message = message
	named := func(field string) (d digest, ok bool) {
		line, rest, _ := strings.Cut(head, "\n")
		name, ok := strings.CutPrefix(line, field+" ")
		if ok {
			d, ok = f.parse(OID(name))
			head = rest
		}
		return d, ok
	}
	c.tree, _ = named("tree")
	for d, ok := named("parent"); ok; d, ok = named("parent") {
		c.parents = append(c.parents, d)
	}
	if _, committer, ok := strings.Cut("\n"+head, "\ncommitter "); ok {
		committer, _, _ = strings.Cut(committer, "\n")
		if words := strings.Fields(committer); len(words) > 1 {
			c.date, _ = strconv.ParseInt(words[len(words)-2], 10, 64)
		}
	}
	return c
}

// treeEntry is one entry of a tree object.
type treeEntry struct {
	mode uint32
	name string
	oid  digest
}

// parseTree reads a tree object, and refuses names that would lead out of the worktree or into its .git.
func parseTree(f *format, data []byte) ([]treeEntry, error) {
	var out []treeEntry
	text := string(data) // one copy, which the names share
	for len(text) > 0 {
		mode, rest, ok := strings.Cut(text, " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		name, rest, ok2 := strings.Cut(rest, "\x00")
		if !ok || !ok2 || err != nil || len(rest) < f.size {
			return nil, errors.New("a damaged tree object")
		}
		if !filepath.IsLocal(name) || name == "." || strings.EqualFold(name, ".git") || strings.ContainsRune(name, '/') {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("a tree of the base commit holds an entry named %q, which is not checked out", name)}
		}
		e := treeEntry{mode: uint32(m), name: name}
		copy(e.oid[:], rest[:f.size])
		out = append(out, e)
		text = rest[f.size:]
	}
	return out, nil
}
