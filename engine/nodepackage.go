package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/notebooks/codec"
	"markmill/runs"
)

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
