package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	git "github.com/go-git/go-git/v6"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/rules"
	"markmill/notebooks"
)

// ErrNoRepository is what Open wraps when no folder upwards holds a Git repository.
var ErrNoRepository = errors.New("not inside a Git repository")

// Repo is a repository with a checkout.
type Repo struct {
	root   string // of the checkout
	gitDir string // of the checkout; a linked worktree has its own
	common string // of the repository
	Format *object.Format
	Config rules.Settings
	Pause  func(time.Duration) // between tries to read what another process is putting there

	mu      sync.Mutex
	db      *object.Database // opened when first needed
	own     *object.Reader   // of Read
	repo    *git.Repository  // opened when the others do not find something
	reading sync.Mutex       // with repo
}

// Open finds the repository that dir is in, by looking upwards. It ignores GIT_DIR and its like: a run belongs to the
// folder that it was started for.
func Open(dir string) (*Repo, error) {
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
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: at, Msg: "a bare repository has no " +
				"checkout to run in",
				Hint: "run in a clone of it, or in a worktree made with `git worktree add`"}
		}
		if at == filepath.Dir(at) {
			return nil, fmt.Errorf("%s is %w", dir, ErrNoRepository)
		}
	}
}

// OpenModule opens the repository of a submodule that has a Git directory and is not checked out.
func OpenModule(root, gitDir string) (*Repo, error) {
	if !isGitDir(gitDir) {
		return nil, fmt.Errorf("%s is %w", root, ErrNoRepository)
	}
	return openAt(root, gitDir)
}

// readGitFile follows a .git file, as in linked worktrees and submodules.
func readGitFile(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: file,
			Msg: `a .git file that does not begin with "gitdir: "`}
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

// isBare keeps a .git folder from being taken for a bare repository.
func isBare(dir string) bool { return filepath.Base(dir) != ".git" }

func openAt(root, gitDir string) (*Repo, error) {
	s := &Repo{root: root, gitDir: gitDir, common: gitDir, Format: object.SHA1, Pause: time.Sleep}
	if data, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		s.common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(s.common) {
			s.common = filepath.Join(gitDir, s.common)
		}
	}
	var err error
	if s.Config, err = rules.ReadSettings(s.common, gitDir); err != nil {
		return nil, err
	}
	if v, ok := s.Config.Get("extensions", "", "objectformat"); ok && strings.EqualFold(v, "sha256") {
		s.Format = object.SHA256
	}
	if v, _ := s.Config.Get("extensions", "", "refstorage"); strings.EqualFold(v, "reftable") {
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: root,
			Msg:  "the repository keeps its refs in a reftable, which cannot be read here",
			Hint: "`git refs migrate --ref-format=files` converts it, or run in a clone"}
	}
	return s, nil
}

// WithoutSettings is the same repository without its settings.
func (s *Repo) WithoutSettings() *Repo {
	return &Repo{root: s.root, gitDir: s.gitDir, common: s.common, Format: s.Format, Pause: s.Pause}
}

// Root is the top folder of the checkout.
func (s *Repo) Root() string { return s.root }

// GitDir is the Git directory of the checkout (of a linked worktree: its own).
func (s *Repo) GitDir() string { return s.gitDir }

// CommonDir is the Git directory of the repository: of a linked worktree, what all share.
func (s *Repo) CommonDir() string { return s.common }

