package schedules

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
	"time"

	"markmill/cmd/internal/files"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
)

// Notebook is a scheduled notebook of a checkout.
type Notebook struct {
	Path string // in the repository, slash-separated
	*notebooks.Schedule
	Times schedule.Times
	Err   error // why it cannot run when it is due
}

// Listing is what markmill schedule list --json prints.
type Listing struct {
	Notebooks []schedule.Listed `json:"notebooks"` // by their paths
	// Looked is when somebody looked last what is due; the zero time is never.
	Looked time.Time `json:"looked,omitzero"`
	// Warning says that nothing runs what is due, as markmill doctor does; "" where all is well.
	Warning string `json:"warning,omitzero"`
}

// TimeFormat is how due times are shown: with their offset, which differs twice a year.
const TimeFormat = "2006-01-02 15:04 -07:00"

// Find lists the scheduled notebooks at or below paths, or of the whole checkout without any: those that Git does not
// ignore, and not in hidden folders. An output has the front matter of its notebook, and is none.
func Find(ctx context.Context, repo *worktree.Source, paths ...string) (list []Notebook, err error) {
	if len(paths) == 0 {
		paths = []string{repo.Root()}
	}
	found, err := files.Find(paths)
	if err != nil {
		return nil, err
	}
	scheduled := found[:0]
	for _, f := range found {
		src, err := files.Notebook(f.Path)
		if (err != nil || !bytes.Contains(src, []byte("schedule"))) && !f.Named {
			continue
		}
		scheduled = append(scheduled, f)
	}
	for _, f := range files.WithoutIgnored(ctx, repo.Root(), scheduled) {
		rel, ok := repo.Relative(f.Path)
		if !ok {
			return nil, &notebooks.Error{Kind: notebooks.KindOption, File: f.Path, Msg: "is not in the repository " +
				repo.Root()}
		}
		n, err := Read(f.Path, rel)
		switch {
		case err != nil && f.Named:
			return nil, err
		case n != nil:
			list = append(list, *n)
		case f.Named:
			return nil, &notebooks.Error{Kind: notebooks.KindOption, File: rel, Msg: "is not scheduled",
				Hint: `write schedule: {cron: "0 6 * * *"} into its front matter`}
		}
	}
	return list, nil
}

// Read reads the schedule of a notebook; nil without one. Mistakes in it are in the result.
func Read(file, rel string) (*Notebook, error) {
	src, err := files.Notebook(file)
	if err != nil {
		return nil, err
	}
	var made *notebooks.Manifest
	if forms.IsJupyter(rel, src) {
		nb, err := ipynb.Parse(rel, src)
		if err != nil {
			return nil, err
		}
		made = nb.Manifest()
	} else {
		got := region.Strip(rel, src)
		made, src = got.Manifest, got.Source
	}
	if made != nil && made.SourcePath != rel {
		return nil, nil
	}
	nb, err := forms.Parse(rel, src)
	if nb == nil {
		return nil, err
	}
	if nb.Front.Schedule == nil {
		if err != nil && strings.Contains(err.Error(), "schedule: ") {
			return &Notebook{Path: rel, Schedule: &notebooks.Schedule{}, Err: err}, nil
		}
		return nil, nil
	}
	n := &Notebook{Path: rel, Schedule: nb.Front.Schedule, Err: err}
	if n.Times, err = schedule.TimesOf(n.Schedule); err != nil && n.Err == nil {
		at := n.At["timezone"]
		n.Err = &notebooks.Error{Kind: notebooks.KindOption, File: rel, Line: at.Line, Col: at.Col, Msg: "schedule: " +
			err.Error(), Hint: "name one such as Europe/Berlin, or UTC"}
	}
	return n, nil
}

// Key names a scheduled notebook in the store and in a queue. scope tells repositories apart that share a queue.
func Key(scope, rel string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, strings.TrimSuffix(path.Base(rel), path.Ext(rel)))
	sum := sha256.Sum256([]byte(scope + "\x00" + rel))
	return "s-" + name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:6])
}

// Scope is what checkouts of the same repository have in common: the address of its remote origin, else the name of the
// folder.
func Scope(repo *worktree.Source) string {
	if url, ok := repo.Config.Get("remote", "origin", "url"); ok {
		return strings.TrimSuffix(url, ".git")
	}
	return filepath.Base(repo.Root())
}
