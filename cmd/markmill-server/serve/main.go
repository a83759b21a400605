package serve

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
)

// Main is markmill serve; it returns the exit code.
func Main(args []string) int {
	var o Options
	f := flag.NewFlagSet("markmill-server serve", flag.ContinueOnError)
	f.StringVar(&o.Program, "program", "", "path of markmill")
	f.StringVar(&o.Version, "is", "", "version of markmill")
	f.StringVar(&o.Root, "root", ".", "root of the repository, or a folder outside one")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "address and port")
	f.StringVar(&o.Cert, "cert", "", "file of the certificate")
	f.StringVar(&o.Key, "key", "", "file of its key")
	f.Var((*words)(&o.Hosts), "host", "name under which it is reached; can be repeated")
	f.Var((*words)(&o.Proxies), "proxy", "address of a proxy that names its users; can be repeated")
	f.StringVar(&o.ProxyHeader, "proxy-header", "", "header in which the proxy names them")
	f.StringVar(&o.Tokens, "tokens", "", "file of people and their roles")
	f.StringVar(&o.Webhook, "webhook-secret", "", "file of the secret of webhooks")
	token := f.String("token", "", "make a token for this name, and end")
	f.Var((*words)(&o.Queue), "queue", "option of the commands of the queue; can be repeated")
	role := f.String("role", approve.String(), "what those may do who sign in: read, run or approve")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if o.Program == "" || f.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "markmill-server: markmill serve starts this program; run that")
		return 2
	}
	if *token != "" {
		made, err := AddToken(o.Tokens, *token, *role)
		if err != nil {
			fmt.Fprintln(os.Stderr, "markmill serve token:", err)
			return 2
		}
		fmt.Println(made)
		return 0
	}
	if err := o.SetRole(*role); err != nil {
		fmt.Fprintln(os.Stderr, "markmill serve: --role:", err)
		return 2
	}
	o.User = "unknown"
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Serve(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "markmill serve:", err)
		return 1
	}
	return 0
}

// SetRole sets the role by its name.
func (o *Options) SetRole(name string) (err error) {
	o.Role, err = parseRole(name)
	return err
}

// words is an option that can be repeated.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(word string) error {
	*w = append(*w, word)
	return nil
}
