package jupyter

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// install writes a kernelspec and gives the folder that it lies in.
func install(t *testing.T, root, name, text string) string {
	t.Helper()
	dir := filepath.Join(root, "kernels", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kernel.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestKernelspecsAreFoundWhereJupyterFindsThem(t *testing.T) {
	base := t.TempDir()
	in := func(name string) string { return filepath.Join(base, name) }
	env := map[string]string{"HOME": in("home"), "JUPYTER_PATH": in("first") + string(filepath.ListSeparator) +
		in("second"), "VIRTUAL_ENV": in("venv"),
		"JUPYTER_DATA_DIR": in("data"), "PATH": in("other/bin/") + "/" + string(filepath.ListSeparator) + "/usr/bin"}
	getenv := func(name string) string { return env[name] }
	const spec = `{"argv":["x","{connection_file}"],"language":"WHERE","display_name":"d"}`
	for name, root := range map[string]string{"first": in("first"), "second": in("second"), "data": in("data"),
		"venv": in("venv/share/jupyter"), "other": in("other/share/jupyter")} {
		install(t, root, name, spec)
		install(t, root, "Both", strings.Replace(spec, "WHERE", name, 1))
	}
	install(t, in("data"), "broken", `{"argv": [}`)
	install(t, in("data"), "empty", `{"argv": []}`)
	var names []string
	for _, s := range List(getenv) {
		names = append(names, s.Name)
	}
	for _, want := range []string{"both", "data", "first", "other", "second", "venv"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %v", want, names)
		}
	}
	if slices.Contains(names, "broken") || slices.Contains(names, "empty") {
		t.Errorf("what is no kernelspec is in %v", names)
	}
	if s, err := Find("bOTH", getenv); err != nil || s.Language != "first" || s.Name != "both" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := Find("none", getenv); !errors.Is(err, ErrNoSpec) {
		t.Error(err)
	}
	if _, err := Find("broken", getenv); err == nil || errors.Is(err, ErrNoSpec) ||
		!strings.Contains(err.Error(), "kernel.json") {
		t.Error(err)
	}
	if _, err := Find("empty", getenv); err == nil || !strings.Contains(err.Error(), "argv is empty") {
		t.Error(err)
	}
}

// The folders are Jupyter's own, in its order, whatever the environment says.
func TestThePathIsJupyters(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no Python with jupyter_client")
	}
	prefix, home := filepath.Dir(filepath.Dir(python)), t.TempDir()
	for _, set := range [][]string{
		{"VIRTUAL_ENV=" + prefix}, {"VIRTUAL_ENV=" + prefix, "JUPYTER_PREFER_ENV_PATH=no"},
		{"VIRTUAL_ENV=" + prefix, "JUPYTER_PATH=/a:/b/"},
		{"VIRTUAL_ENV=" + prefix, "JUPYTER_DATA_DIR=/data"}, {"VIRTUAL_ENV=" + prefix, "XDG_DATA_HOME=/xdg"},
	} {
		env := append([]string{"HOME=" + home}, set...)
		cmd := exec.Command(python, "-c",
			"from jupyter_client.kernelspec import KernelSpecManager as K; print(*K().kernel_dirs, sep='\\n')")
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := Path(func(name string) string {
			for _, v := range env {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		want := strings.Fields(string(out))
		// Jupyter's own Python says whether packages of the user count; in an environment they do not.
		user := filepath.Join(home, ".local", "share", "jupyter", "kernels")
		if !slices.Contains(want, user) {
			got = slices.DeleteFunc(got, func(dir string) bool { return dir == user })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", set, got, want)
		}
	}
}

func TestThePythonOfAKernelspecIsItsEnvironments(t *testing.T) {
	prefix := t.TempDir()
	dir := install(t, filepath.Join(prefix, "share", "jupyter"), "py",
		`{"argv":["python","-m","k","-f","{connection_file}","{resource_dir}"],"language":"python"}`)
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Command("/c.json"); !slices.Equal(got, []string{"python", "-m", "k", "-f", "/c.json", dir}) {
		t.Errorf("without a Python of its own: %q", got)
	}
	own := filepath.Join(prefix, "bin", "python3")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, plain := range []string{"python", "python3", "python3.11"} {
		s.Argv[0] = plain
		if got := s.Command("/c.json")[0]; got != own {
			t.Errorf("%s is %s, want %s", plain, got, own)
		}
	}
}

func TestPortsDiffer(t *testing.T) {
	c, err := TCP("x")
	if err != nil {
		t.Fatal(err)
	}
	ports := []int{c.Shell, c.IOPub, c.Stdin, c.Control, c.Heartbeat}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 5 || ports[0] == 0 {
		t.Error(ports)
	}
	file := filepath.Join(t.TempDir(), "c.json")
	if err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who reads the key runs code: %v %v", info.Mode(), err)
	}
}
