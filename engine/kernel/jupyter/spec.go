package jupyter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// Spec is an installed kernel: its kernel.json, and where it lies.
type Spec struct {
	Name          string            `json:"-"` // of its folder, lower case: what selects it
	Dir           string            `json:"-"`
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"` // "" and "signal": SIGINT; "message": interrupt_request
	Env           map[string]string `json:"env"`
}

// Path lists the folders that hold kernelspecs, the first the strongest, as `jupyter --paths` and
// `jupyter kernelspec list` have them: JUPYTER_PATH, the user's data folder, the environments that are active or
// whose programs are on PATH, the system's, and that of old versions of IPython. An environment that was
// activated on purpose comes before the user's folder, unless JUPYTER_PREFER_ENV_PATH says otherwise.
func Path(getenv func(string) string) []string {
	var roots []string
	add := func(elements ...string) {
		if elements[0] == "" {
			return
		}
		if dir := filepath.Join(append(elements, "kernels")...); !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	for _, d := range filepath.SplitList(getenv("JUPYTER_PATH")) {
		add(d)
	}
	home := getenv("HOME")
	user := func() {
		switch data := getenv("JUPYTER_DATA_DIR"); {
		case data != "":
			add(data)
		case runtime.GOOS == "darwin":
			add(home, "Library", "Jupyter")
		case getenv("XDG_DATA_HOME") != "":
			add(getenv("XDG_DATA_HOME"), "jupyter")
		default:
			add(home, ".local", "share", "jupyter")
		}
		if base := getenv("PYTHONUSERBASE"); base != "" { // where pip install --user puts kernels
			add(base, "share", "jupyter")
		} else {
			add(home, ".local", "share", "jupyter")
		}
	}
	environments := func() {
		add(getenv("VIRTUAL_ENV"), "share", "jupyter")
		add(getenv("CONDA_PREFIX"), "share", "jupyter")
	}
	if environmentFirst(getenv) {
		environments()
	}
	user()
	environments()
	for _, bin := range filepath.SplitList(getenv("PATH")) { // an environment may be used without being activated
		if prefix, ok := strings.CutSuffix(filepath.Clean(bin), string(filepath.Separator)+"bin"); ok &&
			filepath.IsAbs(prefix) {
			add(prefix, "share", "jupyter")
		}
	}
	add("/usr/local/share/jupyter")
	add("/usr/share/jupyter")
	if ipython := getenv("IPYTHONDIR"); ipython != "" {
		add(ipython)
	} else {
		add(home, ".ipython")
	}
	return roots
}

// environmentFirst reports whether the active environment is one of its own: a virtual one, or one of conda that is
// not its root.
func environmentFirst(getenv func(string) string) bool {
	if say := getenv("JUPYTER_PREFER_ENV_PATH"); say != "" {
		return !slices.Contains([]string{"no", "n", "false", "off", "0", "0.0"}, strings.ToLower(say))
	}
	name := getenv("CONDA_DEFAULT_ENV")
	return getenv("VIRTUAL_ENV") != "" || name != "" && name != "base"
}

// List returns every kernel that is installed, by name; of two of one name the stronger. What cannot
// be read as a kernelspec is left out.
func List(getenv func(string) string) []Spec {
	var specs []Spec
	for _, root := range Path(getenv) {
		entries, _ := os.ReadDir(root) // most of the folders are not there
		for _, e := range entries {
			s, err := Load(filepath.Join(root, e.Name()))
			if err == nil && !slices.ContainsFunc(specs, func(o Spec) bool { return o.Name == s.Name }) {
				specs = append(specs, s)
			}
		}
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

// ErrNoSpec is what Find's error wraps when no kernel has the name.
var ErrNoSpec = errors.New("no such kernelspec")

// Find finds a kernel by its name. Names are compared in lower case, as Jupyter does.
func Find(name string, getenv func(string) string) (Spec, error) {
	for _, root := range Path(getenv) {
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if !strings.EqualFold(e.Name(), name) {
				continue
			}
			s, err := Load(filepath.Join(root, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return s, err
		}
	}
	return Spec{}, fmt.Errorf("%w: %s", ErrNoSpec, name)
}

// Load reads the kernelspec in a folder.
func Load(dir string) (Spec, error) {
	file := filepath.Join(dir, "kernel.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Name: strings.ToLower(filepath.Base(dir)), Dir: dir}
	if err := codec.UnmarshalForeign(text, &s); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return Spec{}, fmt.Errorf("%s: argv is empty; it names the program that runs the kernel", file)
	}
	return s, nil
}

// Command is the argument vector that starts the kernel with a connection file. A plain "python", "python3" or
// "python3.11" is the one of the environment that the kernelspec lies in, when it lies in one, as jupyter_client has
// it.
func (s Spec) Command(connection string) []string {
	fill := strings.NewReplacer("{connection_file}", connection, "{resource_dir}", s.Dir, "{prefix}", s.prefix())
	argv := make([]string, len(s.Argv))
	for i, a := range s.Argv {
		argv[i] = fill.Replace(a)
	}
	if name := argv[0]; plainPython.MatchString(name) {
		for _, own := range []string{name, "python3", "python"} {
			path := filepath.Join(s.prefix(), "bin", own)
			if _, err := os.Stat(path); s.prefix() != "" && err == nil {
				argv[0] = path
				break
			}
		}
	}
	return argv
}

// plainPython is a Python without a folder.
var plainPython = lazyregexp.New(`^python(3(\.[0-9]+)?)?(\.exe)?$`)

// prefix is the environment that <prefix>/share/jupyter/kernels/<name> lies in, "" elsewhere.
func (s Spec) prefix() string {
	dir := filepath.Dir(filepath.Dir(s.Dir))
	if filepath.Base(dir) == "jupyter" && filepath.Base(filepath.Dir(dir)) == "share" {
		return filepath.Dir(filepath.Dir(dir))
	}
	return ""
}
