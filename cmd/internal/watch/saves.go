package watch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"markmill/engine/worktree"
	"markmill/notebooks"
)

// The end of a save: editors write a file in several operations, and git checkout writes many files.
const (
	quiet   = 25 * time.Millisecond // no further operation for so long
	longest = time.Second           // of operations without end
	locked  = 10 * time.Second      // that a Git command may take, while it locks the index
)

// saves collects the paths that are saved in a checkout and in further folders.
type saves struct {
	src     *worktree.Source
	visible *worktree.Visible
	*fsnotify.Watcher
	own func(path string) bool // what the runs themselves write

	pending map[string]bool // by path: of the checkout slash-separated and relative, else absolute
	all     bool            // more happened than the system could tell
	first   time.Time       // of what is pending
	timer   *time.Timer
}

// newSaves watches the folders of the checkout that Git does not ignore.
func newSaves(src *worktree.Source, own func(path string) bool) (*saves, error) {
	w, err := fsnotify.NewBufferedWatcher(1 << 12)
	if err != nil {
		return nil, cannotWatch(err)
	}
	s := &saves{src: src, visible: src.Visible(), Watcher: w, own: own, pending: map[string]bool{},
		timer: time.NewTimer(time.Hour)}
	s.timer.Stop()
	err = s.folder(".", nil)
	if err == nil {
		err = w.Add(src.GitDir())
	}
	if err != nil {
		return nil, errors.Join(cannotWatch(err), w.Close())
	}
	return s, nil
}

// folder watches a folder and those below it. found, which may be nil, gets the files that are there already.
func (s *saves) folder(dir string, found func(name string)) error {
	if !s.visible.Has(dir, true) {
		return nil
	}
	full := filepath.Join(s.src.Root(), filepath.FromSlash(dir))
	if err := s.Add(full); err != nil {
		return err
	}
	entries, err := os.ReadDir(full)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if err := s.folder(name, found); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case found != nil:
			found(name)
		}
	}
	return nil
}

// besides watches the folder of a file that the walk may have left out: an ignored one, or one outside the checkout.
func (s *saves) besides(file string) error {
	err := s.Add(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return cannotWatch(err)
}

// event notes what happened to a path.
func (s *saves) event(e fsnotify.Event) error {
	name, inside := s.src.InCheckout(e.Name)
	if !inside {
		name = filepath.ToSlash(e.Name)
	}
	if dir := filepath.Dir(e.Name); dir == s.src.GitDir() {
		if base := filepath.Base(e.Name); base != "index" && base != "HEAD" {
			return nil
		}
		name = gitPrefix + filepath.Base(e.Name)
	} else if Temporary(path.Base(name)) || s.own(e.Name) || strings.HasPrefix(name, ".markmill/") ||
		name == ".markmill" {
		return nil
	}
	if path.Base(name) == ".gitignore" {
		s.visible = s.src.Visible()
	}
	if inside && e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			err := s.folder(name, s.note)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return cannotWatch(err)
		}
	}
	s.note(name)
	return nil
}

// gitPrefix begins what is pending of the Git directory.
const gitPrefix = ".git/"

func (s *saves) note(name string) {
	if len(s.pending) == 0 && !s.all {
		s.first = time.Now()
	}
	s.pending[name] = true
	s.timer.Reset(quiet)
}

// lost notes that the system has lost operations.
func (s *saves) lost(err error) error {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		return cannotWatch(err)
	}
	s.all = true
	s.timer.Reset(quiet)
	return s.folder(".", nil) // folders may be among what was lost
}

// over reports whether what is pending is whole, when the timer has fired.
func (s *saves) over() bool {
	if s.src.Locked() && time.Since(s.first) < locked {
		s.timer.Reset(quiet)
		return false
	}
	return true
}

// late reports whether operations go on for so long that a run begins all the same.
func (s *saves) late() bool {
	return len(s.pending) > 0 && time.Since(s.first) > longest && !s.src.Locked()
}

// take returns what is pending, sorted; all says that more happened than that.
func (s *saves) take() (names []string, all bool) {
	for name := range s.pending {
		names = append(names, name)
	}
	slices.Sort(names)
	clear(s.pending)
	all, s.all = s.all, false
	s.timer.Stop()
	return names, all
}

// Temporary reports whether a file name is one that editors use for their own: swap, lock, backup and test files.
func Temporary(name string) bool {
	ext := path.Ext(name)
	return strings.HasPrefix(name, ".#") || strings.HasSuffix(name, "~") || name == "4913" ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") ||
		strings.HasPrefix(name, ".") && len(ext) == 4 && strings.HasPrefix(ext, ".sw") ||
		strings.HasPrefix(name, ".goutputstream-") || strings.HasSuffix(name, "___jb_tmp___") ||
		strings.HasSuffix(name, "___jb_old___")
}

func cannotWatch(err error) error {
	if err == nil {
		return nil
	}
	e := &notebooks.Error{Kind: notebooks.KindProvider, Msg: "the checkout cannot be watched: " + err.Error(), Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "raise fs.inotify.max_user_watches (sysctl), or let Git ignore large folders"
	case errors.Is(err, syscall.EMFILE):
		e.Hint = "raise fs.inotify.max_user_instances (sysctl), or ulimit -n"
	}
	return e
}
