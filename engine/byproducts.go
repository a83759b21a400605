package engine

import (
	"path"
	"slices"
	"strings"
)

// byproducts are the folders, by their names, in which tools keep what they can make again: dependencies, caches and
// builds. What a run writes there is not kept, and data: does not name it.
var byproducts = slices.Concat(environments, []string{modules,
	"__pycache__", "__pypackages__", ".ipynb_checkpoints", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs",
	".cache", ".parcel-cache", ".next", ".nuxt", ".turbo", ".svelte-kit", ".nyc_output", ".yarn", ".pnpm-store",
	".gradle", ".mvn", ".m2", ".cargo", ".npm", ".uv", ".bundle", ".dart_tool", ".terraform", ".clangd",
	".git", ".hg", ".svn", ".markmill", ".direnv", ".pixi", ".venvs", ".build",
	"target", "build", "dist", "htmlcov", "CMakeFiles", "Debug", "Release", "_build", "bower_components"})

// byproductEnds are the ends of names of files of that kind.
var byproductEnds = []string{".pyc", ".pyo", ".o", ".obj", ".lo", ".la", ".d", ".class", ".gcda", ".gcno",
	".tsbuildinfo", ".egg-link", ".swp", "~", ".coverage", ".eslintcache", ".DS_Store", ".pid"}

// isByproduct reports whether a tool can make a file again.
func isByproduct(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(byproducts, part) || strings.HasSuffix(part, ".egg-info") ||
			strings.HasSuffix(part, "_cache") || strings.HasPrefix(part, "cmake-build-") {
			return true
		}
	}
	base := path.Base(name)
	return slices.ContainsFunc(byproductEnds, func(end string) bool { return strings.HasSuffix(base, end) })
}
