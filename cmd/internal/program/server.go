package program

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"markmill/cmd/internal/child"
	"markmill/engine"
	"markmill/engine/queue"
)

// The programs lie beside each other.
const (
	ownProgram    = "markmill"
	ServerProgram = "markmill-server" // docs/performance.md says why it is a program of its own
)

// Server is what markmill-server does. markmill has none.
type Server struct {
	// Queue connects to the queue for a command, and calls do, whose context a signal ends. It returns the exit code.
	// writes says that do may put larger files into the queue.
	Queue func(at queue.Connection, command string, writes bool, stdout, stderr io.Writer,
		do func(context.Context, Queue) (int, error)) (int, error)
	// Serve serves the workbench until ctx ends.
	Serve func(ctx context.Context, a *App, stdout io.Writer, o Workbench) error
	// AddToken adds a person to a file of people, and returns the person's token.
	AddToken func(file, name, role string) (token string, err error)
}

// Workbench are the options of the workbench.
type Workbench struct {
	Program string // path of markmill
	Root    string // of the repository, or a folder outside one
	Listen  string // host and port; a port of 0 is any that is free
	Role    string // of those who sign in with an address that is printed: read (also ""), run or approve
	User    string // whose program it is: the actor of every action, for a person who has signed in with a token

	Cert, Key   string   // files of TLS; "" is plain HTTP
	Hosts       []string // names under which it is reached, besides those of the certificate
	Proxies     []string // addresses and networks of a proxy that names its users
	ProxyHeader string   // in which header
	Webhook     string   // file of the secret of webhooks; "" is WebhookVariable
	Tokens      string   // file of people and their roles; "" is nobody: whoever has a printed address acts as User
	Queue       []string // options of the commands of the queue
	Connection  queue.Connection
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

	Last(ctx context.Context) (job string, err error) // that List shows first
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

// BecomeServer starts markmill-server with the words of a command line, in the place of this program.
func (a *App) BecomeServer(words []string) error {
	program, err := Beside(ServerProgram)
	if err != nil {
		return err
	}
	if a.Actor != "" {
		_ = os.Setenv(child.ActorVariable, a.Actor) // no text is refused but one with a NUL, which it has not
	}
	return become(program, append([]string{ServerProgram}, words...)...)
}

// Beside finds one of Markmill's programs, beside this one.
func Beside(name string) (string, error) {
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
		return "", Usagef("the program %s is not there; it comes with each package of Markmill, and in its source "+
			"go build -o %s%c ./cmd/... makes it", program, filepath.Dir(self), filepath.Separator)
	}
	return program, nil
}

// Program is the path of markmill.
func (w *World) Program() (string, error) {
	if w.Server != nil {
		return Beside(ownProgram)
	}
	return os.Executable()
}

// QueueDo is what a command does with the queue.
type QueueDo func(context.Context, Queue) (int, error)
