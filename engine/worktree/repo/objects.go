package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	git "github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/cache"
	"github.com/go-git/go-git/v6/storage/filesystem"
	"github.com/go-git/go-git/v6/storage/filesystem/dotgit"

	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// git opens the source with go-git, once.
func (s *Repo) git() (*git.Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		repo, err := s.OpenGit()
		if err != nil {
			return nil, err
		}
		s.repo = repo
	}
	return s.repo, nil
}

// OpenGit opens the repository again, for one goroutine; its packs are mapped into memory.
func (s *Repo) OpenGit() (*git.Repository, error) {
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
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
			Msg: "the Git repository cannot be read: " + err.Error(), Err: err}
	}
	return repo, nil
}

// Read reads an object. If it is missing, Read looks once more: a pack may have been added or replaced since the
// repository was opened. What a partial clone lacks, Git fetches.
func (s *Repo) Read(kind string, d object.Digest) ([]byte, error) {
	data, err := s.readOnce(kind, d)
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return data, err
	}
	if err := s.reopen(); err != nil {
		return nil, err
	}
	if data, err = s.readOnce(kind, d); errors.Is(err, plumbing.ErrObjectNotFound) {
		if data, ok := s.lazily(kind, d); ok {
			return data, nil
		}
	}
	return data, err
}

func (s *Repo) readOnce(kind string, d object.Digest) ([]byte, error) {
	s.mu.Lock()
	if s.own == nil {
		s.own = s.database().NewReader()
	}
	data, ok := s.own.Get(kind, d)
	data = bytes.Clone(data)
	s.mu.Unlock()
	if ok {
		return data, nil
	}
	repo, err := s.git()
	if err != nil {
		return nil, err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.ReadFrom(repo, kind, d)
}

// database opens the objects that are there now. mu is held.
func (s *Repo) database() *object.Database {
	if s.db == nil {
		s.db = object.OpenDatabase(s.Format, s.ObjectDirs()...)
	}
	return s.db
}

// Reader reads objects, for one goroutine. What it does not find, Read may.
func (s *Repo) Reader() *object.Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.database().NewReader()
}

// packPatience is how long Read waits for the index of a pack. Git moves the pack into place first, and go-git reads
// nothing until the index follows.
const packPatience = 2 * time.Second

func (s *Repo) ReadFrom(repo *git.Repository, kind string, d object.Digest) ([]byte, error) {
	id, ok := plumbing.FromBytes(d[:s.Format.Size])
	if !ok {
		return nil, fmt.Errorf("no object name: %x", d)
	}
	t, err := plumbing.ParseObjectType(kind)
	if err != nil {
		return nil, err
	}
	obj, err := repo.Storer.EncodedObject(t, id)
	for deadline := time.Now().Add(packPatience); errors.Is(err, dotgit.ErrPackfileNotFound) &&
		time.Now().Before(deadline); {
		s.Pause(time.Millisecond)
		obj, err = repo.Storer.EncodedObject(t, id)
	}
	if err != nil {
		e := &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
			Msg: fmt.Sprintf("%s %s cannot be read: %v", kind, id, err), Err: err}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			e.Hint = "in a partial clone, `git fetch --refetch --no-filter` brings what is missing; `git fsck` " +
				"checks the rest"
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

// TreeOf returns the tree of a commit.
func (s *Repo) TreeOf(commit object.Digest) (object.Digest, error) {
	data, err := s.Read("commit", commit)
	if err != nil {
		return object.Digest{}, err
	}
	c := object.ParseCommit(s.Format, data)
	if c.Tree.IsZero() {
		return object.Digest{}, fmt.Errorf("commit %s names no tree", s.Format.OID(commit))
	}
	return c.Tree, nil
}

// promisor is the remote from which a partial clone gets the objects that it lacks; "" in any other repository.
func (s *Repo) promisor() string {
	for _, c := range slices.Backward(s.Config) {
		if c.Section == "remote" && c.Key == "promisor" && c.Value != "false" {
			return c.Sub
		}
	}
	name, _ := s.Config.Get("extensions", "", "partialclone")
	return name
}

// Complete has Git fetch what a partial clone lacks of a commit's files, all at once, as `git checkout` does. It
// returns an error if something is still missing then.
func (s *Repo) Complete(ctx context.Context, commit object.OID) error {
	remote := s.promisor()
	if remote == "" || commit == "" {
		return nil
	}
	err := fmt.Errorf("no program git is installed")
	for before := ""; HaveGit(); { // what a fetched tree names may be missing, too
		var out []byte
		if out, err = RunGit(ctx, s.root, nil, nil, "rev-list", "--objects", "--no-walk", "--missing=print",
			string(commit)); err != nil {
			break
		}
		missing := ""
		for line := range strings.Lines(string(out)) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
				missing += id + "\n"
			}
		}
		switch missing {
		case "":
			if before != "" {
				return s.reopen()
			}
			return nil
		case before:
			err = fmt.Errorf("it does not have them")
		}
		if before = missing; err != nil {
			break
		}
		if _, err = RunGit(ctx, s.root, nil, []byte(missing), "-c",
			"fetch.negotiationAlgorithm=noop", "fetch", "--no-tags", "--no-write-fetch-head",
			"--recurse-submodules=no", "--filter=blob:none", "--stdin", remote); err != nil {
			break
		}
	}
	return &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Err: err,
		Msg: fmt.Sprintf("this partial clone lacks files of %s, and they could not be fetched from %s: %s",
			commit[:12], remote, strings.Join(strings.Fields(err.Error()), " ")),
		Hint: fmt.Sprintf("`git fetch --refetch --no-filter %s` brings all that is missing", remote)}
}

// lazily reads an object that a partial clone lacks: Git fetches it.
func (s *Repo) lazily(kind string, d object.Digest) (data []byte, ok bool) {
	if s.promisor() == "" || !HaveGit() {
		return nil, false
	}
	data, err := RunGit(context.Background(), s.root, nil, nil, "cat-file", kind, string(s.Format.OID(d)))
	return bytes.Clone(data), err == nil
}

// reopen forgets the objects that were there.
func (s *Repo) reopen() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo != nil {
		err = s.repo.Close()
	}
	s.repo, s.db, s.own = nil, nil, nil
	return err
}
