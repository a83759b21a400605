package jupyter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"markmill/notebooks/codec"
)

// Connection is the content of a connection file: where the kernel listens, and the signing key.
type Connection struct {
	Transport string `json:"transport"` // "ipc" or "tcp"
	IP        string `json:"ip"`        // ipc: the beginning of the sockets' paths
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	Heartbeat int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`
	Name      string `json:"kernel_name"`

	dir string // ipc: the folder of the sockets, as this side reaches it
}

// socketName begins the names of the sockets' files.
const socketName = "k"

// maxSocketPath is what the address of a socket may have at most (sockaddr_un, the smallest of the systems).
const maxSocketPath = 100

// IPC makes a connection over sockets in dir, which the kernel reaches as seen (it may be relative to where the kernel
// starts). There are no ports that two kernels could fight for, and nobody else of the machine can reach them.
func IPC(dir, seen, name string) (Connection, bool) {
	c := Connection{Transport: "ipc", IP: filepath.Join(seen, socketName), Shell: 1, IOPub: 2, Stdin: 3, Control: 4,
		Heartbeat: 5, Key: newID(), Scheme: "hmac-sha256", Name: name, dir: dir}
	own := filepath.Join(dir, socketName)
	if _, err := os.Stat(descriptors); err == nil { // the folder has a short name, too: see dial
		own = ""
	}
	return c, max(len(c.IP), len(own))+len("-1") <= maxSocketPath
}

// descriptors has a name for every file that this process has open, where the system offers it.
const descriptors = "/proc/self/fd"

// TCP makes a connection over ports of the loopback interface, for kernels that know no other. A port
// that is free now may be another's when the kernel comes to listen: the kernel then ends, or this side finds
// somebody else there, and the kernel is started again with others.
func TCP(name string) (Connection, error) {
	c := Connection{Transport: "tcp", IP: "127.0.0.1", Key: newID(), Scheme: "hmac-sha256", Name: name}
	for _, port := range []*int{&c.Shell, &c.IOPub, &c.Stdin, &c.Control, &c.Heartbeat} {
		for try := 0; *port == 0 || try < 100 && !handed.take(*port); try++ {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				return c, fmt.Errorf("looking for a free port: %w", err)
			}
			defer l.Close() // after all are found, so that they differ
			*port = l.Addr().(*net.TCPAddr).Port
		}
	}
	return c, nil
}

// handed are the ports that this process gave to kernels of late: one that was started a moment ago does not listen
// yet, and the system would give its port to the next.
var handed ports

type ports struct {
	mu     sync.Mutex
	recent []int
}

// take reports whether a port may be given, and notes it.
func (p *ports) take(port int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.recent, port) {
		return false
	}
	const kept = 2000
	if p.recent = append(p.recent, port); len(p.recent) > kept {
		p.recent = p.recent[1:]
	}
	return true
}

// Write writes the connection file, readable only by its owner: whoever has the key can run code.
func (c Connection) Write(file string) error {
	text, err := codec.Indent(c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// address returns the address of a socket, valid until done is called.
func (c Connection) address(port int) (network, address string, done func(), err error) {
	done = func() {}
	if c.Transport != "ipc" {
		return "tcp", net.JoinHostPort(c.IP, strconv.Itoa(port)), done, nil
	}
	name := socketName + "-" + strconv.Itoa(port)
	if address = filepath.Join(c.dir, name); len(address) <= maxSocketPath {
		return "unix", address, done, nil
	}
	dir, err := os.Open(c.dir)
	if err != nil {
		return "", "", nil, err
	}
	return "unix", filepath.Join(descriptors, strconv.Itoa(int(dir.Fd())), name), func() { dir.Close() }, nil
}

// made tells when a file was made in the folder of the sockets, until stop is called; never, where the system or a
// limit of it has no way to tell. Looking again and again costs more than all else that is done while a kernel starts.
func (c Connection) made() (news <-chan fsnotify.Event, stop func()) {
	none := func() {}
	if c.Transport != "ipc" || runtime.GOOS != "linux" {
		return nil, none
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, none
	}
	stop = func() { watcher.Close() }
	if err := watcher.Add(c.dir); err != nil {
		stop()
		return nil, none
	}
	return watcher.Events, stop
}

// dial connects to one of the kernel's sockets, again and again until it listens, at once when news tell of a file.
// Whether a socket in a folder is there costs a fraction of dialling it, and is looked for more often: a kernel of
// Python is started within some hundred milliseconds.
func (c Connection) dial(
	ctx context.Context, port int, kind, identity string, news <-chan fsnotify.Event,
) (*socket, error) {
	network, address, done, err := c.address(port)
	if err != nil {
		return nil, err
	}
	defer done()
	var dialer net.Dialer
	dial := dialer.DialContext
	longest := 20 * time.Millisecond
	if network == "unix" {
		if longest = 5 * time.Millisecond; news != nil {
			longest = time.Second // should something be missed
		}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, err := os.Lstat(address); err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		}
	}
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		conn, err := dial(ctx, network, address)
		if err == nil && network == "tcp" && conn.LocalAddr().String() == conn.RemoteAddr().String() {
			conn.Close() // a port on which nobody listens yet may be given to the one who dials it
			err = errors.New("it is this side's own port")
		}
		if err == nil {
			return newSocket(conn, kind, identity)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", address, context.Cause(ctx))
		case <-news:
			wait = time.Millisecond / 2 // it is there before the kernel listens on it
		case <-time.After(wait):
		}
	}
}
