package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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
	top := &folder{}
	for _, name := range names {
		blob, err := r.writeBlob(record, name)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w", record.File(name), err)
		}
		top.add(strings.Split(name, "/"), blob)
	}
	return r.writeFolder(top)
}

// folder is a tree in the making.
type folder struct {
	files   map[string]plumbing.Hash
	folders map[string]*folder
}

func (f *folder) add(parts []string, blob plumbing.Hash) {
	if len(parts) == 1 {
		if f.files == nil {
			f.files = map[string]plumbing.Hash{}
		}
		f.files[parts[0]] = blob
		return
	}
	if f.folders == nil {
		f.folders = map[string]*folder{}
	}
	if f.folders[parts[0]] == nil {
		f.folders[parts[0]] = &folder{}
	}
	f.folders[parts[0]].add(parts[1:], blob)
}

func (r *Remote) writeFolder(f *folder) (plumbing.Hash, error) {
	var tree object.Tree
	for name, blob := range f.files {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: blob})
	}
	for name, below := range f.folders {
		hash, err := r.writeFolder(below)
		if err != nil {
			return hash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return r.write(tree.Encode)
}

// sortName is what Git sorts the entries of a tree by.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
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
	who := object.Signature{Name: "Markmill", Email: "markmill@localhost", When: time.Unix(run.FinishedAt.Unix(), 0).UTC()}
	c := object.Commit{Author: who, Committer: who, TreeHash: tree, ParentHashes: parents,
		Message: fmt.Sprintf("record: %s %s\n\nMarkmill-Run: %s\n", run.Started.Notebook, run.Status(), id)}
	return r.write(c.Encode)
}
