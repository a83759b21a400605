package reads

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher collects what is opened in the watched folders.
type Watcher struct {
	root     string
	fd, stop int           // inotify, and what ends collect
	ended    chan struct{} // collect has

	mu      sync.Mutex
	folders map[int32]string // by watch: "" or a path that ends in a slash
	opened  map[string]bool
	lost    bool
	buf     []byte
}

// Watch watches the folder root and those of folders, which are slash-separated paths below it.
func Watch(root string, folders func(yield func(string) bool)) (w *Watcher, err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w (fs.inotify.max_user_instances bounds how many there are)", err)
	}
	w = &Watcher{root: root, fd: fd, ended: make(chan struct{}), folders: map[int32]string{}, opened: map[string]bool{},
		buf: make([]byte, 256<<10)}
	if w.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	for name := range folders {
		if err := w.Add(name); err != nil {
			return nil, errors.Join(err, unix.Close(fd), unix.Close(w.stop))
		}
	}
	go w.collect()
	return w, nil
}

// Add watches one more folder, by its path below the root. One that is watched stays so.
func (w *Watcher) Add(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, err := unix.InotifyAddWatch(w.fd, filepath.Join(w.root, name), unix.IN_OPEN|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	if err != nil {
		return fmt.Errorf("inotify: %w (fs.inotify.max_user_watches bounds how many folders are watched)", err)
	}
	if name != "" {
		name += "/"
	}
	w.folders[int32(at)] = name
	return nil
}

// Close ends the watching.
func (w *Watcher) Close() error {
	_, err := unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 1})
	if err == nil {
		<-w.ended
	}
	return errors.Join(err, unix.Close(w.fd), unix.Close(w.stop))
}

// pause is how long collect lets events come together. A program that opens files one after the other is not slowed
// down by a switch to this one for each, and the kernel's queue has room for 16,384.
const pause = time.Millisecond

// collect reads events as they come, so that the queue of the kernel does not overflow. It waits outside of Go's
// poller, which would wake up for each event.
func (w *Watcher) collect() {
	defer close(w.ended)
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.stop), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil || fds[1].Revents != 0 {
			return
		}
		w.mu.Lock()
		ended := w.drain()
		w.mu.Unlock()
		if ended {
			return
		}
		time.Sleep(pause)
	}
}

// drain reads all events that are there; mu is held. It returns true at the end of the watching.
func (w *Watcher) drain() bool {
	for {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return false
		case err != nil || n <= 0:
			w.lost = true
			return true
		default:
			w.add(w.buf[:n])
		}
	}
}

func (w *Watcher) add(events []byte) {
	order := binary.NativeEndian
	for len(events) >= unix.SizeofInotifyEvent {
		at, mask := int32(order.Uint32(events)), order.Uint32(events[4:])
		size := int(order.Uint32(events[12:]))
		name := events[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]
		events = events[unix.SizeofInotifyEvent+size:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		folder, known := w.folders[at]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			w.lost = true
		case !known:
		case mask&unix.IN_IGNORED != 0: // the folder was removed
			delete(w.folders, at)
			w.opened[folder+Removed] = true
		case len(name) == 0:
			w.opened["/"+folder] = true
		case mask&unix.IN_ISDIR == 0:
			w.opened[folder+string(name)] = true
		}
	}
}

// Removed is the name in a folder that says that the folder itself was removed, and nothing in it is watched any more.
const Removed = "\x00removed"

// Peek calls visit for what was opened since the last Take, which still returns it.
func (w *Watcher) Peek(visit func(name string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drain()
	for name := range w.opened {
		visit(name)
	}
}

// Take returns what was opened since the last call, until now: files by their path, folders by their path between
// slashes ("/" is the root). lost says that events were lost: anything may have been opened.
func (w *Watcher) Take() (opened map[string]bool, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drain()
	opened, lost = w.opened, w.lost
	w.opened = map[string]bool{}
	return opened, lost
}
