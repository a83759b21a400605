package serve

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
)

func Command(a *program.App) *cobra.Command {
	o := &serveOptions{}
	c := &cobra.Command{
		Use: "serve", Short: "Serve the workbench: see, start and steer runs in a browser", Args: program.Args(0, 0),
		Long: `Serves the workbench: notebooks with the state of their outputs, the list of runs, each run live and
afterwards, comparisons, checks and approvals; and buttons that run, fork, abort, steer, apply, reject, approve and
deny. It stores nothing: everything is read from the records. It prints an address that signs one browser in, once, and
then the next one. Whoever signs in so acts as you.

With --tokens people sign in with tokens of their own, and records name them. Programs have /api/v1, /events and /mcp.
On another address than the loopback interface it needs --tokens, and TLS: --cert and --key, or a proxy (--proxy).
docs/serve.md has the pages, the API and the rules of safety.

Runs that it has started go on when it ends (Ctrl-C).

Exit codes: 0 ended by Ctrl-C, 1 it cannot listen there, or the repository cannot be read, 2 usage.`,
		Example: `  markmill serve
  markmill serve --listen 127.0.0.1:8080 --role read
  markmill serve --listen :8443 --cert cert.pem --key key.pem --tokens ~/.config/markmill/tokens
  markmill serve --listen :8080 --tokens tokens --proxy 10.0.0.7 --proxy-header Remote-User --host runs.example.org`,
		RunE: func(c *cobra.Command, _ []string) error {
			root, src, err := a.Served(o.repo)
			if err != nil {
				return err
			}
			executable, err := a.Program()
			if err != nil {
				return err
			}
			if o.queue.URL != "" {
				_ = os.Setenv("MARKMILL_NATS", o.queue.URL) // it is refused for a NUL only, which no argument has
			}
			ctx, stop := program.UntilInterrupted(c.Context())
			defer stop()
			o.Program, o.Root, o.User = executable, root, a.UserName()
			o.Queue = o.queue.Words()
			o.Connection = jobqueue.ConnectionOf(a, &o.queue, a.StoreAt(engines.RootOf(src)), src)
			return a.Server.Serve(ctx, a, a.Stdout, o.Workbench)
		},
	}
	o.flags(c.Flags())
	c.AddCommand(serveTokenCommand(a))
	return c
}

// serveOptions are those of the workbench.
type serveOptions struct {
	program.Workbench
	repo  string
	queue jobqueue.Options
}

func (o *serveOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "`ADDRESS` and port; a port of 0 is any that is free")
	f.StringVar(&o.Role, "role", "approve", "what those may do who open a printed address: read, run or approve")
	f.StringVar(&o.Tokens, "tokens", "", "`FILE` of people, their roles and the hashes of their tokens")
	f.StringVar(&o.Cert, "cert", "", "`FILE` of the certificate, with its chain (PEM)")
	f.StringVar(&o.Key, "key", "", "`FILE` of the certificate's key (PEM)")
	f.StringArrayVar(&o.Hosts, "host", nil, "`NAME` under which browsers reach it; the certificate's are known")
	f.StringArrayVar(&o.Proxies, "proxy", nil, "`ADDRESS` or network of a proxy with TLS that names its users")
	f.StringVar(&o.Webhook, "webhook-secret", "",
		"`FILE` of the secret with which a forge signs its pushes; else $MARKMILL_WEBHOOK_SECRET")
	f.StringVar(&o.ProxyHeader, "proxy-header", "", "`HEADER` in which the proxy names them, such as Remote-User")
	o.queue.Flags(f)
}

func serveTokenCommand(a *program.App) *cobra.Command {
	var role, tokens string
	c := &cobra.Command{
		Use: "token NAME", Short: "Make a token with which a person or program signs in to the workbench",
		Args: program.Args(1, 1),
		Long: `Makes a token, prints it, and adds a line NAME ROLE HASH to the tokens file. The file has the hash only, so
that the token is shown once. To take a token back, remove its line; a workbench that runs notices it at once.

Exit codes: 0 made, 2 the file or the name cannot be used.`,
		Example: "  markmill serve token alice --role approve --tokens ~/.config/markmill/tokens",
		RunE: func(_ *cobra.Command, words []string) error {
			if tokens == "" {
				return program.Usagef("say with --tokens FILE where the token's hash goes")
			}
			token, err := a.Server.AddToken(tokens, words[0], role)
			if err != nil {
				return program.Usagef("%v", err)
			}
			_, err = fmt.Fprintln(a.Stdout, token)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&role, "role", "read", "what its bearer may do: read, run or approve")
	f.StringVar(&tokens, "tokens", "", "`FILE` of people; it is made if it is not there")
	return c
}
