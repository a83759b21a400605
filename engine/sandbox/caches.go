package sandbox

import (
	"os"
	"path"
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
	// layer are the parts that steps write where the user's folder lies below what they write (Layer); data if it is
	// empty.
	layer []string
	// lasting is set if steps write the user's folder in such a run, too: what they download is worth keeping.
	lasting bool
	// users tell that the cache is of use: programs that a step names, and files of the repository, by name or ending.
	users string
}

const (
	goUsers     = "go gofmt golangci-lint .go go.mod go.work"
	pythonUsers = "pip pipx poetry pdm hatch tox nox virtualenv pre-commit uv uvx .py pyproject.toml requirements.txt"
	nativeUsers = "ccache sccache cmake .c .cc .cpp .cxx .h .hpp .cu .m .rs CMakeLists.txt meson.build"
)

// caches is the table of caches that steps share with the user. Nothing that the user would run later is granted:
// program folders, and caches whose files are hard links to installed programs (uv's, pnpm's, bun's). In a run that has
// mounts of its own, the user's folder is the lower layer of an overlay instead, and none of it can be changed. Tools
// without a row use the runs' own caches, through XDG_CACHE_HOME.
var caches = []cache{
	{variable: "GOCACHE", home: "~/.cache/go-build", users: goUsers},
	{variable: "GOMODCACHE", users: goUsers},
	{variable: "GOPATH", home: "~/go", own: "go", data: []string{"pkg"}, read: []string{"bin"}, users: goUsers},
	{variable: "NPM_CONFIG_CACHE", home: "~/.npm", own: "npm", always: true, data: []string{"_cacache"}, // not _npx
		layer: []string{"_cacache", "_npx", "_logs"}, users: "npm npx node corepack package.json"},
	{variable: "PNPM_HOME", home: "~/.local/share/pnpm", own: "pnpm", always: true, layer: []string{"store"},
		users: "pnpm pnpx corepack pnpm-lock.yaml pnpm-workspace.yaml"},
	{variable: "YARN_GLOBAL_FOLDER", home: "~/.yarn/berry", own: "yarn", users: "yarn corepack yarn.lock .yarnrc.yml"},
	{variable: "BUN_INSTALL_CACHE_DIR", home: "~/.bun/install/cache", own: "bun", always: true,
		users: "bun bunx bun.lock bun.lockb"},
	{variable: "COREPACK_HOME", home: "~/.cache/node/corepack", read: []string{"."}},
	{variable: "PLAYWRIGHT_BROWSERS_PATH", home: "~/.cache/ms-playwright", read: []string{"."}},
	{variable: "CYPRESS_CACHE_FOLDER", home: "~/.cache/Cypress", read: []string{"."}},
	{variable: "PIP_CACHE_DIR", home: "~/.cache/pip", users: pythonUsers},
	{variable: "UV_CACHE_DIR", home: "~/.cache/uv", always: true, users: pythonUsers},
	{variable: "UV_TOOL_DIR", own: "uv-tools", always: true},
	{variable: "UV_PYTHON_INSTALL_DIR", home: "~/.local/share/uv/python", own: "uv-python", read: []string{"."}},
	{variable: "HF_HUB_CACHE", home: "~/.cache/huggingface/hub", lasting: true},
	{variable: "HF_DATASETS_CACHE", home: "~/.cache/huggingface/datasets", lasting: true},
	{variable: "HF_TOKEN_PATH", home: "~/.cache/huggingface/token", read: []string{"."}},
	{variable: "CARGO_HOME", home: "~/.cargo", own: "cargo", data: []string{"registry", "git"},
		read:  []string{"bin", "config", "config.toml", "credentials", "credentials.toml"},
		users: "cargo rustc maturin .rs Cargo.toml"},
	{variable: "MAVEN_OPTS", format: "-Dmaven.repo.local=", home: "~/.m2/repository", own: "maven",
		users: "mvn mvnw mvnd pom.xml"},
	{variable: "GRADLE_USER_HOME", home: "~/.gradle", own: "gradle", always: true,
		read:  []string{"gradle.properties", "init.d", "init.gradle", "init.gradle.kts"},
		layer: []string{"caches", "wrapper", "daemon", "native", "notifications", "kotlin", ".tmp"},
		users: "gradle gradlew .gradle .kts"},
	{variable: "NUGET_PACKAGES", home: "~/.nuget/packages", own: "nuget",
		users: "dotnet nuget .csproj .fsproj .vbproj .sln .slnx"},
	{variable: "NUGET_HTTP_CACHE_PATH", own: "nuget-http", always: true},
	{variable: "BUNDLE_USER_CACHE", home: "~/.bundle/cache", own: "bundle",
		users: "bundle bundler gem rake Gemfile .gemspec"},
	{variable: "CCACHE_DIR", home: "~/.cache/ccache", users: nativeUsers},
	{variable: "SCCACHE_DIR", home: "~/.cache/sccache", users: nativeUsers},
}

// Layer is a cache of the user's that a run has as the lower layer of an overlay: what steps write there is the run's
// own.
type Layer struct {
	Name  string   // the variable of its tool
	Over  string   // the real path that the overlay is mounted over
	Make  []string // folders that are to be made in it
	write []string // the paths that steps may write
	value string   // of the variable; "" if the tool finds the cache by itself
	// Unused is set if nothing says that the run uses the cache. It is not mounted, which would cost half a
	// millisecond: its tool finds what it would find if the user had none.
	Unused bool
}

