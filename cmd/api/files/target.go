package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CheckTarget returns an error when a file cannot or must not be written at a path: a folder, and everything inside a
// Git directory, whose files Git trusts and runs.
func CheckTarget(path string) error {
	if path == "" {
		return nil
	}
	if base := filepath.Base(path); os.IsPathSeparator(path[len(path)-1]) || base == "." || base == ".." {
		return fmt.Errorf("%s is a folder; give the path of a file in it", path)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; give the path of a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe
	}
	if dir := gitDirectory(resolve(path)); dir != "" {
		return fmt.Errorf("%s is inside the Git directory %s, whose files Git trusts; give another path", path, dir)
	}
	return nil
}

// gitDirectory is the Git directory that an absolute path is or lies in; "" without one. It is a file or folder with a
// name that means .git (a linked worktree has a file of that name), or a folder that Git itself would take for a Git
// directory.
func gitDirectory(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if isGitName(filepath.Base(at)) || at != path && looksLikeGit(at) {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// isGitName reports whether some file system takes a name for .git: without regard to case, with the dots, spaces and
// streams that Windows ignores, or as a short name.
func isGitName(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// looksLikeGit reports whether a folder has what Git looks for in a bare repository or in the private folder of a
// linked worktree.
func looksLikeGit(dir string) bool {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// resolve makes a path absolute and follows its links. Parts that do not exist stay as they are, and so may the target
// of a link.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for range 40 { // as many links as Linux follows
		target, err := os.Readlink(abs)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(resolveFolder(filepath.Dir(abs)), target)
		}
		abs = filepath.Clean(target)
	}
	return filepath.Join(resolveFolder(filepath.Dir(abs)), filepath.Base(abs))
}

// resolveFolder follows the links in the part of a folder's path that exists.
func resolveFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if parent := filepath.Dir(dir); parent != dir {
		return filepath.Join(resolveFolder(parent), filepath.Base(dir))
	}
	return dir
}
