package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cache is where a build tool keeps what it shares between projects.
type cache struct {
	variable string // of the tool, that names the folder
	format   string // of its value, where that is not the folder alone
	home     string // the user's folder without it: ~/.cache stands for XDG_CACHE_HOME
	// own is the folder below the runs' own caches that is used if the user has none. It is "" for tools that follow
	// XDG_CACHE_HOME.
	own string
	// always: the folder also holds programs, beside the parts below, so steps get one of their own.
	always bool
	data   []string // parts that steps may write; none and no read: the whole folder
	read   []string // parts that they need to see: links, of which the sandbox lets nothing be written
}

// caches is the table of what steps share with the user. What the user would run later is not granted:
// folders of programs, and caches whose files are hard links to installed programs (uv's, pnpm's,
// bun's). Tools without a row follow XDG_CACHE_HOME to the runs' own caches.
var caches = []cache{
	{variable: "GOCACHE", home: "~/.cache/go-build"},
	{variable: "GOMODCACHE"},
	{variable: "GOPATH", home: "~/go", own: "go", data: []string{"pkg"}, read: []string{"bin"}},
	{variable: "NPM_CONFIG_CACHE", home: "~/.npm", own: "npm", always: true, data: []string{"_cacache"}}, // not _npx
	{variable: "PNPM_HOME", own: "pnpm", always: true},
	{variable: "YARN_GLOBAL_FOLDER", home: "~/.yarn/berry", own: "yarn"},
	{variable: "BUN_INSTALL_CACHE_DIR", own: "bun", always: true},
	{variable: "COREPACK_HOME", home: "~/.cache/node/corepack", read: []string{"."}},
	{variable: "PLAYWRIGHT_BROWSERS_PATH", home: "~/.cache/ms-playwright", read: []string{"."}},
	{variable: "CYPRESS_CACHE_FOLDER", home: "~/.cache/Cypress", read: []string{"."}},
	{variable: "PIP_CACHE_DIR", home: "~/.cache/pip"},
	{variable: "UV_TOOL_DIR", own: "uv-tools", always: true},
	{variable: "UV_PYTHON_INSTALL_DIR", home: "~/.local/share/uv/python", own: "uv-python", read: []string{"."}},
	{variable: "HF_HUB_CACHE", home: "~/.cache/huggingface/hub"},
	{variable: "HF_DATASETS_CACHE", home: "~/.cache/huggingface/datasets"},
	{variable: "HF_TOKEN_PATH", home: "~/.cache/huggingface/token", read: []string{"."}},
	{variable: "CARGO_HOME", home: "~/.cargo", own: "cargo", data: []string{"registry", "git"},
		read: []string{"bin", "config", "config.toml", "credentials", "credentials.toml"}},
	{variable: "MAVEN_OPTS", format: "-Dmaven.repo.local=", home: "~/.m2/repository", own: "maven"},
	{variable: "GRADLE_USER_HOME", home: "~/.gradle", own: "gradle", always: true,
		read: []string{"gradle.properties", "init.d", "init.gradle", "init.gradle.kts"}},
	{variable: "NUGET_PACKAGES", home: "~/.nuget/packages", own: "nuget"},
	{variable: "NUGET_HTTP_CACHE_PATH", own: "nuget-http", always: true},
	{variable: "BUNDLE_USER_CACHE", home: "~/.bundle/cache", own: "bundle"},
	{variable: "CCACHE_DIR", home: "~/.cache/ccache"},
	{variable: "SCCACHE_DIR", home: "~/.cache/sccache"},
}

// Shared is the caches that steps get: the real paths that they may write, and the variables that lead their tools
// there.
type Shared struct {
	Write []string
	Env   map[string]string
}

// Caches returns what steps may use of the user's caches (the table), by the caller's environment and without
// what is kept (real paths), and the runs' own caches below the folder own for all else. Nothing is made
// outside own but a folder that the caller's environment names. repository is
// the root of the one that steps work on, "" without.
func Caches(getenv func(string) (string, bool), own, repository string, kept []string) (Shared, error) {
	s := Shared{Env: map[string]string{"XDG_CACHE_HOME": filepath.Join(own, "xdg")}}
	if err := os.MkdirAll(filepath.Join(own, "xdg"), 0o700); err != nil {
		return s, err
	}
	// Steps write below own. A link that one left there must not lead us out of it.
	root, err := os.OpenRoot(own)
	if err != nil {
		return s, err
	}
	defer root.Close()
	var paths []string
	for _, c := range caches {
		write, value := c.place(getenv, root)
		paths = append(paths, write...)
		if value != "" {
			s.Env[c.variable] = c.format + value
		}
	}
	// Below another one a step makes it itself, and could have laid a link for us to follow.
	made := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !exists(p) })
	for _, p := range paths {
		if !exists(p) && !withinAny(p, made) && os.MkdirAll(p, 0o755) == nil {
			made = append(made, p)
		}
	}
	paths = made
	tools := toolchains(paths)
	if len(tools) > 0 {
		makeHosts(filepath.Dir(filepath.Dir(tools[0])), repository)
	}
	s.Write = append(grant(paths, append(Real(tools), kept...)), Real([]string{own})...)
	return s, nil
}

