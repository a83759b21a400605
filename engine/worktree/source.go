package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	git "github.com/go-git/go-git/v6"

	"markmill/notebooks"
)

// OID names a Git object in hexadecimal: 40 digits for SHA-1, 64 for SHA-256; "" is none.
type OID string

// ErrNoRepository is what Open wraps when no folder upwards holds a Git repository.
var ErrNoRepository = errors.New("not inside a Git repository")

// Source is the user's repository and checkout, which a run only ever reads.
type Source struct {
	root   string // of the checkout
	gitDir string // of the checkout; a linked worktree has its own
	common string // of the repository
	fmt    *format
	conf   settings
	pause  func(time.Duration) // between tries to read what another process is putting there

	mu    sync.Mutex
	repo  *git.Repository // opened when first needed
	print *node           // the walk of the last fingerprint: the next one lists only what changed
}

// Open finds the repository that dir is in, by looking upwards. GIT_DIR and its like are not asked:
// a run is of the folder that it was started for.
func Open(dir string) (*Source, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		dot := filepath.Join(at, ".git")
		if fi, err := os.Stat(dot); err == nil {
			gitDir := dot
			if !fi.IsDir() {
				if gitDir, err = readGitFile(dot); err != nil {
					return nil, err
				}
			}
			if isGitDir(gitDir) {
				return openAt(at, gitDir)
			}
		}
		if isGitDir(at) && isBare(at) {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: at, Msg: "a bare repository has no checkout to run in",
				Hint: "run in a clone of it, or in a worktree made with `git worktree add`"}
		}
		if at == filepath.Dir(at) {
			return nil, fmt.Errorf("%s is %w", dir, ErrNoRepository)
		}
	}
}

// readGitFile follows a .git file, as linked worktrees and submodules have it.
func readGitFile(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: file, Msg: `a .git file that does not begin with "gitdir: "`}
	}
	dir = strings.TrimRight(dir, "\r\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return dir, nil
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// isBare keeps a run inside .git itself from being taken for one in a bare repository.
func isBare(dir string) bool { return filepath.Base(dir) != ".git" }

func openAt(root, gitDir string) (*Source, error) {
	s := &Source{root: root, gitDir: gitDir, common: gitDir, fmt: formatSHA1, pause: time.Sleep}
	if data, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		s.common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(s.common) {
			s.common = filepath.Join(gitDir, s.common)
		}
	}
	var err error
	if s.conf, err = readSettings(s.common, gitDir); err != nil {
		return nil, err
	}
	if v, ok := s.conf.get("extensions", "", "objectformat"); ok && strings.EqualFold(v, "sha256") {
		s.fmt = formatSHA256
	}
	if v, _ := s.conf.get("extensions", "", "refstorage"); strings.EqualFold(v, "reftable") {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: root, Msg: "the repository keeps its refs in a reftable, which cannot be read here",
			Hint: "`git refs migrate --ref-format=files` converts it, or run in a clone"}
	}
	return s, nil
}

// Root is the top folder of the checkout.
func (s *Source) Root() string { return s.root }

// GitDir is the Git directory of the checkout (of a linked worktree: its own).
func (s *Source) GitDir() string { return s.gitDir }

// CommonDir is the Git directory of the repository: of a linked worktree, what all share.
func (s *Source) CommonDir() string { return s.common }

// Head is the commit that is checked out; "" when the branch has no commit yet.
func (s *Source) Head() (OID, error) {
	data, err := os.ReadFile(filepath.Join(s.gitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	return s.follow(string(data), 0)
}

// follow reads the content of a ref file down to an object.
func (s *Source) follow(content string, depth int) (OID, error) {
	content = strings.TrimSpace(content)
	name, symbolic := strings.CutPrefix(content, "ref:")
	if !symbolic {
		if _, ok := s.fmt.parse(OID(content)); !ok {
			return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: fmt.Sprintf("HEAD holds %q, which is no commit", content)}
		}
		return OID(content), nil
	}
	if depth > 5 {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: "HEAD follows refs in a circle"}
	}
	content, err := s.ref(strings.TrimSpace(name))
	if content == "" || err != nil {
		return "", err
	}
	return s.follow(content, depth+1)
}

// ref gives the content of a ref, "" when there is none of that name.
func (s *Source) ref(name string) (string, error) {
	for _, dir := range []string{s.gitDir, s.common} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			return strings.TrimSpace(string(data)), nil
		}
		if !gone(err) && !isFolder(filepath.Join(dir, filepath.FromSlash(name))) {
			return "", err
		}
	}
	data, err := os.ReadFile(filepath.Join(s.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	i := bytes.Index(data, []byte(" "+name+"\n"))
	if i < 2*s.fmt.size {
		return "", nil
	}
	return string(data[i-2*s.fmt.size : i]), nil
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// Relative is a path of this machine as a slash-separated one in the checkout; ok is false for one elsewhere. The file
// need not exist.
func (s *Source) Relative(name string) (rel string, ok bool) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	abs = filepath.Join(realPath(filepath.Dir(abs)), filepath.Base(abs))
	rel, err = filepath.Rel(realPath(s.root), abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
