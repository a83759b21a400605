package notify

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// passed are the variables that a program gets besides its own: how to find programs and files, and which language and
// time zone to write in. A process that delivers alerts has others, with secrets of its runs.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "TZ",
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "TEMP", "TMP"} // the last are those of Windows

// run starts a program, without a shell, with the alert on its standard input. Its output is dropped. When the context
// ends, the program and its children are killed.
func run(ctx context.Context, command []string, a *queue.Alert) *Failure {
	text, err := codec.Marshal(document(a))
	if err != nil {
		return failf("%v", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	cmd.Env = []string{"MARKMILL_ALERT=" + a.ID}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = time.Second
	group(cmd)
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return failf("%s", ended.ProcessState)
	}
	if err != nil {
		return failf("%v", err)
	}
	return nil
}
