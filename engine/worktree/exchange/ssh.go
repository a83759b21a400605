package exchange

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v6/plumbing/client"
	"github.com/go-git/go-git/v6/plumbing/transport"
	"github.com/go-git/go-git/v6/plumbing/transport/ssh"
	gossh "golang.org/x/crypto/ssh"
)

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
