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

// run starts a program, without a shell, with the alert on its standard input. Its output is dropped. When the context
// ends, the program and its children are killed.
func run(ctx context.Context, command []string, a *queue.Alert) *Failure {
	text, err := codec.Marshal(document(a))
	if err != nil {
		return failf("%v", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	cmd.Env = append(os.Environ(), "MARKMILL_ALERT="+a.ID)
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
