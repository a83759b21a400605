package outfile

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/runs"
)

// Rules say where outputs may go. Those of the list are refused by the zero value, too.
type Rules struct {
	// Force is set if a person at a terminal insists on a file of the list. Those of Git and Markmill stay refused.
	Force bool
	// Checkout describes the repository around a folder; nil outside one.
	Checkout func(folder string) (*Checkout, error)
	// Held are the folders that outputs go to for as long as the program lives.
	Held Held
}

// Checkout is a repository that outputs go into. Paths are relative to Root and have slashes.
type Checkout struct {
	Root      string                          // without links
	Tracked   func(path string) (bool, error) // in Git's index
	Forbidden func(path string) bool          // by the policy
	Hooks     string                          // the absolute path of core.hooksPath, "" if it is not set
}

// Reserved returns an error for a path inside the folders that only Git and Markmill write, as Open would.
func Reserved(path string) error { return Rules{Force: true}.reserved(path, path) }

const (
	obeyed     = "a file that CI or a hook obeys"
	onlyForced = ", which only a person at a terminal overwrites, with --force"
)

// refused is the one message for a file that no output may be.
func refused(path, is string) error { return fmt.Errorf("%s is %s; give another path", path, is) }

// reserved checks an absolute path by the list of files that Git, Markmill and CI obey.
func (r Rules) reserved(path, abs string) error {
	var parts []string
	for part := range strings.SplitSeq(filepath.ToSlash(abs), "/") {
		parts = append(parts, plain(part))
	}
	at := abs
	for i := len(parts) - 1; i >= 0; i, at = i-1, filepath.Dir(at) {
		name := parts[i]
		switch {
		case name == ".git", name == "git~1", at != abs && looksLikeGit(at):
			return refused(path, "inside the Git directory "+at+", whose files Git trusts")
		case name == ".markmill", name == "markmi~1", at != abs && looksLikeRecord(at):
			return refused(path, "inside "+at+", where only Markmill keeps its records")
		}
	}
	if r.Force {
		return nil
	}
	what := ""
	switch base := parts[len(parts)-1]; base {
	case "markmill.yaml", "allowed_signers", ".gitattributes", ".gitmodules":
		what = "a file of settings"
	}
	for i := range parts {
		if what == "" && IsWorkflow(strings.Join(parts[i:], "/")) {
			what = obeyed
		}
	}
	if what == "" {
		return nil
	}
	return refused(path, what+onlyForced)
}

// plain is a name as file systems compare it that are lenient: without regard to case, and without the dots, spaces and
// streams that Windows ignores and the characters that macOS ignores.
func plain(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(c rune) rune {
		if c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff {
			return -1
		}
		return c
	}, name)
	return strings.ToLower(strings.TrimRight(name, ". "))
}

