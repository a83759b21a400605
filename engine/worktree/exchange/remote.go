package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v6/osfs"
	"github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/config"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/cache"
	"github.com/go-git/go-git/v6/plumbing/client"
	formatcfg "github.com/go-git/go-git/v6/plumbing/format/config"
	"github.com/go-git/go-git/v6/plumbing/transport"
	"github.com/go-git/go-git/v6/plumbing/transport/ssh"
	"github.com/go-git/go-git/v6/storage/filesystem"
	gossh "golang.org/x/crypto/ssh"

	"markmill/notebooks"
	"markmill/runs"
)

// RefPrefix is where the records stand on a remote.
const RefPrefix = "refs/markmill/records/"

// remoteName is the remote's name in the scratch repository.
const remoteName = "remote"

func refOf(id runs.RunID) plumbing.ReferenceName {
	return plumbing.ReferenceName(RefPrefix + string(id))
}

// Remote is a Git remote and the scratch repository that is between it and the store.
type Remote struct {
	Name string // for messages: without a password
	git  *git.Remote
	repo *git.Repository
	max  int64 // bytes, of one transfer

	hashSize int   // of the names of objects, in bytes
	written  int64 // bytes of the records that were written to repo
}

// Open prepares to speak with a remote: the name of one of the repository at root ("": in none), an address or a
// folder. It speaks to nobody yet. scratch is an empty folder that the caller removes, and sha256 says how objects are
// named. max bounds what the remote may send, in bytes.
func Open(root, word, scratch string, sha256 bool, max int64) (*Remote, error) {
	url, err := address(root, word)
	if err != nil {
		return nil, err
	}
	r := &Remote{Name: cmp.Or(word, url), max: max, hashSize: formatcfg.SHA1Size}
	if u, err := transport.ParseURL(url); err == nil && u.Scheme != "file" {
		r.Name = u.Redacted()
	}
	format := formatcfg.SHA1
	if sha256 {
		format, r.hashSize = formatcfg.SHA256, formatcfg.SHA256Size
	}
	store := filesystem.NewStorageWithOptions(osfs.New(scratch), cache.NewObjectLRUDefault(),
		filesystem.Options{ExclusiveAccess: true, ObjectFormat: format})
	limited := &limitedStore{Storage: store, scratch: scratch, sha256: sha256, max: max}
	if r.repo, err = git.Init(limited, git.WithObjectFormat(format)); err != nil {
		return nil, fmt.Errorf("the scratch repository: %w", err)
	}
	r.git = git.NewRemote(limited, &config.RemoteConfig{Name: remoteName, URLs: []string{url}})
	return r, nil
}

