package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/engine/worktree"
)

// serveProgram is the workbench, which lies beside markmill.
const serveProgram = "markmill-serve"

func (a *app) serveCommand() *cobra.Command {
	var repo, listen, role string
	var at queueOptions
	c := &cobra.Command{
		Use: "serve", Short: "Show runs in a browser, live, and start and steer them there", Args: args(0, 0),
		Long: `Serves the workbench on the loopback interface: notebooks with the state of their outputs, the list of
runs, each run live and afterwards, comparisons, checks and approvals; and buttons that run, fork, abort, steer, apply,
reject, approve and deny. It stores nothing: everything is read from the records. It prints an address that signs one
browser in, once, and then the next one. Whoever signs in acts as you. The program markmill-serve, which must lie
beside markmill, is the server. docs/serve.md has the pages, the API and the rules of safety.

Runs that it has started go on when it ends (Ctrl-C).

Exit codes: 0 ended by Ctrl-C, 1 it cannot listen there, or the repository cannot be read, 2 usage.`,
		Example: "  markmill serve\n  markmill serve --listen 127.0.0.1:8080 --role read",
		RunE: func(*cobra.Command, []string) error {
			root, err := servedRoot(repo)
			if err != nil {
				return err
			}
			server, self, err := sibling(serveProgram)
			if err != nil {
				return err
			}
			return become(server, append([]string{serveProgram, "-program=" + self, "-is=" + version().Version,
				"-root=" + root, "-listen=" + listen, "-role=" + role}, at.served()...)...)
		},
	}
	f := c.Flags()
	f.StringVar(&repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	f.StringVar(&listen, "listen", "127.0.0.1:0",
		"`ADDRESS` on the loopback interface; a port of 0 is any that is free")
	at.flags(f)
	f.StringVar(&role, "role", "approve", "what those may do who sign in: read, run or approve")
	return c
}

// servedRoot is the root of the repository around a folder, or the folder outside of one.
func servedRoot(repo string) (string, error) {
	root, err := filepath.Abs(repo)
	if err != nil {
		return "", err
	}
	src, err := worktree.Open(root)
	switch {
	case err == nil:
		return src.Root(), nil
	case !errors.Is(err, worktree.ErrNoRepository):
		return "", troubled(err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", usagef("--repo %s is no folder", repo)
	}
	return root, nil
}

// served are the options of the workbench that say where the queue is. The address is put into the environment, because
// it may have a password, and others see arguments.
func (o *queueOptions) served() (list []string) {
	if o.URL != "" {
		_ = os.Setenv("MARKMILL_NATS", o.URL) // no text is refused but one with a NUL, which no argument has
	}
	for _, one := range [][2]string{{"creds", o.Credentials}, {"ca", o.CA}, {"cert", o.Cert}, {"key", o.Key}} {
		if one[1] != "" {
			list = append(list, "-queue=--nats-"+one[0]+"="+files.Absolute(one[1]))
		}
	}
	if o.Replicas != 1 {
		list = append(list, "-queue=--replicas="+strconv.Itoa(o.Replicas))
	}
	return list
}
