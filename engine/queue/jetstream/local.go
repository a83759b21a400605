package jetstream

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"markmill/runs"
)

const (
	tokenFile   = "token"
	addressFile = "address"
	serverTime  = 20 * time.Second // for the start of a server with many jobs, or for another process to begin one
)

// local is the server of a folder. The process that holds the lock of the folder runs it, listens on the loopback
// interface, and requires a token; the others connect to it. When that process ends, in whatever way, the next one that
// dials starts the server. Two servers on one folder would lose acknowledged messages, so the lock comes first.
type local struct {
	dir   string
	token string

	mu      sync.Mutex
	server  *server.Server // nil: another process has it
	release func()
	closed  bool
}

// openLocal prepares the folder.
func openLocal(dir string) (*local, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &local{dir: dir}
	path := filepath.Join(dir, tokenFile)
	for range 2 { // the token of whoever made it first
		text, err := os.ReadFile(path)
		if err == nil && len(text) > 0 {
			l.token = string(text)
			return l, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := writeOnce(path, rand.Text()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is empty; remove it", path)
}

// writeOnce writes a file that only this user can read, unless another process has written it.
func writeOnce(path, text string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), runs.TempPrefix+"*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(text)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err = os.Link(temp.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Dial connects to the server of the folder, wherever it is. NATS calls it again whenever a connection is lost.
func (l *local) Dial(string, string) (net.Conn, error) {
	for deadline := time.Now().Add(serverTime); ; time.Sleep(20 * time.Millisecond) {
		conn, err := l.dial()
		if conn != nil || err != nil {
			return conn, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another process holds the lock of %s, and its server does not answer", l.dir)
		}
	}
}

// dial returns neither a connection nor an error while another process begins or ends its server.
func (l *local) dial() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	if l.server == nil {
		release, err := runs.Lock(l.dir)
		if errors.Is(err, runs.ErrLive) {
			return l.dialOther(), nil
		}
		if err != nil {
			return nil, err
		}
		if err := l.start(); err != nil {
			release()
			return nil, err
		}
		l.release = release
	}
	return l.server.InProcessConn()
}

// dialOther connects to the server of another process; nil while there is none.
func (l *local) dialOther() net.Conn {
	address, err := os.ReadFile(filepath.Join(l.dir, addressFile))
	if err != nil {
		return nil
	}
	conn, err := net.DialTimeout("tcp", string(address), time.Second)
	if err != nil {
		return nil
	}
	return conn
}

// start starts the server. The lock is held.
func (l *local) start() error {
	path := filepath.Join(l.dir, addressFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it is that of a process that has ended
	}
	s, err := server.NewServer(&server.Options{ServerName: "markmill", Host: "127.0.0.1", Port: server.RANDOM_PORT,
		Authorization: l.token, JetStream: true, StoreDir: filepath.Join(l.dir, "nats"), SyncAlways: true, NoSigs: true,
		NoLog: true, DisableShortFirstPing: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(serverTime) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return fmt.Errorf("the queue in %s cannot be opened: is the disk full, or are its files of another user?",
			l.dir)
	}
	if err := runs.WriteFile(path, []byte(strings.TrimPrefix(s.Addr().String(), "tcp://"))); err != nil {
		s.Shutdown()
		return err
	}
	l.server = s
	return nil
}

// close ends the server, if this process has it.
func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.server == nil {
		return
	}
	l.server.Shutdown()
	l.server.WaitForShutdown()
	l.server = nil
	l.release()
}
