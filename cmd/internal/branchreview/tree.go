package branchreview

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/fresh"
	"markmill/render/review"
	"markmill/runs"
)

// Machine looks up what runs depend on outside of the repository: files, variables, versions of programs.
type Machine struct {
	Context context.Context // bounds the programs that are asked for their version
	Getenv  func(string) (string, bool)
	Store   runs.Store // its key compares files that Git ignores
	known   map[notebooks.DeclaredInput]notebooks.DeclaredInput
}

// Tree adapts the files of a commit or of the checkout to what a review reads. Without a machine the inputs outside of
// the repository cannot be compared: whoever judges what others wrote starts no program that they name.
func Tree(files *worktree.Files, on *Machine) review.Tree {
	return tree{files, inputs{files.View(), on, map[string]engine.Config{}}}
}

type tree struct {
	*worktree.Files
	inputs fresh.Tree
}

func (t tree) Entry(name string) (blob, mode string, ok bool, err error) {
	id, mode, ok, err := t.Files.Entry(name)
	return string(id), mode, ok, err
}

func (t tree) Inputs() fresh.Tree { return t.inputs }

// inputs adapts a tree to what inputs of runs are compared with.
type inputs struct {
	*worktree.View
	on       *Machine
	settings map[string]engine.Config // by the blob of the file
}

func (in inputs) Without(except []string, changes []notebooks.ManifestChange) (fresh.Tree, error) {
	view, err := in.View.Without(except, changes)
	return inputs{view, in.on, in.settings}, err
}

// Ignored compares what a run read of an ignored file with the file as it is.
func (in inputs) Ignored(name, was string) (now string, ok bool, err error) {
	blob, ok, err := in.View.Ignored(name)
	if !ok || err != nil || in.on == nil {
		return "", false, err
	}
	now, err = in.on.Store.Approvals().ConcealBlob(blob, nil)
	key, _, _ := strings.Cut(was, ":")
	if ok = now != "" && strings.HasPrefix(now, key+":"); blob == "" {
		now = ""
	}
	return now, ok, err
}

// KernelSettings reads the settings of the tree. Those that a link out of it leads to are not known: they are none that
// a run can have had.
func (in inputs) KernelSettings(kernel string) (string, error) {
	name := engine.ConfigFile
	for range 8 {
		blob, _, err := in.Entry(name)
		if err != nil || blob == "" && name == engine.ConfigFile {
			return "", err
		}
		if config, known := in.settings[blob]; known {
			return string(config.KernelSettings(kernel)), nil
		}
		text, link, err := in.Read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "unknown", nil
		case err != nil:
			return "", err
		case link:
			name = path.Join(path.Dir(name), string(text))
			continue
		}
		config, err := engine.ParseConfig(name, text)
		if err != nil {
			return "", err
		}
		in.settings[blob] = config
	}
	return "unknown", nil
}

// Dependency identifies a folder of dependencies in the checkout.
func (in inputs) Dependency(name string) (digest string, ok bool) {
	root, ok := in.View.Root()
	if !ok || in.on == nil {
		return "", false
	}
	d, ok := worktree.LookUpDependency(root, worktree.RawPath(name))
	return d.Digest(), ok
}

// Data looks up what a run read of the files that data: names. Only the checkout has them.
func (in inputs) Data(was notebooks.DataInput, wrote map[string]bool) (now notebooks.DataInput, ok bool, err error) {
	root, ok := in.View.Root()
	if !ok || in.on == nil {
		return now, false, nil
	}
	now, err = engine.LookUpData(in.on.Store, root, was, wrote)
	return now, true, err
}

// Declared looks a declared input up. A manifest may name anything, so that only plain names are looked for on PATH,
// and only regular files are read.
func (in inputs) Declared(was notebooks.DeclaredInput) (now notebooks.DeclaredInput, ok bool, err error) {
	asked := notebooks.DeclaredInput{Kind: was.Kind, Name: was.Name}
	switch was.Kind {
	case notebooks.InputPath:
		now, err = engine.LookUpInput(context.Background(), asked, os.LookupEnv, in.View)
		return now, true, err
	case notebooks.InputHistory:
		asked.Version = string(in.View.Commit())
		return asked, asked.Version != "", nil
	case notebooks.InputProgram:
		ok = !strings.ContainsAny(was.Name, `/\`)
	case notebooks.InputFile:
		info, err := os.Stat(was.Name)
		ok = err != nil || info.Mode().IsRegular()
	case notebooks.InputEnv:
		ok = true
	}
	if in.on == nil || !ok {
		return now, false, nil
	}
	if now, ok = in.on.known[asked]; ok {
		return now, true, nil
	}
	if now, err = engine.LookUpInput(in.on.Context, asked, in.on.Getenv, nil); err != nil {
		return now, false, err
	}
	if in.on.known == nil {
		in.on.known = map[notebooks.DeclaredInput]notebooks.DeclaredInput{}
	}
	in.on.known[asked] = now
	return now, true, nil
}
