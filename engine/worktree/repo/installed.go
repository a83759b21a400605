package repo

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"markmill/engine/worktree/object"
)

// modules is the name of the folder of Node's packages.
const modules = "node_modules"

// environmentFile is at the top of each virtual environment of Python (PEP 405).
const environmentFile = "pyvenv.cfg"

// markers are the files in which installers of Node's packages say what they installed.
var markers = []string{".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"}

// The files that say what is to be installed, the most exact first.
var (
	moduleLocks = []string{"pnpm-lock.yaml", "yarn.lock", "package-lock.json", "npm-shrinkwrap.json", "bun.lock",
		"package.json"}
	environmentLocks = []string{"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "requirements.txt",
		"pyproject.toml", "setup.py"}
)

// Dependencies returns the folder of dependencies that a path of the checkout is or lies in (below), and the name that
// a blob of what its installer says that it installed would have; ok is false where nobody says it. In a workspace of
// Node the folder at the top says it for those of the packages: dir is the folder that says it.
func (s *Repo) Dependencies(name string) (dir, below string, installed object.Digest, ok bool) {
	root, err := os.OpenRoot(s.Root())
	if err != nil {
		return "", "", installed, false
	}
	defer root.Close()
	var text []byte
	for part := range strings.SplitSeq(name, "/") {
		below = path.Join(below, part)
		if part == modules {
			for dir = below; ; dir = path.Join(path.Dir(path.Dir(dir)), modules) {
				if text = marked(root, dir); text != nil || dir == modules {
					break
				}
			}
			break
		}
		if dir, text = below, environment(root, below); text != nil {
			break
		}
	}
	return dir, below, s.Format.Sum("blob", text), text != nil
}

// Installed is the blob of Dependencies of a folder that says what is installed in it; "" of all others.
func (s *Repo) Installed(name string) object.OID {
	dir, _, installed, ok := s.Dependencies(name)
	if !ok || dir != name {
		return ""
	}
	return s.Format.OID(installed)
}

// marked is what the markers in a folder of Node's packages say.
func marked(root *os.Root, dir string) (installed []byte) {
	for _, name := range markers {
		if text, err := root.ReadFile(path.Join(dir, name)); err == nil {
			installed = append(append(installed, name+"\n"...), text...)
		}
	}
	return installed
}

// environment is what is installed in a virtual environment, its Python and packages with their versions; nil of
// another folder.
func environment(root *os.Root, dir string) []byte {
	text, err := root.ReadFile(path.Join(dir, environmentFile))
	if err != nil {
		return nil
	}
	for _, pattern := range []string{"lib/python*/site-packages/*.dist-info", "Lib/site-packages/*.dist-info"} {
		found, _ := fs.Glob(root.FS(), path.Join(dir, pattern))
		slices.Sort(found)
		for _, p := range found {
			text = append(text, path.Base(p)+"\n"...)
		}
	}
	return text
}

// Locks are the paths of the files that may say what is to be installed in a folder of dependencies: beside it, and at
// the top.
func Locks(dir string) (paths []string) {
	names := environmentLocks
	if path.Base(dir) == modules {
		names = moduleLocks
	}
	for _, at := range []string{path.Dir(dir), "."} {
		for _, name := range names {
			paths = append(paths, path.Join(at, name))
		}
	}
	return paths
}