// address is the address that a word names.
func address(root, word string) (string, error) {
	var known []string
	if root != "" {
		repo, err := git.PlainOpen(root)
		if err != nil {
			return "", fmt.Errorf("reading the remotes of %s: %w", root, err)
		}
		remotes, err := repo.Remotes()
		if err != nil {
			return "", fmt.Errorf("reading the remotes of %s: %w", root, err)
		}
		for _, r := range remotes {
			if c := r.Config(); (c.Name == word || word == "" && len(remotes) == 1) && len(c.URLs) > 0 {
				return localTo(root, c.URLs[0]), nil
			}
			known = append(known, r.Config().Name)
		}
	}
	if info, err := os.Stat(word); err == nil && info.IsDir() {
		return filepath.Abs(word)
	}
	if strings.ContainsAny(word, `/:\`) && !strings.HasPrefix(word, "-") {
		return word, nil
	}
	slices.Sort(known)
	hint := "name a remote of the repository, an address or a folder"
	if len(known) > 0 {
		hint += "; its remotes: " + strings.Join(known, ", ")
	}
	msg := fmt.Sprintf("there is no remote %q", word)
	if word == "" {
		msg = "no remote is named"
	}
	return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: msg, Hint: hint}
}

// localTo makes a relative path in a repository's settings absolute, as Git reads it.
func localTo(root, url string) string {
	if strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../") {
		return filepath.Join(root, filepath.FromSlash(url))
	}
	return url
}

// List returns the records that the remote has, sorted. Refs whose name is no id of a run are left out.
func (r *Remote) List(ctx context.Context) ([]runs.RunID, error) {
	refs, err := r.refs(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]runs.RunID, 0, len(refs))
	for id := range refs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

func (r *Remote) refs(ctx context.Context) (map[runs.RunID]plumbing.Hash, error) {
	list, err := r.git.ListContext(ctx, &git.ListOptions{ClientOptions: options(ctx)})
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, r.failed(ctx, "cannot be read", err)
	}
	refs := map[runs.RunID]plumbing.Hash{}
	for _, ref := range list {
		if ref.Type() == plumbing.HashReference && ref.Hash().Size() != r.hashSize {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: r.Name,
				Msg: fmt.Sprintf("names objects by hashes of %d bytes, and the repository here of %d",
					ref.Hash().Size(), r.hashSize),
				Hint: "work in a clone of the remote, or name a remote of the same object format (SHA-1, SHA-256)"}
		}
		name, ours := strings.CutPrefix(ref.Name().String(), RefPrefix)
		if id := runs.RunID(name); ours && id.Valid() && ref.Type() == plumbing.HashReference {
			refs[id] = ref.Hash()
		}
	}
	return refs, nil
}

// fetch brings the objects of the records here.
func (r *Remote) fetch(ctx context.Context, ids []runs.RunID) error {
	var specs []config.RefSpec
	for _, id := range ids {
		specs = append(specs, config.RefSpec("+"+refOf(id)+":"+refOf(id)))
	}
	err := r.git.FetchContext(ctx, &git.FetchOptions{RemoteName: remoteName, RefSpecs: specs, Tags: plumbing.NoTags,
		ClientOptions: options(ctx)})
	if err != nil && !errors.Is(err, git.NoErrAlreadyUpToDate) {
		return r.failed(ctx, "cannot be fetched from", err)
	}
	return nil
}

// failed is the error of a conversation. An interrupt stays what it is.
func (r *Remote) failed(ctx context.Context, what string, err error) error {
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return context.Canceled
	}
	hint := "git ls-remote shows whether Git reaches it; Markmill asks the SSH agent, takes keys from ~/.ssh, and " +
		"asks no credential helper"
	if errors.Is(err, errTooLarge) {
		hint = "--max-mb allows more"
	}
	return &notebooks.Error{Kind: notebooks.KindArtifact, File: r.Name, Err: err, Msg: what + ": " + err.Error(),
		Hint: hint}
}

// options are those of every conversation. A password is taken from the address alone. The end of ctx closes the
// connections that are not HTTP's: go-git waits for a server's greeting without looking at it.
func options(ctx context.Context) []client.Option {
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	return []client.Option{client.WithDialer(dial), client.WithProxyEnvironment(), client.WithSSHAuth(sshAuth{})}
}

// sshAuth offers the keys of the SSH agent, and then those of the user that need no passphrase, as ssh does.
type sshAuth struct{}

// ClientConfig implements client.SSHAuth. Only hosts in the user's known_hosts are spoken to.
func (sshAuth) ClientConfig(ctx context.Context, req *transport.Request) (*gossh.ClientConfig, error) {
	auth := ssh.PublicKeysCallback{User: ssh.DefaultUsername, Callback: signers}
	if req.URL.User != nil && req.URL.User.Username() != "" {
		auth.User = req.URL.User.Username()
	}
	return auth.ClientConfig(ctx, req)
}

func signers() (list []gossh.Signer, err error) {
	if agent, err := ssh.NewSSHAgentAuth("any"); err == nil {
		list, _ = agent.Callback() // an agent that does not answer has no keys
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return list, nil
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		text, err := os.ReadFile(filepath.Join(home, ".ssh", name))
		if err != nil {
			continue
		}
		key, err := gossh.ParsePrivateKey(text)
		if err != nil {
			continue
		}
		public := key.PublicKey().Marshal()
		if !slices.ContainsFunc(list,
			func(s gossh.Signer) bool { return slices.Equal(s.PublicKey().Marshal(), public) }) {
			list = append(list, key)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no SSH agent has a key, and ~/.ssh has none without a passphrase")
	}
	return list, nil
}
