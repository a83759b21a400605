package engine

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// programOf identifies the file of an interpreter, and says whether steps or the repository can replace it. A file that
// cannot be read has no digest, and equals no other.
func (r *run) programOf(path string) (digest runs.Digest, inside bool) {
	if real := r.ws.real(path); !r.ws.isDependency(path) {
		path = real
	}
	digest, _ = r.eng.digestOfProgram(path)
	real, err := filepath.EvalSymlinks(path)
	return digest, r.ws.holds(path) || err == nil && r.ws.holds(real)
}

// countProgram counts the files of the repository that kernels: names for a step as read by it. They are started from
// the checkout, so one with uncommitted changes is not what the run begins with.
func (r *run) countProgram(s *PlannedStep) {
	_, name := kernelName(s.Kernel.Name())
	own := r.eng.Config.Kernels[name]
	for _, word := range append([]string{own.Program}, own.Command...) {
		if r.plan.source == nil || word == "" {
			continue
		}
		file := filepath.ToSlash(filepath.Clean(word))
		if filepath.IsAbs(word) {
			file, _ = r.plan.source.InCheckout(file)
		}
		if slices.Contains(r.plan.uncommitted, file) {
			r.ws.tree.LoseReads(fmt.Sprintf("%s, which runs step %s, has uncommitted changes", file, s.ID))
		}
		r.ws.tree.CountRead(file)
	}
}

// holds reports whether a file lies in the worktree, or in the checkout where Git would take it up: a PATH may lead
// into either. An interpreter that Git ignores there is the user's own, as those of virtual environments are.
func (w *workspace) holds(file string) bool {
	if rel, err := filepath.Rel(w.tree.Dir(), file); err == nil && filepath.IsLocal(rel) {
		return true
	}
	if w.plan.source == nil {
		return false
	}
	name, ok := w.plan.source.InCheckout(file)
	return ok && w.plan.source.Visible().Has(name, false)
}

// program is a configured program as a session starts it. One that the worktree lacks and that is in a folder of
// dependencies of the checkout, as .venv/bin/python, is the checkout's.
func (w *workspace) program(name string) string {
	if w.plan.source == nil || filepath.IsAbs(name) || !strings.Contains(name, "/") {
		return name
	}
	if _, err := os.Stat(filepath.Join(w.startDir(), filepath.FromSlash(name))); err == nil {
		return name
	}
	if !w.dependOnPath(path.Clean(name)) {
		return name
	}
	return filepath.Join(w.plan.source.Root(), filepath.FromSlash(name))
}

// programs lists the interpreters of a run, in the order in which they were first started.
func programs(events []runs.Event) (list []notebooks.Program, err error) {
	record, err := runs.Fold(events)
	if err != nil {
		return nil, err
	}
	for _, s := range record.Steps {
		if s.Step == nil {
			continue
		}
		p := notebooks.Program{Kernel: s.Step.Kernel, Name: filepath.Base(s.Step.Program), Version: s.Step.Version,
			Digest: string(s.Step.ProgramDigest), Inside: s.Step.Inside,
			Settings: string(s.Step.Settings)}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list, nil
}

// digestOfProgram is the digest of a program's file. Interpreters are large and change seldom: the private cache keeps
// the digest under the stat of the file.
func (e *Engine) digestOfProgram(path string) (runs.Digest, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	stat, err := disk.StatAt(filepath.Dir(real), filepath.Base(real))
	if err != nil {
		return "", err
	}
	return e.cachedDigest(fmt.Appendf(nil, "%s\x00%+v", path, stat), func() (runs.Digest, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		sum := runs.NewHasher()
		if _, err := f.WriteTo(sum); err != nil {
			return "", err
		}
		return sum.Digest(), nil
	})
}

// cachedDigest is a digest that depends on nothing but the stats of files; compute computes it.
func (e *Engine) cachedDigest(stats []byte, compute func() (runs.Digest, error)) (runs.Digest, error) {
	key := runs.DigestOf(stats)
	kept := filepath.Join(e.Cache, "programs", strings.TrimPrefix(string(key), "sha256:"))
	if b, err := os.ReadFile(kept); err == nil && len(b) == len(runs.DigestOf(nil)) {
		return runs.Digest(b), nil
	}
	digest, err := compute()
	if err != nil {
		return "", err
	}
	if os.MkdirAll(filepath.Dir(kept), 0o700) == nil {
		_ = os.WriteFile(kept, []byte(digest), 0o600) // else it is computed again next time
	}
	return digest, nil
}

// environmentDigest identifies the values of an environment, secrets masked, without what differs in every run.
func (p *Plan) environmentDigest(e *Engine) runs.Digest {
	sum := runs.NewHasher()
	w := &workspace{eng: e, plan: p, rec: &recorder{record: e.Store(p.root()).Record("none")}}
	for _, v := range w.environment(&workdir{}, "") {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "MARKMILL_") {
			continue
		}
		fmt.Fprintf(sum, "%s\n", hex.EncodeToString([]byte(p.mask.Text(v))))
	}
	return sum.Digest()
}

