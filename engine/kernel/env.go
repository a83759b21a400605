package kernel

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"markmill/notebooks"
)

// lastSettings keeps the last setting of each name: programs differ in which one counts.
func lastSettings(env []string) []string {
	last := map[string]int{}
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		last[name] = i
	}
	var kept []string
	for i, e := range env {
		if name, _, _ := strings.Cut(e, "="); last[name] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// getenv returns the last setting of a name, as exec does.
func getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// lookProgram finds the program of a kernel on the PATH of the environment that the session gets.
func (o *Options) lookProgram(kernel, name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.Dir, path)
		}
		if err := executable(o.Place.Outside(path)); err != nil {
			return "", missing(kernel, name, err)
		}
		return path, nil
	}
	for _, d := range filepath.SplitList(getenv(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue // as in os/exec: never a program of the working directory by accident
		}
		if path := filepath.Join(d, name); executable(o.Place.Outside(path)) == nil {
			return path, nil
		}
	}
	return "", missing(kernel, name, errors.New("not found on PATH"))
}

// Missing returns an error if the program that a built-in kernel starts by its name is not on a PATH.
func Missing(name, path string) (missing *notebooks.Error) {
	program := cmp.Or(map[string]string{"python": "python3"}[name], name)
	if _, ok := Lookup(name); ok {
		_, err := (&Options{}).lookProgram(name, program, []string{"PATH=" + path})
		errors.As(err, &missing)
	}
	return missing
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return errors.New("not an executable file")
	}
	return nil
}

// missing is the error for a program that cannot be started.
func missing(kernel, program string, err error) error {
	return &notebooks.Error{
		Kind: notebooks.KindProvider,
		Msg:  "the kernel " + kernel + " needs the program " + program + ": " + err.Error(),
		Hint: "install it, or name another in markmill.yaml",
		Err:  err,
	}
}
