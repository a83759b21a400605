package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/config"
	"github.com/go-git/go-git/v6/plumbing"
	formatcfg "github.com/go-git/go-git/v6/plumbing/format/config"
	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/go-git/go-git/v6/plumbing/revlist"
	"github.com/go-git/go-git/v6/storage/memory"
)

// WriteBase writes a pack of one commit of the repository at root: the commit and its files, without its history.
func WriteBase(root, commit string, to io.Writer) error {
	repo, err := git.PlainOpenWithOptions(root, &git.PlainOpenOptions{DetectDotGit: true})
	if err != nil {
		return err
	}
	defer repo.Close()
	hash := plumbing.NewHash(commit)
	at, err := repo.CommitObject(hash)
	if err != nil {
		return fmt.Errorf("commit %s: %w", commit, err)
	}
	objects, err := revlist.Objects(repo.Storer, []plumbing.Hash{at.TreeHash}, nil)
	if err != nil {
		return fmt.Errorf("the files of commit %s: %w", commit, err)
	}
	_, err = packfile.NewEncoder(to, repo.Storer, false).Encode(append(objects, hash), 0)
	return err
}

// MakeBase makes a repository in a folder that is not there yet, with one commit, checked out, from what WriteBase
// wrote. The history of the commit is cut off, as in a shallow clone. from is called with the writer of the pack; it
// returns false if there is none, and then nothing is made.
func MakeBase(dir, commit string, from func(io.Writer) (bool, error)) (made bool, err error) {
	return makeBase(dir, func(temp, root string) (bool, error) {
		pack, err := os.CreateTemp(temp, "pack-")
		if err != nil {
			return false, err
		}
		defer pack.Close()
		if made, err := from(pack); !made || err != nil {
			return false, err
		}
		if _, err := pack.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		return true, checkOut(root, commit, func(repo *git.Repository) error {
			return packfile.UpdateObjectStorage(repo.Storer, pack)
		})
	})
}

// FetchBase makes the same of a commit that it fetches from a remote, without its history. The keys and the agent of
// SSH are asked, and no other credentials.
func FetchBase(ctx context.Context, dir, commit, url string) error {
	_, err := makeBase(dir, func(_, root string) (bool, error) {
		return true, checkOut(root, commit, func(repo *git.Repository) error {
			remote := git.NewRemote(repo.Storer, &config.RemoteConfig{Name: remoteName, URLs: []string{url}})
			fetch := func(what string) error {
				return remote.FetchContext(ctx, &git.FetchOptions{RemoteName: remoteName, Depth: 1,
					Tags: plumbing.NoTags, ClientOptions: options(ctx),
					RefSpecs: []config.RefSpec{config.RefSpec(what + ":refs/markmill/base")}})
			}
			err := fetch(commit)
			if errors.Is(err, git.ErrExactSHA1NotSupported) { // by sshd, which does not pass on the protocol's version
				var name string
				if name, err = tipOf(ctx, remote, commit); name == "" && err == nil {
					err = errors.New("no branch and no tag there is that commit, and it gives no other commit")
				}
				if err == nil {
					err = fetch(name)
				}
			}
			return err
		})
	})
	return err
}

// Shows reports whether a branch or a tag of a remote is a commit.
func Shows(ctx context.Context, url, commit string) (bool, error) {
	remote := git.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: remoteName, URLs: []string{url}})
	name, err := tipOf(ctx, remote, commit)
	return name != "", err
}

// tipOf is the name of a branch or a tag of a remote that is a commit; "" if there is none.
func tipOf(ctx context.Context, remote *git.Remote, commit string) (string, error) {
	refs, err := remote.ListContext(ctx, &git.ListOptions{ClientOptions: options(ctx)})
	i := slices.IndexFunc(refs, func(r *plumbing.Reference) bool {
		return r.Hash().String() == commit && r.Name() != plumbing.HEAD
	})
	if i < 0 {
		return "", err
	}
	return string(refs[i].Name()), err
}

func makeBase(dir string, fill func(temp, root string) (bool, error)) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".tmp-base-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	root := filepath.Join(temp, "repository")
	if made, err = fill(temp, root); !made || err != nil {
		return false, err
	}
	if err = os.Rename(root, dir); errors.Is(err, os.ErrExist) {
		err = nil // another process was as quick
	}
	return err == nil, err
}

func checkOut(root, commit string, fill func(*git.Repository) error) (err error) {
	format := formatcfg.SHA1
	if len(commit) == formatcfg.SHA256HexSize {
		format = formatcfg.SHA256
	}
	repo, err := git.PlainInit(root, false, git.WithObjectFormat(format))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	if err := fill(repo); err != nil {
		return err
	}
	hash := plumbing.NewHash(commit)
	if err := repo.Storer.SetShallow([]plumbing.Hash{hash}); err != nil {
		return err
	}
	if err := repo.Storer.SetReference(plumbing.NewHashReference(plumbing.HEAD, hash)); err != nil {
		return err
	}
	tree, err := repo.Worktree()
	if err != nil {
		return err
	}
	return tree.Reset(&git.ResetOptions{Commit: hash, Mode: git.HardReset})
}
