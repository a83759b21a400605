package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cache is where a build tool keeps what it shares between projects.
type cache struct {
	program  string // the folder is made when this program is there, since steps cannot make it
	variable string // of the environment, that names it; "" without one
	below    string // of what the variable names
	fallback string // without the variable: ~/.cache stands for XDG_CACHE_HOME, ~/.local/share for XDG_DATA_HOME
}

// caches is the table. Folders that hold programs or settings are not in it: what a step writes there,
// the user would run. MkdirAll of what is missing stops at a tool that the user does not have.
var caches = []cache{
	{"go", "GOCACHE", "", "~/.cache/go-build"},
	{"go", "GOMODCACHE", "", ""},
	{"go", "GOPATH", "pkg", "~/go/pkg"},
	{"golangci-lint", "", "", "~/.cache/golangci-lint"},
	{"staticcheck", "", "", "~/.cache/staticcheck"},
	{"npm", "NPM_CONFIG_CACHE", "", "~/.npm"},
	{"npm", "", "", "~/.cache/node-gyp"},
	{"yarn", "", "", "~/.cache/yarn"},
	{"yarn", "", "", "~/.yarn/berry"},
	{"pnpm", "", "", "~/.cache/pnpm"},
	{"pnpm", "", "", "~/.local/share/pnpm/store"},
	{"bun", "", "", "~/.bun/install/cache"},
	{"deno", "", "", "~/.cache/deno"},
	{"python3", "PIP_CACHE_DIR", "", "~/.cache/pip"},
	{"python3", "", "", "~/.cache/matplotlib"},
	{"uv", "", "", "~/.cache/uv"},
	{"uv", "", "", "~/.local/share/uv"},
	{"poetry", "", "", "~/.cache/pypoetry"},
	{"pre-commit", "", "", "~/.cache/pre-commit"},
	{"cargo", "CARGO_HOME", "registry", "~/.cargo/registry"},
	{"cargo", "CARGO_HOME", "git", "~/.cargo/git"},
	{"mvn", "", "", "~/.m2/repository"},
	{"gradle", "", "", "~/.gradle/caches"},
	{"gradle", "", "", "~/.gradle/daemon"},
	{"gradle", "", "", "~/.gradle/native"},
	{"dotnet", "", "", "~/.nuget/packages"},
	{"dotnet", "", "", "~/.local/share/NuGet"},
	{"bundle", "", "", "~/.bundle/cache"},
	{"composer", "", "", "~/.cache/composer"},
	{"ccache", "", "", "~/.cache/ccache"},
	{"sccache", "", "", "~/.cache/sccache"},
	{"bazel", "", "", "~/.cache/bazel"},
	{"zig", "", "", "~/.cache/zig"},
}

// Caches gives the folders of build tools that steps may write, by the caller's environment, without
// what is kept (real paths). Besides the table they are everything that stands in XDG_CACHE_HOME.
// Those of the table that are missing are made, when their program is there.
func Caches(getenv func(string) (string, bool), kept []string) []string {
	var paths, missing []string
	for _, c := range caches {
		path := c.path(getenv)
		if path == "" {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		} else if onPath(getenv, c.program) {
			missing = append(missing, path)
		}
	}
	for _, path := range missing {
		// Below another one a step makes it itself, and could have laid a link for us to follow.
		if !withinAny(path, paths) && os.MkdirAll(path, 0o755) == nil {
			paths = append(paths, path)
		}
	}
	top := Base(getenv, "XDG_CACHE_HOME", ".cache")
	if entries, err := os.ReadDir(top); err == nil && top != "" {
		for _, e := range entries {
			paths = append(paths, filepath.Join(top, e.Name()))
		}
	}
	return grant(paths, kept)
}

// Granted gives further folders and files that the caller names, as Caches does: absolute, or with ~/ of the caller's home.
func Granted(getenv func(string) (string, bool), paths, kept []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, Home(getenv, p))
	}
	return grant(out, kept)
}

func (c cache) path(getenv func(string) (string, bool)) string {
	if c.variable != "" {
		if v, _ := getenv(c.variable); v != "" {
			v = filepath.SplitList(v)[0] // GOPATH may be several; tools write to the first
			if !filepath.IsAbs(v) {
				return ""
			}
			return filepath.Join(v, c.below)
		}
	}
	for prefix, variable := range map[string]string{"~/.cache/": "XDG_CACHE_HOME", "~/.local/share/": "XDG_DATA_HOME"} {
		if rest, ok := strings.CutPrefix(c.fallback, prefix); ok {
			if dir := Base(getenv, variable, strings.TrimPrefix(prefix, "~/")); dir != "" {
				return filepath.Join(dir, rest)
			}
			return ""
		}
	}
	return Home(getenv, c.fallback)
}

// Base is a folder of the XDG base directory specification; "" where there is no home.
func Base(getenv func(string) (string, bool), variable, fallback string) string {
	if v, _ := getenv(variable); filepath.IsAbs(v) {
		return v
	}
	return Home(getenv, "~/"+fallback)
}

// Home puts the caller's home in place of ~/; "" where there is none.
func Home(getenv func(string) (string, bool), path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, _ := getenv("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, rest)
}

func onPath(getenv func(string) (string, bool), program string) bool {
	path, _ := getenv("PATH")
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// Credentials are where keys and tokens usually lie in a home: what strict hides.
var credentials = []string{"~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials", "~/.npmrc", "~/.pypirc",
	"~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.config/gcloud", "~/.config/gh", "~/.config/git/credentials", "~/.config/op", "~/.config/sops",
	"~/.config/google-chrome", "~/.config/chromium", "~/.mozilla", "~/.password-store", "~/.local/share/keyrings", "~/.terraform.d/credentials.tfrc.json",
	"~/.vault-token", "~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.gem/credentials", "~/.bash_history", "~/.zsh_history", "~/.psql_history", "~/.pgpass"}

// Credentials gives those places that there are, as real paths.
func Credentials(getenv func(string) (string, bool)) []string { return Hidden(getenv, credentials) }

// Hidden gives the real paths of places to hide that there are.
func Hidden(getenv func(string) (string, bool), places []string) []string {
	var out []string
	for _, p := range places {
		out = append(out, Home(getenv, p))
	}
	return Real(out)
}
