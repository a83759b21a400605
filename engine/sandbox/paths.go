package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// within reports whether a path is a folder or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(path, d) })
}

// Within reports whether a real path is one of some real paths, or lies below one.
func Within(path string, dirs []string) bool { return withinAny(path, dirs) }

// Except returns the folders and files that make up dir without the kept ones, which must be real
// paths: dir itself where none of them lies in it, else its entries, and so on down. Links are left out:
// what they point to stands somewhere else.
func Except(dir string, kept []string) []string {
	if withinAny(dir, kept) {
		return nil
	}
	if !slices.ContainsFunc(kept, func(k string) bool { return within(k, dir) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what cannot be listed is not granted
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			out = append(out, Except(filepath.Join(dir, e.Name()), kept)...)
		}
	}
	return out
}

// Real returns the real paths of those that exist.
func Real(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// grant returns the real paths of folders that steps of several runs share, without what is kept. A
// path that leads through one of the others is covered by it, and may be a link that an earlier step
// put there to be granted what it points to: it is left out.
func grant(paths, kept []string) []string {
	paths = slices.Clone(paths)
	slices.SortStableFunc(paths, func(a, b string) int { return len(a) - len(b) })
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) || slices.ContainsFunc(prefixes(p), func(at string) bool {
			real, err := filepath.EvalSymlinks(at)
			return err != nil || withinAny(real, out)
		}) {
			continue
		}
		real, _ := filepath.EvalSymlinks(p) // it exists: the prefixes did
		out = append(out, Except(real, kept)...)
	}
	return out
}

// prefixes are the folders on the way to a path, and the path itself, from the top.
func prefixes(path string) []string {
	var out []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		out = append(out, at)
		if at == filepath.Dir(at) {
			slices.Reverse(out)
			return out
		}
	}
}