// Use is what tells which caches a run uses: the programs and files of the table, and which of them were seen.
type Use map[string]bool

// NewUse returns a Use in which nothing has been seen.
func NewUse() Use {
	u := Use{}
	for _, c := range caches {
		for name := range strings.FieldsSeq(c.users) {
			u[name] = false
		}
	}
	return u
}

// Code adds the programs that the code of a step, or a command, names.
func (u Use) Code(text string) {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return c < '0' && c != '-' && c != '.' || c > '9' && c < 'A' || c > 'Z' && c < '_' || c == '`' || c > 'z'
	}) {
		u.see(word)
		u.see(strings.TrimRight(word, "0123456789.-")) // pip3.12
	}
}

// File adds a file of the repository.
func (u Use) File(name string) {
	name = path.Base(name)
	u.see(name)
	u.see(path.Ext(name))
}

// All adds everything: nobody knows what an agent will use.
func (u Use) All() {
	for name := range u {
		u[name] = true
	}
}

func (u Use) see(name string) {
	if seen, known := u[name]; known && !seen {
		u[name] = true
	}
}

// of reports whether something was seen that uses a cache.
func (u Use) of(c cache) bool {
	for name := range strings.FieldsSeq(c.users) {
		if u[name] {
			return true
		}
	}
	return false
}

// Layers returns the caches that the user has and a run can have as layers: nothing that is mounted lies in one of the
// real paths in kept or around one, and nothing that steps may write around one in secrets.
func Layers(getenv func(string) (string, bool), kept, secrets []string, use Use) (list []Layer) {
	for _, c := range caches {
		user, named := c.user(getenv)
		top, err := filepath.EvalSymlinks(user)
		if user == "" || err != nil || c.lasting || slices.Equal(c.read, []string{"."}) {
			continue
		}
		l := Layer{Name: c.variable, Unused: !use.of(c)}
		if named && (c.always || c.data == nil) || strings.HasPrefix(c.home, "~/.cache/") {
			l.value = c.format + user // others are in the environment of steps as they are
		}
		if l.place(top, c.parts()) && !meets(l.Over, kept) &&
			!slices.ContainsFunc(l.write, func(p string) bool { return meets(p, secrets) }) {
			list = append(list, l)
		}
	}
	return list
}

// parts are the parts of a cache that steps write in a layer; none is the whole folder.
func (c cache) parts() []string {
	if c.layer != nil {
		return c.layer
	}
	return c.data
}

// place sets the paths of a layer in the folder top: its part, or the whole folder if it has several, some of which may
// have to be made. It reports whether the user has one.
func (l *Layer) place(top string, parts []string) bool {
	l.Over = top
	if len(parts) == 0 {
		l.write = []string{top}
		return true
	}
	some := false
	for _, part := range parts {
		at := filepath.Join(top, part)
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err != nil:
			l.Make, real = append(l.Make, at), at
		case len(parts) == 1:
			l.Over = real
		case real != at:
			return false // it is not in the folder
		}
		l.write, some = append(l.write, real), some || err == nil
	}
	return some
}

// meets reports whether a path is one of the others, lies in one or has one in it.
func meets(path string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return within(path, o) || within(o, path) })
}

// Shared describes the caches that steps get: the real paths they may write and the variables that point their tools
// there.
type Shared struct {
	Write []string
	Env   map[string]string
}

// Caches returns the user's caches that steps may use, according to the table and the caller's environment and
// excluding the real paths in kept, and the runs' own caches below own for everything else. Those in layers are mounted
// as such. Outside own it creates only folders named by the caller's environment. repository is the root of the
// repository that steps work on, or "".
func Caches(getenv func(string) (string, bool), own, repository string, kept []string, layers []Layer) (Shared, error) {
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
	for _, l := range layers {
		if l.Unused {
			continue
		}
		s.Write = append(s.Write, l.write...)
		if l.Name == "UV_CACHE_DIR" { // no hard link leads out of a layer, and uv would warn of each attempt
			s.Env["UV_LINK_MODE"] = "copy"
		}
		if l.value != "" {
			s.Env[l.Name] = l.value
		}
	}
	for _, c := range caches {
		at := slices.IndexFunc(layers, func(l Layer) bool { return l.Name == c.variable })
		if at >= 0 && !layers[at].Unused {
			continue
		}
		write, value := c.place(getenv, root, at < 0)
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
	s.Write = slices.Concat(s.Write, grant(paths, append(Real(tools), kept...)), Real([]string{own}))
	return s, nil
}

// place returns the paths that a row grants and the folder for its variable, or "" if the tool finds it by itself. With
// users the user's own folder is taken where it is there.
func (c cache) place(getenv func(string) (string, bool), root *os.Root, users bool) (write []string, folder string) {
	user, named := c.user(getenv)
	if user == "" && named {
		return nil, "" // not a folder: GOCACHE=off
	}
	there := users && user != "" && exists(user)
	switch {
	case c.data == nil && slices.Equal(c.read, []string{"."}) && there:
		return nil, user
	case c.data == nil && c.read == nil && !c.always && users && (there || named):
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
	for variable, below := range map[string]string{"XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share"} {
		if rest, ok := strings.CutPrefix(c.home, "~/"+below+"/"); ok {
			if dir := Base(getenv, variable, below); dir != "" {
				return filepath.Join(dir, rest), false
			}
			return "", false
		}
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