// DigestOfAgent is the digest by which an agent's program is admitted, and how many files it covers. Of a script of a
// Node package it covers all files of the package and of those that it depends on, as Node would find them, because the
// script is a few lines of the program. Of every other program it is that of its file.
func (e *Engine) DigestOfAgent(program string) (digest runs.Digest, files int, err error) {
	packages, err := nodePackages(program)
	if err != nil {
		return "", 0, err
	}
	if len(packages) == 0 {
		digest, err = e.digestOfProgram(program)
		return digest, 1, err
	}
	var list, stats bytes.Buffer
	var paths, names []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		err := filepath.WalkDir(packages[name], func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "node_modules": // packages of their own
				return fs.SkipDir
			case d.IsDir():
				return nil
			case len(paths) == mostPackageFiles:
				return fmt.Errorf("the Node packages of %s have more than %d files", program, mostPackageFiles)
			}
			stat, err := disk.StatAt(filepath.Dir(path), d.Name())
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(packages[name], path)
			paths, names = append(paths, path), append(names, name+"/"+filepath.ToSlash(rel))
			fmt.Fprintf(&stats, "%s\x00%+v\n", path, stat)
			return err
		})
		if err != nil {
			return "", 0, err
		}
	}
	digest, err = e.cachedDigest(stats.Bytes(), func() (runs.Digest, error) {
		for i, path := range paths {
			of, err := digestOfEntry(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&list, "%q %s\n", names[i], of)
		}
		return runs.DigestOf(list.Bytes()), nil
	})
	return digest, len(paths), err
}

// mostPackageFiles bounds the files of a program's packages.
const mostPackageFiles = 100_000

// digestOfEntry is the digest of a file, or of where a link leads.
func digestOfEntry(path string) (runs.Digest, error) {
	if to, err := os.Readlink(path); err == nil {
		return runs.DigestOf([]byte("link " + to)), nil
	}
	return digestOfFile(path)
}

// nodePackages are the folders of the package that a script belongs to and of those that it depends on, by where they
// are below the outermost node_modules; none for other programs.
func nodePackages(program string) (map[string]string, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	if script, err := IsScript(real); err != nil || !script {
		return nil, err
	}
	const modules = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
	outer, inner := strings.Index(real, modules), strings.LastIndex(real, modules)
	if outer < 0 {
		return nil, nil
	}
	name, rest, _ := strings.Cut(real[inner+len(modules):], string(filepath.Separator))
	if strings.HasPrefix(name, "@") {
		scoped, _, _ := strings.Cut(rest, string(filepath.Separator))
		name = filepath.Join(name, scoped)
	}
	found := map[string]string{}
	var add func(dir string) error
	add = func(dir string) error {
		rel, err := filepath.Rel(real[:outer+len(modules)], dir)
		if _, had := found[filepath.ToSlash(rel)]; had || err != nil {
			return err
		}
		var manifest struct {
			Dependencies         map[string]string `json:"dependencies"`
			OptionalDependencies map[string]string `json:"optionalDependencies"`
		}
		text, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			return err
		}
		if err := codec.Unmarshal(text, &manifest); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, "package.json"), err)
		}
		found[filepath.ToSlash(rel)] = dir
		needs := append(slices.Collect(maps.Keys(manifest.Dependencies)), slices.Collect(maps.Keys(
			manifest.OptionalDependencies))...)
		for _, need := range needs {
			for at := dir; strings.HasPrefix(at, real[:outer]); at = filepath.Dir(at) {
				folder := filepath.Join(at, "node_modules", filepath.FromSlash(need))
				if info, err := os.Stat(filepath.Join(folder, "package.json")); err != nil || !info.Mode().IsRegular() {
					continue
				}
				if folder, err = filepath.EvalSymlinks(folder); err == nil { // pnpm's are links
					err = add(folder)
				}
				if err != nil {
					return err
				}
				break
			}
		}
		return nil
	}
	err = add(filepath.Join(real[:inner+len(modules)], name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no package: its own file alone
	}
	return found, err
}

// IsScript reports whether a file begins with the line of an interpreter.
func IsScript(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 2)
	n, _ := f.Read(head)
	return bytes.Equal(head[:n], []byte("#!")), nil
}
