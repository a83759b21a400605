package repo

import (
	"strings"
	"time"

	"github.com/go-git/go-git/v6/plumbing"

	"markmill/engine/worktree/object"
	"markmill/notebooks"
)

// History is a part of the history: commits, and which of them are parents of which.
type History struct {
	Commits []object.OID // parents stand before their children; the newest is last
	Parents [][]int      // of each commit, those in Commits, by index
}

// Between returns the history that the commit newest has and old has not. A shallow clone ends where it is cut.
func (s *Repo) Between(old, newest object.OID) (*History, error) {
	w := s.walk()
	from, ok := s.Format.Parse(old)
	to, also := s.Format.Parse(newest)
	if !ok || !also {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: "not the names of commits: " +
			string(old) + ", " + string(newest)}
	}
	first, err := w.commit(from)
	if err != nil {
		return nil, err
	}
	before, err := w.below([]*painted{first})
	if err != nil {
		return nil, err
	}
	before[from] = true
	h, at, todo := &History{}, map[object.Digest]int{}, []object.Digest{to}
	for len(todo) > 0 { // a commit is listed after all of its parents are
		id := todo[len(todo)-1]
		if _, listed := at[id]; listed || before[id] {
			todo = todo[:len(todo)-1]
			continue
		}
		c, err := w.commit(id)
		if err != nil {
			return nil, err
		}
		var parents []int
		ready := true
		for _, p := range c.parents {
			if i, listed := at[p]; listed {
				parents = append(parents, i)
			} else if !before[p] {
				todo, ready = append(todo, p), false
			}
		}
		if ready {
			at[id] = len(h.Commits)
			h.Commits, h.Parents = append(h.Commits, s.Format.OID(id)), append(h.Parents, parents)
		}
	}
	return h, nil
}

// Commit is what people read of a commit.
type Commit struct {
	ID      object.OID `json:"id"`
	Author  string     `json:"author"`
	Email   string     `json:"email"`
	Date    time.Time  `json:"date"` // of the author
	Subject string     `json:"subject"`
}

// Describe reads a commit for people. Bytes that are not UTF-8 are replaced.
func (s *Repo) Describe(id object.OID) (Commit, error) {
	repo, err := s.git()
	if err != nil {
		return Commit{}, err
	}
	c, err := repo.CommitObject(plumbing.NewHash(string(id)))
	if err != nil {
		return Commit{}, &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Err: err,
			Msg: "commit " + string(id) + " cannot be read: " + err.Error()}
	}
	text := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	subject, _, _ := strings.Cut(strings.TrimLeft(c.Message, "\n"), "\n\n")
	return Commit{ID: id, Author: text(c.Author.Name), Email: text(c.Author.Email), Date: c.Author.When,
		Subject: text(strings.Join(strings.Fields(subject), " "))}, nil
}
