package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill-server/workbench"
	"markmill/cmd/markmill/child"
	"markmill/engine/queue"
)

// The programs lie beside each other.
const (
	ownProgram    = "markmill"
	serverProgram = "markmill-server" // docs/performance.md says why it is a program of its own
)

// Server is what markmill-server does. markmill has none.
type Server struct {
	// Queue does a call of the queue, and returns the exit code.
	Queue func(call queue.Call, stdin io.Reader, stdout, stderr io.Writer) (int, error)
	// Desk connects the workbench to the queue of a call.
	Desk func(call queue.Call) workbench.Desk
	// Serve serves the workbench until ctx ends.
	Serve func(ctx context.Context, stdout io.Writer, o workbench.Options) error
	// AddToken adds a person to a file of people, and returns the person's token.
	AddToken func(file, name, role string) (token string, err error)
}

// serverCommands are the commands of markmill-server, with all below them. approve and deny start it for a job.
var serverCommands = []string{"queue", "schedule serve", "health alerts", "serve"}

// servesBelow reports whether markmill-server has a command of this name, or one below it.
func servesBelow(path string) bool {
	return path == "approve" || path == "deny" || slices.ContainsFunc(serverCommands, func(s string) bool {
		return s == path || strings.HasPrefix(s, path+" ")
	})
}

// startsServer has the commands of markmill-server start it with the words of this command line.
func (a *app) startsServer(c *cobra.Command, words []string) {
	for _, sub := range c.Commands() {
		path := strings.TrimPrefix(sub.CommandPath(), sub.Root().Name()+" ")
		if sub.Runnable() && slices.ContainsFunc(serverCommands, func(s string) bool {
			return s == path || strings.HasPrefix(path, s+" ")
		}) {
			sub.RunE = func(*cobra.Command, []string) error { return a.becomeServer(words) }
		}
		a.startsServer(sub, words)
	}
}

// becomeServer starts markmill-server in the place of this program.
func (a *app) becomeServer(words []string) error {
	program, err := beside(serverProgram)
	if err != nil {
		return err
	}
	if a.actor != "" {
		_ = os.Setenv(child.ActorVariable, a.actor) // no text is refused but one with a NUL, which it has not
	}
	return become(program, append([]string{serverProgram}, words...)...)
}

// beside finds one of Markmill's programs, beside this one.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err != nil {
		return "", usagef("the program %s is not there; it comes with each package of Markmill, and in its source "+
			"go build -o %s%c ./cmd/... makes it", program, filepath.Dir(self), filepath.Separator)
	}
	return program, nil
}

// program is the path of markmill.
func (w *world) program() (string, error) {
	if w.server != nil {
		return beside(ownProgram)
	}
	return os.Executable()
}

// do does a call of the queue.
func (a *app) do(call *queue.Call) (err error) {
	if call.Program, err = a.program(); err != nil {
		return err
	}
	code, err := a.server.Queue(*call, a.stdin, a.stdout, a.stderr)
	if err != nil {
		return err
	}
	return endWith(code)
}

// serverWith prepares a command of markmill-server for the queue of this one.
func (a *app) serverWith(o *queueOptions, words ...string) (*exec.Cmd, error) {
	program, err := beside(serverProgram)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(words, o.words()...)...)
	cmd.Env = append(child.Environ(child.As(context.Background(), a.actor)),
		"MARKMILL_NATS="+cmp.Or(o.URL, a.env("MARKMILL_NATS")))
	cmd.Stderr = a.stderr
	return cmd, nil
}

// words are these options for another command, but for the address of the server: it may have a password, and others
// see arguments.
func (o *queueOptions) words() (list []string) {
	for _, one := range [][2]string{{"nats-creds", absolutePlace(o.Credentials)}, {"nats-ca", absolutePlace(o.CA)},
		{"nats-cert", absolutePlace(o.Cert)}, {"nats-key", absolutePlace(o.Key)}, {"files", absolutePlace(o.Files)},
		{"repo", absolutePlace(o.repo)}} {
		if one[1] != "" {
			list = append(list, "--"+one[0]+"="+one[1])
		}
	}
	if o.Replicas != 1 {
		list = append(list, "--replicas="+strconv.Itoa(o.Replicas))
	}
	return list
}
