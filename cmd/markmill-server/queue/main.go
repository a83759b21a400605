package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// Exit codes, as of markmill.
const (
	exitPass    = 0
	exitFail    = 1
	exitUsage   = 2
	exitBlocked = 3
)

// program is one call.
type program struct {
	queue.Call
	q              *jetstream.Queue
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Do does a call, and returns the exit code.
func Do(call queue.Call, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	p := &program{Call: call, stdin: stdin, stdout: stdout, stderr: stderr}
	ctx, stop := p.interruptible()
	defer stop()
	code, err := p.do(ctx)
	if caught, ok := errors.AsType[engine.Interrupt](err); ok {
		return 128 + caught.Signal, nil
	}
	return code, err
}

// interruptible ends its context with a signal; the second one ends the program.
func (p *program) interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for n := 0; ; n++ {
			number := int(syscall.SIGINT)
			if s, ok := (<-signals).(syscall.Signal); ok {
				number = int(s)
			}
			if n > 0 {
				os.Exit(128 + number)
			}
			cancel(engine.Interrupt{Signal: number})
		}
	}()
	return ctx, func() { signal.Stop(signals) }
}

func (p *program) do(ctx context.Context) (int, error) {
	commands := map[string]func(context.Context) (int, error){"submit": p.submit, "worker": p.work, "list": p.list,
		"show": p.show, "follow": p.follow, "cancel": p.cancel, "retry": p.retry, "fetch": p.fetchJob,
		"pause": p.pause, "resume": p.resume, "steer": p.steer, "answer": p.answer, "rows": p.sweep, "prune": p.prune,
		"verify":         p.verify,
		"alerts-deliver": p.deliverAlerts, "alerts-list": p.listAlerts, "alerts-show": p.showAlert,
		"alerts-retry": p.retryAlert, "scheduler": p.schedule, "pause-schedule": p.pauseSchedule,
		resumeSchedule: p.pauseSchedule,
		"alerts-mute":  p.mute, "alerts-unmute": p.endMute, "alerts-mutes": p.listMutes}
	command := commands[p.Do]
	if command == nil {
		return 0, fmt.Errorf("the queue knows no %q", p.Do)
	}
	writes := p.Do == "submit" || p.Do == "worker" || p.Do == "rows" || p.Do == "scheduler"
	if err := p.connect(ctx, writes); err != nil {
		return 0, err
	}
	defer p.q.Close()
	return command(ctx)
}

// connect connects to the queue. writes says that larger files may be put into it.
func (p *program) connect(ctx context.Context, writes bool) error {
	err := os.MkdirAll(p.Store, 0o755)
	if err == nil {
		_, err = runs.Store{Dir: p.Store}.Unfinished() // which makes Git ignore the store
	}
	if err != nil {
		return err
	}
	files, err := place(ctx, p.Server.Files, writes)
	if err != nil {
		return err
	}
	p.q, err = jetstream.Connect(ctx, jetstream.Options{Dir: p.dir("nats"), URL: p.Server.URL, Place: files,
		Credentials: p.Server.Credentials, CA: p.Server.CA, Cert: p.Server.Cert, Key: p.Server.Key,
		Replicas: p.Server.Replicas, Name: "markmill " + p.Do})
	return err
}

// dir is a folder of the queue in the store.
func (p *program) dir(name ...string) string {
	return filepath.Join(append([]string{p.Store, "queue"}, name...)...)
}

// tell prints a message on standard error.
func (p *program) tell(format string, args ...any) {
	for i, arg := range args {
		if _, number := arg.(int); !number {
			args[i] = plain.OneLine(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(p.stderr, "markmill: "+format+"\n", args...)
}

// print prints a document of --json.
func (p *program) print(name string, document any) error {
	body, err := codec.Marshal(document)
	if err != nil {
		return err
	}
	var members map[string]codec.Raw
	if err := codec.Unmarshal(body, &members); err != nil {
		return err
	}
	members["schema"] = codec.RawOf("markmill." + name + "/1")
	text, err := codec.Indent(members)
	if err == nil {
		_, err = p.stdout.Write(text)
	}
	return err
}
