package jobqueue

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Options are the options of all commands of the queue.
type Options struct{ queue.Server }

func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.URL, "nats", "",
		"`URL` of a NATS server with JetStream, or several with commas (default: $MARKMILL_NATS, else .markmill/queue)")
	f.StringVar(&o.Credentials, "nats-creds", "", "`FILE` with the credentials for the server (JWT and key)")
	f.StringVar(&o.CA, "nats-ca", "", "`FILE` with the certificates that sign the server's")
	f.StringVar(&o.Cert, "nats-cert", "", "`FILE` with the certificate for a server that asks for one")
	f.StringVar(&o.Key, "nats-key", "", "`FILE` with the key of --nats-cert")
	f.StringVar(&o.Files, "files", "", "`PLACE` for files above 512 KB, the same for all users of the queue: "+
		"/mnt/shared or s3://BUCKET/PREFIX (default: $MARKMILL_FILES, else in the queue)")
	f.IntVar(&o.Replicas, "replicas", 1,
		"keep `N` replicas of the streams in a cluster; used when the first command creates them")
}

// Connection is the one to the queue of the repository around the working directory or --repo.
func Connection(a *program.App, o *Options) (queue.Connection, error) {
	store, src, err := a.Here()
	return ConnectionOf(a, o, store, src), err
}

func ConnectionOf(a *program.App, o *Options, store runs.Store, src *worktree.Source) queue.Connection {
	server := o.Server
	server.URL = cmp.Or(server.URL, a.Env("MARKMILL_NATS"))
	server.Files = absolutePlace(cmp.Or(server.Files, a.Env("MARKMILL_FILES")))
	return queue.Connection{Version: program.Version().Version, Root: engines.RootOf(src), Store: store.Dir,
		User:   a.UserName(),
		Server: server}
}

// absolutePlace is a file or folder as a command elsewhere can name it; "" and an address stay.
func absolutePlace(at string) string {
	if at == "" || strings.Contains(at, "://") {
		return at
	}
	return files.Absolute(at)
}

// JobOptions are the options of a job that the rows of a sweep have, too.
type JobOptions struct {
	Priority string
	Labels   []string
	Retries  int
}

func (o *JobOptions) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.Labels, "label", nil, "only workers that offer `LABEL,…` take the job; repeatable")
	f.StringVar(&o.Priority, "priority", string(queue.Normal), "`PRIORITY` in the queue: high, normal, low")
	f.IntVar(&o.Retries, "retries", 0, "retry a run that does not pass up to `N` times, with growing pauses")
}

func (o *JobOptions) Check() (err error) {
	if o.Labels, err = queue.CheckLabels(o.Labels); err != nil {
		return err
	}
	if !slices.Contains(queue.Priorities, queue.Priority(o.Priority)) {
		return program.Usagef("--priority %s is not known; known: high, normal, low", o.Priority)
	}
	if o.Retries < 0 {
		return program.Usagef("--retries %d; give 0 or more", o.Retries)
	}
	return nil
}