// place returns the paths that a row grants, and the folder for its variable, "" if the tool finds it by itself.
func (c cache) place(getenv func(string) (string, bool), root *os.Root) (write []string, folder string) {
	user, named := c.user(getenv)
	if user == "" && named {
		return nil, "" // it is no folder: GOCACHE=off
	}
	there := user != "" && exists(user)
	switch {
	case c.data == nil && slices.Equal(c.read, []string{"."}) && there:
		return nil, user
	case c.data == nil && c.read == nil && !c.always && (there || named):
		if named || strings.HasPrefix(c.home, "~/.cache/") {
			folder = user
		}
		return []string{user}, folder
	case c.own == "":
		return nil, ""
	case !there:
		return nil, filepath.Join(root.Name(), c.own)
	}
	for _, part := range c.data {
		if exists(filepath.Join(user, part)) {
			write = append(write, filepath.Join(user, part))
		}
	}
	if !c.always && len(write) == len(c.data) {
		return write, ""
	}
	_ = root.Mkdir(c.own, 0o700)
	for _, part := range slices.Concat(c.data, c.read) {
		link(root, filepath.Join(user, part), filepath.Join(c.own, part))
	}
	return write, filepath.Join(root.Name(), c.own)
}

// link makes a link below the runs' own caches to what the user has; what runs have there themselves stays.
func link(root *os.Root, to, at string) {
	old, err := root.Readlink(at)
	if err == nil && old != to || err == nil && !exists(to) {
		_ = root.Remove(at)
	}
	if exists(to) && old != to {
		_ = root.Symlink(to, at)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// user is the user's folder, "" without one, and whether the caller's environment names it.
func (c cache) user(getenv func(string) (string, bool)) (path string, named bool) {
	if v, _ := getenv(c.variable); v != "" && c.format == "" {
		v = filepath.SplitList(v)[0] // GOPATH may be several; tools write to the first
		if !filepath.IsAbs(v) {
			v = ""
		}
		return v, true
	}
	if rest, ok := strings.CutPrefix(c.home, "~/.cache/"); ok {
		if dir := Base(getenv, "XDG_CACHE_HOME", ".cache"); dir != "" {
			return filepath.Join(dir, rest), false
		}
		return "", false
	}
	return Home(getenv, c.home), false
}

// toolchains are the Go toolchains among downloaded modules: programs that the user's go command starts.
func toolchains(paths []string) (found []string) {
	for _, dir := range paths {
		for _, below := range []string{"", "mod"} {
			some, _ := filepath.Glob(filepath.Join(dir, below, "golang.org", "toolchain@*"))
			found = append(found, some...)
		}
	}
	return found
}

// makeHosts makes the folders of the hosts that a module's go.sum names, in a cache of modules that is not granted as
// a whole: steps cannot make them.
func makeHosts(modules, repository string) {
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(sums)) {
		if host, _, ok := strings.Cut(line, "/"); ok && strings.Contains(host, ".") && filepath.IsLocal(host) {
			_ = os.Mkdir(filepath.Join(modules, host), 0o755)
		}
	}
}

// Granted returns further folders and files that the caller names, as Caches does: absolute, or with ~/ of the
// caller's home.
func Granted(getenv func(string) (string, bool), paths, kept []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, Home(getenv, p))
	}
	return grant(out, kept)
}

// Base is a folder of the XDG base directory specification; "" where there is no home.
func Base(getenv func(string) (string, bool), variable, fallback string) string {
	if v, _ := getenv(variable); filepath.IsAbs(v) {
		return v
	}
	return Home(getenv, "~/"+fallback)
}

// Home replaces ~/ by the caller's home; it returns "" if there is none.
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

// credentials are where keys and tokens usually are in a home: strict hides them.
var credentials = []string{
	"~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials",
	"~/.npmrc", "~/.pypirc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.config/gcloud",
	"~/.config/gh", "~/.config/git/credentials", "~/.config/op", "~/.config/sops", "~/.config/google-chrome",
	"~/.config/chromium", "~/.mozilla", "~/.password-store", "~/.local/share/keyrings",
	"~/.terraform.d/credentials.tfrc.json", "~/.vault-token", "~/.m2/settings.xml", "~/.gradle/gradle.properties",
	"~/.gem/credentials", "~/.bash_history", "~/.zsh_history", "~/.psql_history", "~/.pgpass",
}

// Credentials returns the real paths of those places that exist.
func Credentials(getenv func(string) (string, bool)) []string { return Hidden(getenv, credentials) }

// Hidden returns the real paths of those places to hide that exist.
func Hidden(getenv func(string) (string, bool), places []string) []string {
	var out []string
	for _, p := range places {
		out = append(out, Home(getenv, p))
	}
	return Real(out)
}
