package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Within reports whether a real path is one of the given real paths or lies below one.
func Within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(path, d) })
}

// Except returns the folders and files that make up dir without the kept ones, which must be real paths: dir itself if
// none of them lies in it, otherwise its entries, recursively. It omits links, which point elsewhere.
func Except(dir string, kept []string) []string {
	if Within(dir, kept) {
		return nil
	}
	if !slices.ContainsFunc(kept, func(k string) bool { return within(k, dir) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // unlistable folders are not granted
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			out = append(out, Except(filepath.Join(dir, e.Name()), kept)...)
		}
	}
	return out
}

// Real returns the real paths of the paths that exist.
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

// grant returns the real paths of folders that several runs' steps share, without the kept ones. It omits a path that
// leads through one of the others: that one covers it, and it may be a link that an earlier step planted to gain its
// target.
func grant(paths, kept []string) []string {
	paths = slices.Clone(paths)
	slices.SortStableFunc(paths, func(a, b string) int { return len(a) - len(b) })
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) || slices.ContainsFunc(prefixes(p), func(at string) bool {
			real, err := filepath.EvalSymlinks(at)
			return err != nil || Within(real, out)
		}) {
			continue
		}
		real, _ := filepath.EvalSymlinks(p) // it exists because its prefixes do
		out = append(out, Except(real, kept)...)
	}
	return out
}

// prefixes returns the folders that lead to a path, from the top, and the path itself.
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
