//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// home creates a folder with the listed files and folders (names that end in /).
func home(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func same(t *testing.T, got []string, dir string, want ...string) {
	t.Helper()
	var full []string
	for _, w := range want {
		full = append(full, filepath.Join(dir, filepath.FromSlash(w)))
	}
	got = slices.Sorted(slices.Values(got))
	slices.Sort(full)
	if !slices.Equal(got, full) {
		t.Errorf("got  %q\nwant %q", got, full)
	}
}

func TestExcept(t *testing.T) {
	dir := home(t, "a/x", "b/c/d/", "b/e", "bb/", "f")
	if err := os.Symlink("b/c", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	same(t, Except(dir, nil), dir, ".")
	same(t, Except(dir, []string{filepath.Join(dir, "b/c")}), dir, "a", "b/e", "bb", "f")
	same(t, Except(dir, []string{dir}), dir)
	same(t, Except(filepath.Join(dir, "b/c/d"), []string{filepath.Join(dir, "b")}), dir)
	same(t, Except(filepath.Join(dir, "bb"), []string{filepath.Join(dir, "b")}), dir, "bb")
}

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// cachesOf calls Caches with the runs' own caches in own.
func cachesOf(t *testing.T, dir, repository string, kept []string, pairs ...string) Shared {
	t.Helper()
	s, err := Caches(environment(pairs...), filepath.Join(dir, "own"), repository, kept, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func variable(t *testing.T, s Shared, name, want string) {
	t.Helper()
	if s.Env[name] != want {
		t.Errorf("%s is %q, want %q", name, s.Env[name], want)
	}
}

// TestCaches: the user's caches are granted in place, except programs; the runs' own caches replace missing ones, and
// nothing is created in the home.
func TestCaches(t *testing.T) {
	dir := home(t)
	s := cachesOf(t, dir, "", nil, "HOME", dir)
	same(t, s.Write, dir, "own")
	variable(t, s, "XDG_CACHE_HOME", filepath.Join(dir, "own/xdg"))
	variable(t, s, "CARGO_HOME", filepath.Join(dir, "own/cargo"))
	variable(t, s, "MAVEN_OPTS", "-Dmaven.repo.local="+filepath.Join(dir, "own/maven"))
	variable(t, s, "GOCACHE", "")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the home has %v (%v)", entries, err)
	}

	dir = home(t, ".cache/go-build/", ".cache/tool/", ".cache/pre-commit/", ".cache/uv/", ".cache/pip/",
		".cache/ms-playwright/", ".local/share/uv/python/", ".local/share/uv/tools/x/bin/x", ".npm/_cacache/",
		".npm/_npx/x/",
		".cargo/registry/", ".cargo/bin/cargo", ".cargo/config.toml", "go/pkg/", "go/bin/tool", ".m2/repository/",
		".gradle/caches/", ".gradle/gradle.properties", ".yarn/berry/")
	s = cachesOf(t, dir, "", nil, "HOME", dir)
	same(t, s.Write, dir, "own", ".cache/go-build", ".cache/pip", ".npm/_cacache", ".cargo/registry", "go/pkg",
		".m2/repository", ".yarn/berry")
	for name, want := range map[string]string{"GOCACHE": ".cache/go-build", "PIP_CACHE_DIR": ".cache/pip",
		"PLAYWRIGHT_BROWSERS_PATH": ".cache/ms-playwright",
		"UV_PYTHON_INSTALL_DIR":    ".local/share/uv/python", "UV_TOOL_DIR": "own/uv-tools",
		"NPM_CONFIG_CACHE": "own/npm", "CARGO_HOME": "own/cargo", "GRADLE_USER_HOME": "own/gradle"} {
		variable(t, s, name, filepath.Join(dir, want))
	}
	for _, name := range []string{"GOPATH", "MAVEN_OPTS", "YARN_GLOBAL_FOLDER"} {
		variable(t, s, name, "")
	}
	for name, want := range map[string]string{"npm/_cacache": ".npm/_cacache", "cargo/registry": ".cargo/registry",
		"cargo/bin": ".cargo/bin", "cargo/config.toml": ".cargo/config.toml",
		"gradle/gradle.properties": ".gradle/gradle.properties"} {
		if to, err := os.Readlink(filepath.Join(dir, "own", name)); err != nil || to != filepath.Join(dir, want) {
			t.Errorf("%s leads to %q (%v)", name, to, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "own/cargo/git")); err == nil {
		t.Error("a link leads to what the user does not have")
	}
	for _, made := range []string{".cargo/git", ".npm/_logs"} {
		if exists(filepath.Join(dir, made)) {
			t.Errorf("%s was made", made)
		}
	}

	dir = home(t, "mods/", "g/pkg/")
	s = cachesOf(t, dir, "", nil, "HOME", dir, "GOMODCACHE", filepath.Join(dir, "mods"), "GOPATH",
		filepath.Join(dir, "g")+":"+filepath.Join(dir, "h"), "GOCACHE", "off",
		"PIP_CACHE_DIR", "relative", "CCACHE_DIR", filepath.Join(dir, "named"), "PNPM_HOME", filepath.Join(dir, "mods"),
		"UV_TOOL_DIR", dir)
	variable(t, s, "CCACHE_DIR", filepath.Join(dir, "named"))
	variable(t, s, "UV_TOOL_DIR", filepath.Join(dir, "own/uv-tools"))
	same(t, s.Write, dir, "mods", "g/pkg", "own", "named")
	same(t, cachesOf(t, dir, "", nil).Write, dir, "own") // without a home
}

// TestToolchains: Go toolchains in the module cache are programs. Everything around them is granted, including the
// hosts that the repository needs.
func TestToolchains(t *testing.T) {
	dir := home(t, "go/pkg/mod/cache/", "go/pkg/mod/golang.org/x/",
		"go/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64/bin/go", "go/pkg/sumdb/")
	if err := os.Mkdir(filepath.Join(dir, "repo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "repo/go.sum"), []byte("example.test/a v1.0.0 h1:x=\n../b v1 h1:x=\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	s := cachesOf(t, dir, filepath.Join(dir, "repo"), nil, "HOME", dir)
	same(t, s.Write, dir, "go/pkg/mod/cache", "go/pkg/mod/golang.org/x", "go/pkg/mod/example.test", "go/pkg/sumdb",
		"own")
}

// TestCachesAroundWhatIsKept: a variable that names the home or a kept path does not grant it.
func TestCachesAroundWhatIsKept(t *testing.T) {
	dir := home(t, "repo/.git/", "repo/file", "other/", "own/")
	kept := []string{filepath.Join(dir, "repo"), filepath.Join(dir, "own")}
	same(t, cachesOf(t, dir, "", kept, "HOME", "/nowhere", "PIP_CACHE_DIR", dir).Write, dir, "other", "own")
	same(t, cachesOf(t, dir, "", kept, "HOME", "/nowhere", "PIP_CACHE_DIR", filepath.Join(dir, "repo/.git")).Write, dir,
		"own")
}

// TestPlantedLinks: a link that an earlier run's step left in the caches grants nothing more, and we do not follow it.
func TestPlantedLinks(t *testing.T) {
	plant := func(to, at string) {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	dir := home(t, "go/pkg/", "secret/", ".npm/_cacache/", "own/cargo/", ".cargo/registry/")
	plant(filepath.Join(dir, "secret"), filepath.Join(dir, "go/pkg/mod"))
	plant(filepath.Join(dir, "secret"), filepath.Join(dir, "go/pkg/build"))
	plant(filepath.Join(dir, "secret"), filepath.Join(dir, "own/npm"))
	plant(filepath.Join(dir, "secret"), filepath.Join(dir, "own/cargo/registry"))
	s := cachesOf(t, dir, "", nil, "HOME", dir, "GOMODCACHE", filepath.Join(dir, "go/pkg/mod"), "GOCACHE",
		filepath.Join(dir, "go/pkg/build/deep"))
	same(t, s.Write, dir, "go/pkg", ".npm/_cacache", ".cargo/registry", "own")
	if entries, err := os.ReadDir(filepath.Join(dir, "secret")); err != nil || len(entries) > 0 {
		t.Errorf("the link was followed to make %v (%v)", entries, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "own/cargo/registry")); err != nil ||
		to != filepath.Join(dir, ".cargo/registry") {
		t.Errorf("the planted link stands: %q (%v)", to, err)
	}

	// The user's own link, where steps cannot write, is followed.
	dir = home(t, "disk/build/", ".cache/")
	plant("../disk/build", filepath.Join(dir, ".cache/go-build"))
	same(t, cachesOf(t, dir, "", nil, "HOME", dir, "GOPATH", "relative").Write, dir, "disk/build", "own")
}

func TestGranted(t *testing.T) {
	dir := home(t, "a/", "b/kept/", "b/open/")
	same(t, Granted(environment("HOME", dir), []string{"~/a", filepath.Join(dir, "b"), "~/missing", "relative"},
		[]string{filepath.Join(dir, "b/kept")}), dir, "a", "b/open")
}

// layersOf calls Layers and keeps what the tests compare: the names, and the paths mounted over, made and written.
func layersOf(dir string, kept, secrets []string, pairs ...string) (s string) {
	use := NewUse()
	use.All()
	for _, l := range Layers(environment(append(pairs, "HOME", dir)...), kept, secrets, use) {
		s += fmt.Sprintln(l.Name, l.Over, l.Make, l.write, l.value)
	}
	return strings.ReplaceAll(s, dir+"/", "")
}

// TestLayers: each cache that the user has can be a layer, wherever the variables of its tool say that it is.
func TestLayers(t *testing.T) {
	for _, c := range []struct {
		have        []string
		env         []string
		want        string
		kept, hides []string
	}{
		{have: []string{".cache/other/", ".cargo/bin/cargo", ".npm/x/", ".m2/settings.xml",
			".gradle/gradle.properties"}},
		{have: []string{".cache/go-build/"}, want: "GOCACHE .cache/go-build [] [.cache/go-build] .cache/go-build\n"},
		{have: []string{"g/"}, env: []string{"GOCACHE", "g"}, want: "GOCACHE g [] [g] g\n"},
		{have: []string{"c/go-build/"}, env: []string{"XDG_CACHE_HOME", "c"},
			want: "GOCACHE c/go-build [] [c/go-build] c/go-build\n"},
		{env: []string{"GOCACHE", "missing"}},
		{have: []string{"go/pkg/mod/", "go/bin/tool"}, want: "GOPATH go/pkg [] [go/pkg] \n"},
		{have: []string{"m/"}, env: []string{"GOMODCACHE", "m"}, want: "GOMODCACHE m [] [m] m\n"},
		{have: []string{".npm/_cacache/"},
			want: "NPM_CONFIG_CACHE .npm [.npm/_npx .npm/_logs] [.npm/_cacache .npm/_npx .npm/_logs] \n"},
		{have: []string{".local/share/pnpm/store/"},
			want: "PNPM_HOME .local/share/pnpm/store [] [.local/share/pnpm/store] \n"},
		{have: []string{"d/pnpm/store/"}, env: []string{"XDG_DATA_HOME", "d"},
			want: "PNPM_HOME d/pnpm/store [] [d/pnpm/store] \n"},
		{have: []string{"p/store/"}, env: []string{"PNPM_HOME", "p"}, want: "PNPM_HOME p/store [] [p/store] p\n"},
		{have: []string{".yarn/berry/"}, want: "YARN_GLOBAL_FOLDER .yarn/berry [] [.yarn/berry] \n"},
		{have: []string{".cache/pip/"}, want: "PIP_CACHE_DIR .cache/pip [] [.cache/pip] .cache/pip\n"},
		{have: []string{".cache/uv/"}, want: "UV_CACHE_DIR .cache/uv [] [.cache/uv] .cache/uv\n"},
		{have: []string{".cargo/registry/", ".cargo/credentials.toml"}, hides: []string{".cargo/credentials.toml"},
			want: "CARGO_HOME .cargo [.cargo/git] [.cargo/registry .cargo/git] \n"},
		{have: []string{".m2/repository/"}, want: "MAVEN_OPTS .m2/repository [] [.m2/repository] \n"},
		{have: []string{".cache/ccache/"}, want: "CCACHE_DIR .cache/ccache [] [.cache/ccache] .cache/ccache\n"},
		{have: []string{".cache/huggingface/hub/", ".cache/ms-playwright/"}}, // written in place; read only
		{have: []string{".cache/pip/"}, kept: []string{".cache"}},
		{have: []string{".cache/pip/x/"}, kept: []string{".cache/pip/x"}},
		{have: []string{".cache/pip/x/"}, hides: []string{".cache/pip/x"}},
	} {
		dir := home(t, c.have...)
		below := func(list []string) (out []string) {
			for _, p := range list {
				out = append(out, filepath.Join(dir, p))
			}
			return out
		}
		env := slices.Clone(c.env)
		if len(env) > 0 {
			env[1] = filepath.Join(dir, env[1])
		}
		if got := layersOf(dir, below(c.kept), below(c.hides), env...); got != c.want {
			t.Errorf("%v with %v: got\n%swant\n%s", c.have, c.env, got, c.want)
		}
	}
}

// TestLayersBehindLinks: what is mounted is what the user's link leads to; a part that leads out of a folder with
// several makes it no layer, because steps would write what the link leads to.
func TestLayersBehindLinks(t *testing.T) {
	dir := home(t, "disk/pip/", "disk/registry/", ".cache/", ".cargo/git/")
	for at, to := range map[string]string{".cache/pip": "disk/pip", ".cargo/registry": "disk/registry"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := layersOf(dir, nil, nil), "PIP_CACHE_DIR disk/pip [] [disk/pip] .cache/pip\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestCachesWithLayers: steps get a layer as the user has it, and nothing of the runs' own in its place.
func TestCachesWithLayers(t *testing.T) {
	dir := home(t, ".cache/uv/", ".npm/_cacache/", ".cargo/registry/", "go/pkg/mod/golang.org/toolchain@v0/bin/go")
	env := environment("HOME", dir)
	use := NewUse()
	use.All()
	s, err := Caches(env, filepath.Join(dir, "own"), "", nil, Layers(env, nil, nil, use))
	if err != nil {
		t.Fatal(err)
	}
	same(t, s.Write, dir, "own", ".cache/uv", ".npm/_cacache", ".npm/_npx", ".npm/_logs", ".cargo/registry",
		".cargo/git", "go/pkg")
	variable(t, s, "UV_CACHE_DIR", filepath.Join(dir, ".cache/uv"))
	variable(t, s, "UV_LINK_MODE", "copy")
	for _, name := range []string{"CARGO_HOME", "NPM_CONFIG_CACHE", "GOPATH"} {
		variable(t, s, name, "")
	}
	variable(t, s, "MAVEN_OPTS", "-Dmaven.repo.local="+filepath.Join(dir, "own/maven"))
	if exists(filepath.Join(dir, ".cargo/git")) {
		t.Error("a folder of the user's was made")
	}
}

// TestUse: a cache is a layer where a step names one of its programs, or the repository has one of its files. Where
// neither does, steps get what they would get if the user had none: never the user's own.
func TestUse(t *testing.T) {
	have := []string{".cache/go-build/", ".cache/pip/", ".cache/uv/", ".cargo/registry/", ".cargo/bin/cargo",
		".m2/repository/", ".npm/_cacache/", "go/pkg/mod/"}
	for _, c := range []struct {
		code, file string
		want       []string
	}{
		{code: "echo the-go of algo.cargo/x; mango pip_x"},
		{code: "cd x && go test ./...", want: []string{"GOCACHE", "GOPATH"}},
		{code: `subprocess.run(["/usr/bin/pip3.12", "install"])`, want: []string{"PIP_CACHE_DIR", "UV_CACHE_DIR"}},
		{code: "./mvnw -q test", want: []string{"MAVEN_OPTS"}},
		{code: "x=$(npx eslint .)", want: []string{"NPM_CONFIG_CACHE"}},
		{file: "crates/a/Cargo.toml", want: []string{"CARGO_HOME"}},
		{file: "src/main.rs", want: []string{"CARGO_HOME"}},
		{file: "a/b.py", want: []string{"PIP_CACHE_DIR", "UV_CACHE_DIR"}},
		{file: "python.txt"},
	} {
		dir := home(t, have...)
		env := environment("HOME", dir)
		use := NewUse()
		use.Code(c.code)
		use.File(c.file)
		layers := Layers(env, nil, nil, use)
		var used []string
		for _, l := range layers {
			if !l.Unused {
				used = append(used, l.Name)
			}
		}
		if !slices.Equal(used, c.want) {
			t.Errorf("%q with %q: %v, want %v", c.code, c.file, used, c.want)
		}
		s, err := Caches(env, filepath.Join(dir, "own"), "", nil, layers)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			if l.Unused && slices.ContainsFunc(s.Write, func(at string) bool { return within(l.Over, at) }) {
				t.Errorf("%q with %q: steps may write %s: %v", c.code, c.file, l.Over, s.Write)
			}
		}
	}
}
