package notify

import "os/exec"

func group(*exec.Cmd) {}
