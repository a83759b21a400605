package jobqueue

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/notebooks"
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