// Head is the commit that is checked out; "" when the branch has no commit yet.
func (s *Repo) Head() (object.OID, error) {
	data, err := os.ReadFile(filepath.Join(s.gitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	return s.follow(string(data), 0)
}

// follow reads the content of a ref file down to an object.
func (s *Repo) follow(content string, depth int) (object.OID, error) {
	content = strings.TrimSpace(content)
	name, symbolic := strings.CutPrefix(content, "ref:")
	if !symbolic {
		if _, ok := s.Format.Parse(object.OID(content)); !ok {
			return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root,
				Msg: fmt.Sprintf("HEAD holds %q, which is no commit", content)}
		}
		return object.OID(content), nil
	}
	if depth > 5 {
		return "", &notebooks.Error{Kind: notebooks.KindInput, File: s.root, Msg: "HEAD follows refs in a circle"}
	}
	content, err := s.Ref(strings.TrimSpace(name))
	if content == "" || err != nil {
		return "", err
	}
	return s.follow(content, depth+1)
}

// Ref gives the content of a ref, "" when there is none of that name.
func (s *Repo) Ref(name string) (string, error) {
	for _, dir := range []string{s.gitDir, s.common} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			return strings.TrimSpace(string(data)), nil
		}
		if !disk.Gone(err) && !disk.IsFolder(filepath.Join(dir, filepath.FromSlash(name))) {
			return "", err
		}
	}
	data, err := os.ReadFile(filepath.Join(s.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	i := bytes.Index(data, []byte(" "+name+"\n"))
	if i < 2*s.Format.Size {
		return "", nil
	}
	return string(data[i-2*s.Format.Size : i]), nil
}

// Relative returns a path of this machine as a slash-separated path in the checkout; ok is false for one elsewhere. The
// file need not exist.
func (s *Repo) Relative(name string) (rel string, ok bool) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	abs = filepath.Join(disk.RealPath(filepath.Dir(abs)), filepath.Base(abs))
	rel, err = filepath.Rel(disk.RealPath(s.root), abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// User returns the author that Git would name for a commit here: from GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, then
// author.name and author.email of the configuration, then user.name and user.email, and for the address EMAIL. ok is
// false if one of the two is not set: Git would guess it from the system's account, but nobody chose to publish that.
func (s *Repo) User() (who object.Identity, ok bool) {
	who.Name = s.identity("GIT_AUTHOR_NAME", "name")
	if who.Email = s.identity("GIT_AUTHOR_EMAIL", "email"); who.Email == "" {
		who.Email = os.Getenv("EMAIL")
	}
	return who, who.Name != "" && who.Email != ""
}

func (s *Repo) identity(variable, key string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	for _, section := range []string{"author", "user"} {
		if v, _ := s.Config.Get(section, "", key); v != "" {
			return v
		}
	}
	return ""
}

// Tidy removes what an interrupted Branch or Fetch left half done in .git: its temporary pack and its locks. If the
// index of the pack is in place already, it moves the pack there as well. It leaves complete packs and refs alone. The
// run must not be alive.
func (s *Repo) Tidy(runID string) error {
	if !object.ValidRef(RunRefPrefix + runID) {
		return nil // it names no file of this repository
	}
	errs := []error{s.finishPack(runID), s.unlockBranch(runID)}
	for _, path := range []string{s.tempPack(runID) + tempIndex, s.tempPack(runID), s.runLock(runID)} {
		if err := os.Remove(path); err != nil && !disk.Gone(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// finishPack moves a run's pack into place if its index is there already. The name of both is at the end of the pack.
func (s *Repo) finishPack(runID string) error {
	tmp := s.tempPack(runID)
	f, err := os.Open(tmp)
	if err != nil {
		return nil // none
	}
	defer f.Close()
	var name object.Digest
	if _, err := f.Seek(-int64(s.Format.Size), io.SeekEnd); err != nil {
		return nil // not whole, and then its index is not in its place
	}
	if _, err := io.ReadFull(f, name[:s.Format.Size]); err != nil {
		return err
	}
	base := s.packBase(name)
	if _, err := os.Lstat(base + ".idx"); err != nil {
		return nil
	}
	if _, err := os.Lstat(base + ".pack"); err == nil {
		return nil
	}
	return os.Rename(tmp, base+".pack")
}

// unlockBranch removes the lock of a branch that is the same file as the run's lock.
func (s *Repo) unlockBranch(runID string) error {
	own, err := os.Lstat(s.runLock(runID))
	if err != nil {
		return nil // it holds none
	}
	return filepath.WalkDir(s.refPath("refs/heads"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lock") {
			if disk.Gone(err) {
				return nil
			}
			return err
		}
		if info, err := d.Info(); err == nil && os.SameFile(own, info) {
			return os.Remove(path)
		}
		return nil
	})
}