// looksLikeGit reports whether a folder has what Git looks for in a bare repository or in the private folder of a
// linked worktree.
func looksLikeGit(dir string) bool {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// looksLikeRecord reports whether a folder is the record of a run, wherever it is kept.
func looksLikeRecord(dir string) bool {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	return has(runs.JournalFile) && (has(runs.LockFile) || has(runs.SumsFile))
}

// IsWorkflow reports whether a file configures CI or the hooks of a clone.
func IsWorkflow(name string) bool {
	name = strings.ToLower(name)
	for _, folder := range []string{".github/workflows/", ".github/actions/",
		".gitea/workflows/", ".forgejo/workflows/",
		".circleci/", ".woodpecker/", ".buildkite/", ".husky/", ".githooks/", ".gitlab/ci/"} {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	switch base := path.Base(name); {
	case strings.HasPrefix(base, ".pre-commit-config.") || strings.HasPrefix(base, ".gitlab-ci."):
		return true
	case path.Dir(name) != ".":
		return false
	default:
		return slices.Contains([]string{"jenkinsfile", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml",
			".woodpecker.yml", ".drone.yml", "codeowners", ".gitattributes"}, base) ||
			strings.HasPrefix(base, "lefthook.")
	}
}

// folder follows the links of a folder's path, and returns the part that exists and the rest. A link that Git tracks
// must stay in its repository: a branch does not decide where outputs go.
func (r Rules) folder(path, dir string) (real string, rest []string, err error) {
	real, rest = existing(dir)
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		repo, tracked, err := r.tracked(at)
		if err != nil {
			return "", nil, err
		}
		target, err := filepath.EvalSymlinks(at)
		if tracked && (err != nil || !within(repo.Root, target)) {
			return "", nil, fmt.Errorf("%s goes through the link %s, which Git tracks and which leads out of the "+
				"repository; give another path", path, at)
		}
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return "", nil, fmt.Errorf("%s cannot be written: %s is no folder; give another path", path, real)
	}
	if len(rest) > 0 {
		link := filepath.Join(real, rest[0])
		if _, err := os.Lstat(link); err == nil {
			return "", nil, fmt.Errorf("%s goes through the link %s, which leads nowhere; remove the link, or give "+
				"another path", path, link)
		}
	}
	return real, rest, nil
}

// link returns where the last part of a path leads. It is followed if it is the user's own, and stays in its folder.
func (r Rules) link(path, at string) (string, error) {
	if _, tracked, err := r.tracked(at); err != nil || tracked {
		return "", cmp.Or(err, fmt.Errorf("%s is a link that Git tracks, and is not followed; remove it, or give "+
			"another path", path))
	}
	target, err := filepath.EvalSymlinks(at)
	if err != nil || !within(filepath.Dir(at), target) {
		return "", fmt.Errorf("%s is a link that leads out of its folder, and is not followed; give the path that it "+
			"leads to, or remove it", path)
	}
	return target, nil
}

// tracked reports whether Git tracks a link, and of which repository.
func (r Rules) tracked(link string) (*Checkout, bool, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	if err != nil || r.Checkout == nil {
		return nil, false, err
	}
	repo, err := r.Checkout(dir)
	if err != nil || repo == nil {
		return nil, false, err
	}
	rel, err := filepath.Rel(repo.Root, filepath.Join(dir, filepath.Base(link)))
	if err != nil {
		return nil, false, err
	}
	tracked, err := repo.Tracked(filepath.ToSlash(rel))
	return repo, tracked, err
}

// Allows returns an error for a path, which leads to at without links, by the list and by the policy of the repository
// around a folder.
func (r Rules) Allows(path, dir, at string) error {
	if err := r.reserved(path, at); err != nil || r.Force || r.Checkout == nil {
		return err
	}
	repo, err := r.Checkout(dir)
	if err != nil || repo == nil {
		return err
	}
	if repo.Hooks != "" {
		real, rest := existing(repo.Hooks)
		if within(filepath.Join(real, filepath.Join(rest...)), at) {
			return refused(path, obeyed+onlyForced)
		}
	}
	if rel, err := filepath.Rel(repo.Root, at); err == nil && filepath.IsLocal(rel) &&
		repo.Forbidden(filepath.ToSlash(rel)) {
		return refused(path, "forbidden by the policy of the repository, and only a person at a terminal "+
			"overwrites it, with --force")
	}
	return nil
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// existing follows the links of a folder's path. It returns the part that exists and the rest.
func existing(dir string) (real string, rest []string) {
	for at := dir; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil || at == filepath.Dir(at) {
			slices.Reverse(rest)
			return cmp.Or(real, at), rest
		}
		rest = append(rest, filepath.Base(at))
	}
}

// Held are folders of outputs that a command found before its first step, by the absolute path that outputs give them.
// Later outputs below them go there, through no link that was made since.
type Held map[string]heldFolder

type heldFolder struct {
	real string   // without links, with what is missing
	root *os.Root // the part that exists
}

// Hold finds a folder, which need not exist. It stays open until the program ends.
func (h Held) Hold(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil || h[folder].root != nil {
		return err
	}
	dir, rest := existing(folder)
	root, err := os.OpenRoot(dir)
	if err == nil {
		h[folder] = heldFolder{filepath.Join(dir, filepath.Join(rest...)), root}
	}
	return err
}

// check returns an error if a folder, which is real without links, is not below the one that is held.
func (h Held) check(path, folder, real string) error {
	for at := folder; ; at = filepath.Dir(at) {
		held, is := h[at]
		if !is && at != filepath.Dir(at) {
			continue
		}
		if !is {
			return nil
		}
		rel, err := filepath.Rel(at, folder)
		if err != nil {
			return err
		}
		was, err := held.root.Stat(".")
		if err != nil {
			return err
		}
		now, err := os.Stat(held.root.Name())
		if err != nil || !os.SameFile(was, now) || real != filepath.Join(held.real, rel) {
			return fmt.Errorf("%s is not written: the folder %s was replaced since this command began; if you "+
				"replaced it, start the command again", path, folder)
		}
		return nil
	}
}
