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
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill-server/workbench"
	"markmill/cmd/markmill/child"
	"markmill/engine"
	"markmill/engine/queue"
)

// The programs lie beside each other.
const (
	ownProgram    = "markmill"
	serverProgram = "markmill-server" // docs/performance.md says why it is a program of its own
)

// Server is what markmill-server does. markmill has none.
type Server struct {
	// Queue connects to the queue for a command, and calls do, whose context a signal ends. It returns the exit code.
	// writes says that do may put larger files into the queue.
	Queue func(at queue.Connection, command string, writes bool, stdout, stderr io.Writer,
		do func(context.Context, Queue) (int, error)) (int, error)
	// Serve serves the workbench until ctx ends.
	Serve func(ctx context.Context, stdout io.Writer, o workbench.Options) error
	// AddToken adds a person to a file of people, and returns the person's token.
	AddToken func(file, name, role string) (token string, err error)
}

// Queue is a connection to the queue, with what its commands do: *queue.Client of markmill-server. Where it returns an
// exit code, the command ends with that.
type Queue interface {
	Submit(ctx context.Context, spec *queue.Spec, o queue.SubmitOptions) (int, error)
	Work(ctx context.Context, o queue.WorkerOptions) error
	Schedule(ctx context.Context, to string) error
	ChangeSchedule(ctx context.Context, notebook string, pause bool, reason string) error

	SubmitRow(ctx context.Context, spec *queue.Spec) <-chan queue.RowEnd
	FollowRows(ctx context.Context)
	CancelRows(ctx context.Context, why string)

	List(ctx context.Context, f queue.Filter, asJSON bool) error
	Verify(ctx context.Context, mend bool) (int, error)
	Show(ctx context.Context, job string, asJSON bool) error
	Follow(ctx context.Context, job string) error
	Fetch(ctx context.Context, job string, asJSON bool) (int, error)
	Cancel(ctx context.Context, job, reason string) error
	Retry(ctx context.Context, job, reason string) error
	Steer(ctx context.Context, job, text string) error
	Answer(ctx context.Context, job string, reply engine.Reply, asJSON bool) error
	Pause(ctx context.Context, name, reason string) error
	Resume(ctx context.Context, name string) error
	Prune(ctx context.Context, age time.Duration, keep int) error

	DeliverAlerts(ctx context.Context, targets map[string]engine.AlertTarget, patience time.Duration, quiet bool) (int,
		error)
	ListAlerts(ctx context.Context, open bool, limit int, asJSON bool) error
	ShowAlert(ctx context.Context, alert string, asJSON bool) error
	RetryAlert(ctx context.Context, alert, reason string) (int, error)
	Mute(ctx context.Context, m queue.Mute) error
	Unmute(ctx context.Context, m queue.Mute) error
	ListMutes(ctx context.Context, asJSON bool) error
}

// serverCommands are the commands of markmill-server, with all below them. approve and deny start it for a job, resume
// for a sweep whose rows are jobs.
var serverCommands = []string{"queue", "schedule serve", "health alerts", "serve"}

// servesBelow reports whether markmill-server has a command of this name, or one below it.
func servesBelow(path string) bool {
	return path == "approve" || path == "deny" || path == "resume" || slices.ContainsFunc(serverCommands, func(s string) bool {
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

// becomeServer starts markmill-server with the words of a command line, in the place of this program.
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

// queueDo is what a command does with the queue.
type queueDo func(context.Context, Queue) (int, error)

// only is the queueDo of a command that ends with 0 unless it fails.
func only(do func(context.Context, Queue) error) queueDo {
	return func(ctx context.Context, q Queue) (int, error) { return exitPass, do(ctx, q) }
}

// inQueue has a command work with the queue of the repository around the working directory or --repo.
func (a *app) inQueue(command string, o *queueOptions, do queueDo) error {
	at, err := a.connection(o)
	if err != nil {
		return err
	}
	return a.useQueue(command, at, false, do)
}

// useQueue is inQueue for a given connection. writes says that do may put larger files into the queue.
func (a *app) useQueue(command string, at queue.Connection, writes bool, do queueDo) (err error) {
	if at.Program, err = a.program(); err != nil {
		return err
	}
	code, err := a.server.Queue(at, command, writes, a.stdout, a.stderr, do)
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
