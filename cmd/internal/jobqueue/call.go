package jobqueue

import (
	"cmp"
	"context"
	"os/exec"
	"strconv"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/program"
	"markmill/engine/queue"
)

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
