package program

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program in the place of this one, which only waits for it.
func become(program string, args ...string) error {
	cmd := exec.Command(program, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return Exit(ended.ExitCode())
	}
	return err
}
