package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cache is where a build tool keeps files shared between projects.
type cache struct {
	variable string // the tool's variable that names the folder
	format   string // format of its value, if not just the folder
	home     string // the default folder; ~/.cache stands for XDG_CACHE_HOME
	// own is the folder below the runs' own caches that is used if the user has none. It is "" for tools that follow
	// XDG_CACHE_HOME.
	own string
	// always is set if the folder also holds programs besides the parts below: steps then get their own folder.
	always bool
	data   []string // parts that steps may write; the whole folder if data and read are empty
	read   []string // parts that they may only read, through links
}

// caches is the table of caches that steps share with the user. Nothing that the user would run later is granted:
// program folders, and caches whose files are hard links to installed programs (uv's, pnpm's, bun's). Tools without a
// row use the runs' own caches, through XDG_CACHE_HOME.
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

// Shared describes the caches that steps get: the real paths they may write and the variables that point their tools
// there.
type Shared struct {
	Write []string
	Env   map[string]string
}

// Caches returns the user's caches that steps may use, according to the table and the caller's environment and
// excluding the real paths in kept, and the runs' own caches below own for everything else. Outside own it creates only
// folders named by the caller's environment. repository is the root of the repository that steps work on, or "".
func Caches(getenv func(string) (string, bool), own, repository string, kept []string) (Shared, error) {
	s := Shared{Env: map[string]string{"XDG_CACHE_HOME": filepath.Join(own, "xdg")}}
	if err := os.MkdirAll(filepath.Join(own, "xdg"), 0o700); err != nil {
		return s, err
	}
	// Steps write below own. We must not follow a link that one left there.
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
	// Below another granted folder the step creates it, and could have planted a link.
	made := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !exists(p) })
	for _, p := range paths {
		if !exists(p) && !Within(p, made) && os.MkdirAll(p, 0o755) == nil {
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

// place returns the paths that a row grants and the folder for its variable, or "" if the tool finds it by itself.
func (c cache) place(getenv func(string) (string, bool), root *os.Root) (write []string, folder string) {
	user, named := c.user(getenv)
	if user == "" && named {
		return nil, "" // not a folder: GOCACHE=off
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

// link creates a link below the runs' own caches to the user's folder. It keeps what runs already have there.
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

// user returns the user's folder, or "", and whether the caller's environment names it.
func (c cache) user(getenv func(string) (string, bool)) (path string, named bool) {
	if v, _ := getenv(c.variable); v != "" && c.format == "" {
		v = filepath.SplitList(v)[0] // GOPATH may list several; tools write to the first
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

// toolchains returns the Go toolchains among downloaded modules: the user's go command runs them.
func toolchains(paths []string) (found []string) {
	for _, dir := range paths {
		for _, below := range []string{"", "mod"} {
			some, _ := filepath.Glob(filepath.Join(dir, below, "golang.org", "toolchain@*"))
			found = append(found, some...)
		}
	}
	return found
}

// makeHosts creates the folders of the hosts in a module's go.sum in a module cache that is only partly granted,
// because steps cannot create them.
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

// Granted returns further folders and files that the caller names, in the form that Caches does. Names are absolute or
// begin with ~/.
func Granted(getenv func(string) (string, bool), paths, kept []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, Home(getenv, p))
	}
	return grant(out, kept)
}

// Base returns a folder of the XDG base directory specification, or "" if there is no home.
func Base(getenv func(string) (string, bool), variable, fallback string) string {
	if v, _ := getenv(variable); filepath.IsAbs(v) {
		return v
	}
	return Home(getenv, "~/"+fallback)
}

// Home replaces ~/ with the caller's home. It returns "" if there is none.
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

// credentials lists where keys and tokens usually are in a home: strict mode hides them.
var credentials = []string{
	"~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.kube", "~/.docker", "~/.netrc", "~/.git-credentials",
	"~/.npmrc", "~/.pypirc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.config/gcloud",
	"~/.config/gh", "~/.config/git/credentials", "~/.config/op", "~/.config/sops", "~/.config/google-chrome",
	"~/.config/chromium", "~/.mozilla", "~/.password-store", "~/.local/share/keyrings",
	"~/.local/state/markmill.key",
	"~/.terraform.d/credentials.tfrc.json", "~/.vault-token", "~/.m2/settings.xml", "~/.gradle/gradle.properties",
	"~/.codex", "~/.claude", "~/.claude.json", "~/.gemini", "~/.local/share/opencode/auth.json",
	"~/.gem/credentials", "~/.bash_history", "~/.zsh_history", "~/.psql_history", "~/.pgpass",
}

// Credentials returns the real paths of the credential files and folders that exist.
func Credentials(getenv func(string) (string, bool)) []string { return Hidden(getenv, credentials) }

// Hidden returns the real paths of the places to hide that exist.
func Hidden(getenv func(string) (string, bool), places []string) []string {
	var out []string
	for _, p := range places {
		out = append(out, Home(getenv, p))
	}
	return Real(out)
}
