package sandbox

import (
	"markmill/notebooks/codec"
	"markmill/runs"
)

// HelperName is the name of the program under which it is the helper.
const HelperName = "markmill-sandbox"

// Spec is the helper's orders: one file per session, where no step can write.
type Spec struct {
	// Landlock is the version of Landlock's interface that was promised; 0 does without.
	Landlock int `json:"landlock"`
	// Files reports whether Landlock holds files, or only the network.
	Files bool     `json:"files"`
	Write []string `json:"write"` // files and folders that may be written, with everything below
	// Read, when there is any, is all whose content may be read, with everything below.
	Read []string `json:"read"`
	// ReadOnly is mounted read-only, except what of Write is below it.
	ReadOnly  []string           `json:"read_only"`
	Network   string             `json:"network"` // as in runs.SandboxData
	Resources runs.ResourcesData `json:"resources"`
	// Filter reports whether system calls that reach processes, IPC objects and keys outside are refused; IPC,
	// whether the objects are the session's own.
	Filter bool `json:"filter"`
	IPC    bool `json:"ipc"`
}

// JSON is what the helper reads.
func (s Spec) JSON() ([]byte, error) { return codec.Marshal(s) }

// Needed reports whether there is anything for the helper to do.
func (s Spec) Needed() bool {
	return s.Filter || s.Landlock > 0 || s.Namespaces() || s.Resources != runs.ResourcesData{}
}

// Namespaces reports whether the session's processes are started in namespaces of their own.
func (s Spec) Namespaces() bool { return s.Network == NetworkNamespace || len(s.ReadOnly) > 0 }

// Exit codes of the helper when it does not become the interpreter, as a shell has them.
const (
	exitRefused = 126 // what the Spec says cannot be done, or the program cannot be started
	exitMissing = 127 // there is no such program
)

// devices are the device files that programs write to. Those of disks and memory are not among them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
	"/dev/ptmx", "/dev/pts",
	"/dev/dri", "/dev/kfd", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3",
	"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-modeset"}

// shared is shared memory: a folder that holds what processes share while they live.
const shared = "/dev/shm"
