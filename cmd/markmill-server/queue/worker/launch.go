package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"markmill/cmd/internal/program"
	"markmill/engine/queue"
	"markmill/notebooks/lazyregexp"
)

// launchOptions are those of a worker that runs on machines which another system allocates. That system starts workers
// and ends them; the jobs stay in the queue.
type launchOptions struct {
	where         string // slurm or kubernetes; "": the worker runs here
	count         int
	print         bool
	image, secret string // of Kubernetes
	rest          []string
}

func (o *launchOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.where, "launch", "", "submit workers to `WHAT` instead of running one here: slurm, kubernetes")
	f.IntVar(&o.count, "launch-count", 1, "submit `N` workers")
	f.BoolVar(&o.print, "print", false, "print what would be submitted, and submit nothing")
	f.StringVar(&o.image, "image", "", "`IMAGE` of the container, with markmill on its PATH (--launch kubernetes)")
	f.StringVar(&o.secret, "secret", "markmill-queue",
		"`NAME` of the secret with MARKMILL_NATS, also mounted at /etc/markmill (--launch kubernetes)")
}

// idle returns an error for an option of --launch without it.
func (o *launchOptions) idle(f *pflag.FlagSet) error {
	for _, name := range []string{"launch-count", "print", "image", "secret"} {
		if o.where == "" && f.Changed(name) {
			return program.Usagef("--%s goes with --launch", name)
		}
	}
	return nil
}

// name1123 is what Kubernetes takes for a name.
var name1123 = lazyregexp.New(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// launch submits workers. args are the options that each is started with.
func launch(ctx context.Context, a *program.App, o *launchOptions, server queue.Server, args []string) error {
	if o.count < 1 || o.count > maxLaunched {
		return program.Usagef("--launch-count %d: from 1 to %d workers are launched at once", o.count, maxLaunched)
	}
	if userInfo(server.URL) {
		return program.Usagef("--nats has a password, which what is submitted would show: put the address into " +
			"MARKMILL_NATS")
	}
	if server.URL == "" && os.Getenv("MARKMILL_NATS") == "" && o.where == "slurm" {
		return program.Usagef("workers on other machines need a server: name it with --nats URL or MARKMILL_NATS")
	}
	self, err := a.Program()
	if err != nil {
		return err
	}
	var argv []string
	text := ""
	switch o.where {
	case "slurm":
		argv, text = append([]string{"sbatch"}, o.rest...), slurmScript(o.count, append([]string{self}, args...))
	case "kubernetes":
		argv = append([]string{"kubectl", "create", "-f", "-"}, o.rest...)
		text, err = o.kubernetesJob(append([]string{"markmill"}, args...))
	default:
		return program.Usagef("--launch %s is not known; known: slurm, kubernetes", o.where)
	}
	if err != nil {
		return err
	}
	if o.print {
		_, err := fmt.Fprint(a.Stdout, text)
		return err
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return program.Usagef("%s is not on the PATH; --print shows what it would be given", argv[0])
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), a.Stdout, a.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// maxLaunched bounds the workers of one call; Slurm's own limit is 1001 unless it is configured.
const maxLaunched = 1000

// userInfo reports whether one of several addresses has a user or a password.
func userInfo(url string) bool { return strings.Contains(url, "@") }

// slurmScript is a batch script. Slurm passes the environment on, and so the address of the server with its password,
// which no script shows. It warns a worker before it ends it: enough to give jobs back.
func slurmScript(count int, argv []string) string {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "#!/bin/sh\n#SBATCH --job-name=markmill-worker\n#SBATCH --array=1-" + strconv.Itoa(count) +
		"\n#SBATCH --export=ALL\n#SBATCH --signal=B:TERM@30\nexec " + strings.Join(quoted, " ") + "\n"
}

// kubernetesJob is the manifest of a Job. The secret is named, and its values are nowhere in it.
func (o *launchOptions) kubernetesJob(argv []string) (string, error) {
	if o.image == "" {
		return "", program.Usagef(
			"--launch kubernetes needs --image, of a container with markmill and markmill-server on its PATH")
	}
	if !name1123.MatchString(o.secret) {
		return "", program.Usagef("--secret %q cannot name a secret of Kubernetes: use a-z, 0-9, - and .", o.secret)
	}
	type object = map[string]any
	job := object{"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"generateName": "markmill-worker-"},
		"spec": object{"parallelism": o.count, "completions": o.count, "ttlSecondsAfterFinished": 3600,
			"template": object{"spec": object{"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 60,
				"automountServiceAccountToken": false,
				"containers": []object{{"name": "worker", "image": o.image, "command": argv,
					"envFrom":      []object{{"secretRef": object{"name": o.secret}}},
					"volumeMounts": []object{{"name": "queue", "mountPath": "/etc/markmill", "readOnly": true}}}},
				"volumes": []object{{"name": "queue", "secret": object{"secretName": o.secret}}}}}}}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(job), e.Close())
	return b.String(), err
}

// workerArgs are the options of a worker that were given, for one that is started elsewhere: it drains and ends. Files
// are named by absolute paths, since Slurm's machines may have the working directory elsewhere.
func workerArgs(f *pflag.FlagSet, files bool) (args []string, err error) {
	args = []string{"queue", "worker", "--drain"}
	f.Visit(func(flag *pflag.Flag) {
		value := flag.Value.String()
		switch flag.Name {
		case "launch", "launch-count", "print", "image", "secret", "drain":
			return
		case "files":
			if files && !strings.Contains(value, "://") {
				value, err = filepath.Abs(value)
			}
		case "repo", "nats-creds", "nats-ca", "nats-cert", "nats-key":
			if files {
				var absErr error
				if value, absErr = filepath.Abs(value); absErr != nil {
					err = absErr
				}
			}
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		args = append(args, "--"+flag.Name+"="+value)
	})
	return args, err
}
