package main

import (
	"os"
	"path/filepath"
	"strings"

	"markmill/cmd/markmill/remote"
)

// checkTarget refuses a path that a command is asked to write to where no file can be written, or should be: a folder,
// and whatever is inside a Git directory, whose files Git runs and trusts. what names the argument or option.
func checkTarget(what, path string) error {
	if path == "" || path == "-" || remote.Is(path) {
		return nil
	}
	if base := filepath.Base(path); os.IsPathSeparator(path[len(path)-1]) || base == "." || base == ".." {
		return usagef("%s %s is a folder; give the path of a file in it", what, path)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s %s is a folder; give the path of a file in it", what, path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe
	}
	if dir := gitDirectory(followed(path)); dir != "" {
		return usagef("%s %s is inside the Git directory %s, whose files Git trusts; give another path", what, path, dir)
	}
	return nil
}

// gitDirectory is the Git directory that an absolute path is or lies in, "" without one: one that is called .git, also
// the file that names the Git directory of a worktree, and one that looks like a Git directory, as Git itself would
// take it for one.
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

// isGitName says whether a name means .git on some file system: letter case, what Windows drops at the end of names,
// streams and short names.
func isGitName(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// looksLikeGit says whether a folder has what Git looks for: of a bare repository, or of a worktree's own directory.
func looksLikeGit(dir string) bool {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// followed is where a path leads: absolute, through the links of the part that is there, and through a link to a file
// that is not.
func followed(path string) string {
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
			target = filepath.Join(realFolder(filepath.Dir(abs)), target)
		}
		abs = filepath.Clean(target)
	}
	return filepath.Join(realFolder(filepath.Dir(abs)), filepath.Base(abs))
}

// realFolder resolves the links of the part of a folder's path that is there.
func realFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if parent := filepath.Dir(dir); parent != dir {
		return filepath.Join(realFolder(parent), filepath.Base(dir))
	}
	return dir
}
