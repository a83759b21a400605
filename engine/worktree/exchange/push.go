package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/config"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/filemode"
	"github.com/go-git/go-git/v6/plumbing/object"

	"markmill/notebooks"
	"markmill/runs"
)

// Push writes records to the remote and returns the ids of those that it lacked. A record that the remote has is only
// ever added to: files that the remote's lacks, such as a later signature, are new commits on its ref. A remote record
// with another file, or with one more, is an error, and then nothing is pushed.
func (r *Remote) Push(ctx context.Context, records map[runs.RunID]*runs.Record) ([]runs.RunID, error) {
	there, err := r.refs(ctx)
	if err != nil {
		return nil, err
	}
	var held []runs.RunID
	for id := range records {
		if _, has := there[id]; has {
			held = append(held, id)
		}
	}
	if len(held) > 0 {
		if err := r.fetch(ctx, held); err != nil {
			return nil, err
		}
	}
	var news []runs.RunID
	var specs []config.RefSpec
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tree, err := r.writeTree(records[id])
		if err != nil {
			return nil, err
		}
		var parents []plumbing.Hash
		if at, has := there[id]; has {
			same, err := r.extends(id, at, tree)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
			parents = append(parents, at)
		}
		commit, err := r.commit(records[id], id, tree, parents)
		if err != nil {
			return nil, err
		}
		if err := r.repo.Storer.SetReference(plumbing.NewHashReference(refOf(id), commit)); err != nil {
			return nil, err
		}
		news = append(news, id)
		specs = append(specs, config.RefSpec(refOf(id)+":"+refOf(id)))
	}
	if len(specs) == 0 {
		return nil, nil
	}
	if r.written > deltasUpTo {
		if err := r.withoutDeltas(); err != nil {
			return nil, err
		}
	}
	err = r.git.PushContext(ctx, &git.PushOptions{RemoteName: remoteName, RefSpecs: specs, ClientOptions: options(ctx)})
	if err != nil && !errors.Is(err, git.NoErrAlreadyUpToDate) {
		return nil, r.failed(ctx, "cannot be pushed to", err)
	}
	return news, nil
}

// deltasUpTo is how many bytes of records are searched for deltas. go-git takes 0.2 s for a megabyte of them, and large
// files, which are compressed already, have none.
const deltasUpTo = 16 << 20

func (r *Remote) withoutDeltas() error {
	cfg, err := r.repo.Config()
	if err != nil {
		return err
	}
	cfg.Pack.Window = 0
	return r.repo.SetConfig(cfg)
}

// extends reports whether the remote's record has the very files of a tree. Files that only the tree has are fine.
func (r *Remote) extends(id runs.RunID, at, tree plumbing.Hash) (same bool, err error) {
	old, err := r.files(at)
	if err != nil {
		return false, r.hostile(id, err)
	}
	top, err := object.GetTree(r.repo.Storer, tree)
	if err != nil {
		return false, err
	}
	own, err := listTree(top)
	if err != nil {
		return false, err
	}
	for name, blob := range old {
		switch mine, has := own[name]; {
		case !has:
			return false, r.differs(id, name+" is only there; pull the run first")
		case mine != blob:
			return false, r.differs(id, name+" has other bytes there")
		}
	}
	return len(own) == len(old), nil
}

func (r *Remote) differs(id runs.RunID, how string) error {
	return &notebooks.Error{Kind: notebooks.KindArtifact, File: r.Name,
		Msg: fmt.Sprintf("has another record of run %s, and a record is never replaced: %s", id, how)}
}

// writeTree writes the files of a record as blobs and trees.
func (r *Remote) writeTree(record *runs.Record) (plumbing.Hash, error) {
	names, err := record.List()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	slices.Sort(names)
	return r.writeFolder(record, "", names)
}

// writeFolder writes the tree of one folder of a record, which is "" or ends with a slash. names are the files below
// it, sorted.
func (r *Remote) writeFolder(record *runs.Record, dir string, names []string) (plumbing.Hash, error) {
	var tree object.Tree
	for n := 1; len(names) > 0; names, n = names[n:], 1 {
		name, _, deeper := strings.Cut(strings.TrimPrefix(names[0], dir), "/")
		entry := object.TreeEntry{Name: name, Mode: filemode.Regular}
		var err error
		if deeper {
			below := dir + name + "/"
			for n < len(names) && strings.HasPrefix(names[n], below) {
				n++
			}
			entry.Mode = filemode.Dir
			entry.Hash, err = r.writeFolder(record, below, names[:n])
		} else if entry.Hash, err = r.writeBlob(record, names[0]); err != nil {
			err = fmt.Errorf("%s: %w", record.File(names[0]), err)
		}
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, entry)
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	return r.write(tree.Encode)
}

func (r *Remote) writeBlob(record *runs.Record, name string) (hash plumbing.Hash, err error) {
	file, err := record.Open(name)
	if err != nil {
		return hash, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return hash, err
	}
	r.written += info.Size()
	blob := r.repo.Storer.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	blob.SetSize(info.Size())
	w, err := blob.Writer()
	if err != nil {
		return hash, err
	}
	_, err = io.Copy(w, file)
	if err = errors.Join(err, w.Close()); err != nil {
		return hash, err
	}
	return r.repo.Storer.SetEncodedObject(blob)
}

func (r *Remote) write(encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	o := r.repo.Storer.NewEncodedObject()
	if err := encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return r.repo.Storer.SetEncodedObject(o)
}

// commit writes the commit of a record. The same record gives the same commit: it has the time of the run's end.
func (r *Remote) commit(
	record *runs.Record, id runs.RunID, tree plumbing.Hash, parents []plumbing.Hash,
) (plumbing.Hash, error) {
	run, _, err := record.Load()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	who := object.Signature{Name: "Markmill", Email: "markmill@localhost", When: time.Unix(run.FinishedAt.Unix(),
		0).UTC()}
	c := object.Commit{Author: who, Committer: who, TreeHash: tree, ParentHashes: parents,
		Message: fmt.Sprintf("record: %s %s\n\nMarkmill-Run: %s\n", run.Started.Notebook, run.Status(), id)}
	return r.write(c.Encode)
}
