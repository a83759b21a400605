package sandbox

import (
	"markmill/notebooks/codec"
	"markmill/runs"
)

// HelperName is the name under which the program is the helper.
const HelperName = "markmill-sandbox"

// Spec tells the helper what to enforce. Each session has one, in a file where no step can write.
type Spec struct {
	// Landlock is the Landlock ABI version to use; 0 is none.
	Landlock int `json:"landlock"`
	// Files reports whether Landlock restricts files, or only the network.
	Files bool     `json:"files"`
	Write []string `json:"write"` // writable files and folders, with everything below
	// Read, if not empty, lists everything whose content may be read, with everything below.
	Read []string `json:"read"`
	// ReadOnly is mounted read-only, except for paths of Write below it.
	ReadOnly  []string           `json:"read_only"`
	Network   string             `json:"network"` // as in runs.SandboxData
	Resources runs.ResourcesData `json:"resources"`
	// Filter reports whether system calls that reach processes, IPC objects and keys outside are refused; IPC, whether
	// the session has its own IPC objects.
	Filter bool `json:"filter"`
	IPC    bool `json:"ipc"`
}

// JSON returns the Spec in the form that the helper reads.
func (s Spec) JSON() ([]byte, error) { return codec.Marshal(s) }

// SpecOf reads what JSON wrote. "" is a Spec with nothing to enforce.
func SpecOf(text string) (s Spec, err error) {
	if text != "" {
		err = codec.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// Needed reports whether there is anything for the helper to do.
func (s Spec) Needed() bool {
	return s.Filter || s.Landlock > 0 || s.Namespaces() || s.Resources != runs.ResourcesData{}
}

// Namespaces reports whether the session's processes start in their own namespaces.
func (s Spec) Namespaces() bool { return s.Network == NetworkNamespace || len(s.ReadOnly) > 0 }

// Exit codes of the helper when it does not become the interpreter, as in a shell.
const (
	exitRefused = 126 // the Spec cannot be enforced, or the program cannot be started
	exitMissing = 127 // no such program
)

// devices lists the device files that programs write to. Disks and memory are not among them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
	"/dev/pts", "/dev/dri", "/dev/kfd", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3",
	"/dev/nvidiactl",
	"/dev/nvidia-uvm", "/dev/nvidia-modeset"}

// shared is the folder for POSIX shared memory.
const shared = "/dev/shm"