// OutputIn returns the OUTPUT of a job as a path in the repository.
func OutputIn(root, output string) (string, error) {
	path, err := program.OutputName(output)
	if err != nil || path == "" {
		return path, err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // as root is
		path = filepath.Join(real, filepath.Base(path))
	}
	if rel, err := filepath.Rel(root, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	return path, queue.CheckOutput(path)
}

// Singleton returns the front matter's rule for jobs with the same key; nil if it has none. given are the parameters
// that a running agent is told.
func Singleton(nb *notebooks.Notebook, eng *engine.Engine, req engine.Request, given []notebooks.Bound) (
	*queue.Singleton, error) {
	front := nb.Front.Singleton
	if front.Key == "" || front.Overlap == notebooks.OverlapAllow {
		return nil, nil
	}
	key, err := views.Expand(front.Key, eng, req)
	if err != nil {
		return nil, err
	}
	s := &queue.Singleton{Key: key, Overlap: front.Overlap}
	if s.Overlap == queue.OverlapSteer {
		s.Say = "This run was requested again, and no second one is started. Continue with these parameters:\n"
		for _, b := range given {
			s.Say += b.Param.Name + " = " + b.Value.String() + "\n"
		}
	}
	return s, nil
}

// Only is the QueueDo of a command that ends with 0 unless it fails.
func Only(do func(context.Context, program.Queue) error) program.QueueDo {
	return func(ctx context.Context, q program.Queue) (int, error) { return program.ExitPass, do(ctx, q) }
}

// InQueue has a command work with the queue of the repository around the working directory or --repo.
func InQueue(a *program.App, command string, o *Options, do program.QueueDo) error {
	at, err := Connection(a, o)
	if err != nil {
		return err
	}
	return UseQueue(a, command, at, false, do)
}

// UseQueue is inQueue for a given connection. writes says that do may put larger files into the queue.
func UseQueue(a *program.App, command string, at queue.Connection, writes bool, do program.QueueDo) (err error) {
	if at.Program, err = a.Program(); err != nil {
		return err
	}
	code, err := a.Server.Queue(at, command, writes, a.Stdout, a.Stderr, do)
	if err != nil {
		return err
	}
	return program.EndWith(code)
}

// ServerWith prepares a command of markmill-server for the queue of this one.
func ServerWith(a *program.App, o *Options, words ...string) (*exec.Cmd, error) {
	program, err := program.Beside(program.ServerProgram)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(words, o.Words()...)...)
	cmd.Env = append(child.Environ(child.As(context.Background(), a.Actor)),
		"MARKMILL_NATS="+cmp.Or(o.URL, a.Env("MARKMILL_NATS")))
	cmd.Stderr = a.Stderr
	return cmd, nil
}

// Words are these options for another command, but for the address of the server: it may have a password, and others
// see arguments.
func (o *Options) Words() (list []string) {
	for _, one := range [][2]string{{"nats-creds", absolutePlace(o.Credentials)}, {"nats-ca", absolutePlace(o.CA)},
		{"nats-cert", absolutePlace(o.Cert)}, {"nats-key", absolutePlace(o.Key)}, {"files", absolutePlace(o.Files)}} {
		if one[1] != "" {
			list = append(list, "--"+one[0]+"="+one[1])
		}
	}
	if o.Replicas != 1 {
		list = append(list, "--replicas="+strconv.Itoa(o.Replicas))
	}
	return list
}

// courierTime limits the background process that a run starts to deliver its alerts.
const courierTime = "2m"

// StartCourier starts a process that delivers the alerts of runs, and does not wait for it. It passes on the settings
// read before the run, because a run in place may have changed the file.
func StartCourier(a *program.App, eng *engine.Engine, store runs.Store) {
	ids, err := store.AwaitingAlerts()
	if err == nil && len(ids) == 0 || a.Env("MARKMILL_DEPTH") != "" {
		return
	}
	if err == nil {
		err = leaveCourier(a, eng, store)
	}
	if err != nil {
		a.Tell("markmill: alerts are not delivered until markmill health alerts deliver runs: %s\n", err)
	}
}

func leaveCourier(a *program.App, eng *engine.Engine, store runs.Store) error {
	cmd, err := ServerWith(a, &Options{Server: queue.Server{Replicas: 1}},
		"health", "alerts", "deliver", "--background", "--wait", courierTime)
	if err != nil {
		return err
	}
	targets := eng.Config.Alerts
	if targets == nil {
		targets = map[string]engine.AlertTarget{}
	}
	text, err := codec.Marshal(targets)
	if err != nil {
		return err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd.Stdin, cmd.Stderr = in, nil
	cmd.Env = append(cmd.Env, "MARKMILL_DIR="+store.Dir)
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = out.Write(text) // after the start: it may be longer than a pipe holds
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
