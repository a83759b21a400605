package repo

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

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
