package fresh

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
)

// Tree is what inputs are compared with: a commit, or the checkout. Paths are slash-separated; "." is the root. Names
// of objects are those of Git, in hexadecimal; "" says that nothing of that kind is at the path.
type Tree interface {
	// Entry returns the blob and the mode of a file or link.
	Entry(path string) (blob, mode string, err error)
	// Folder returns the tree of a folder, and the digest of the names in it, by the rules 0 of notebooks.Inputs.
	Folder(path string) (tree, names string, err error)
	// Names and Below do so by the rules 1: of the names that count.
	Names(path string, of []string) (string, error)
	Below(path string, of []string) (string, error)
	// Looked returns what notebooks.Inputs.Looked would be.
	Looked(read []notebooks.Input) ([]string, error)
	// Attributes returns what Input.Attributes would be of a file or folder.
	Attributes(path string) (string, error)
	// KernelSettings returns what Program.Settings would be of a kernel.
	KernelSettings(kernel string) (string, error)
	// Without returns the same tree with changes taken back and without the paths of except, and what is below them.
	Without(except []string, changes []notebooks.ManifestChange) (Tree, error)
	// Ignored returns what Input.Blob would be of a file now that Git ignores; ok is false where it cannot be compared
	// with was, as in a commit, or on another machine.
	Ignored(path, was string) (now string, ok bool, err error)
	// Declared looks a declared input up; ok is false where it cannot be known.
	Declared(in notebooks.DeclaredInput) (now notebooks.DeclaredInput, ok bool, err error)
	// Data returns what a data input would be now, without what the run wrote; ok is false where it cannot be known.
	Data(in notebooks.DataInput, wrote map[string]bool) (now notebooks.DataInput, ok bool, err error)
	// Dependency returns what Dependency.Digest would be now; ok is false where nothing is installed, or nobody knows.
	Dependency(path string) (digest string, ok bool)
}

// Reason is one input that is not as it was.
type Reason struct {
	Path  string           `json:"path"` // of a declared input, its name
	Step  notebooks.StepID `json:"step,omitzero"`
	Words string           `json:"words"`
}

// Result says whether a result still holds.
type Result struct {
	Unknown string   `json:"unknown,omitzero"` // why that cannot be known
	Reasons []Reason `json:"reasons,omitempty"`
	// Applied says that the tree has the change of the run, which was taken back before its inputs were compared.
	Applied bool `json:"applied,omitzero"`
	// Pinned says as of which commit the result holds, where a step read Git's history; "" where none did.
	Pinned string `json:"pinned,omitzero"`
}

// Current reports whether every input is as it was.
func (r *Result) Current() bool { return r.Unknown == "" && len(r.Reasons) == 0 }

// Judge compares the inputs of a run with a tree. It says nothing of the source and its parameters, which a manifest
// names by their own digest.
func Judge(m *notebooks.Manifest, tree Tree) (*Result, error) {
	in := m.Inputs
	if in == nil {
		return &Result{Unknown: "its run recorded no inputs"}, nil
	}
	if in.Unknown != "" {
		return &Result{Unknown: in.Unknown}, nil
	}
	r := &Result{}
	if h := in.History; h != nil && !slices.ContainsFunc(in.Declared, func(d notebooks.DeclaredInput) bool {
		return d.Kind == notebooks.InputHistory
	}) {
		r.Pinned = fmt.Sprintf("as of %.8s: step %s reads the history", h.Commit, h.Step)
	}
	var err error
	if r.Applied, err = applied(m, tree); err != nil {
		return nil, err
	}
	changes := m.Changes
	if !r.Applied {
		changes = nil
	}
	if len(in.Except)+len(changes) > 0 {
		if tree, err = tree.Without(in.Except, changes); err != nil {
			return nil, err
		}
	}
	if in.Rules > notebooks.InputRules {
		return &Result{Unknown: "a newer version of Markmill recorded what its run read"}, nil
	}
	for i := range in.Read {
		if err := r.read(&in.Read[i], in.Rules, tree); err != nil {
			return nil, err
		}
	}
	if in.Rules > 0 {
		if err := r.looked(in, tree); err != nil {
			return nil, err
		}
	}
	if err := r.kernels(in, tree); err != nil {
		return nil, err
	}
	for _, d := range in.Declared {
		now, ok, err := tree.Declared(d)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			r.Unknown = fmt.Sprintf("the declared input %s cannot be compared here", d.Name)
		case now != d:
			r.Reasons = append(r.Reasons, Reason{Path: d.Name, Words: declaredWords(d, now)})
		}
	}
	for _, d := range in.Dependencies {
		if digest, ok := tree.Dependency(d.Path); ok && digest != d.Digest {
			r.Reasons = append(r.Reasons, Reason{Path: d.Path, Words: "has other packages, or its lock file changed"})
		}
	}
	if err := r.data(m, tree); err != nil {
		return nil, err
	}
	return r, r.made(m.Changes, tree)
}

// data compares the files that data: names and that the run read.
func (r *Result) data(m *notebooks.Manifest, tree Tree) error {
	wrote := map[string]bool{}
	for _, f := range m.Data {
		wrote[f.Path] = true
	}
	for _, in := range m.Inputs.Data {
		now, ok, err := tree.Data(in, wrote)
		words := ""
		switch {
		case err != nil:
			return err
		case !ok:
			r.Unknown = plain.Escape(in.Path) + " was read, and Git ignores it: it cannot be compared here"
		case now.Names != in.Names:
			words = otherNames
		case now.Digest == in.Digest:
		case now.Digest == "":
			words = "was removed"
		case now.Maker != "":
			words = "changed, written by " + now.Maker
		default:
			words = "changed"
		}
		if words != "" {
			r.Reasons = append(r.Reasons, Reason{Path: in.Path, Step: in.Step, Words: words})
		}
	}
	return nil
}

// SettingsFile says which program runs the steps of a kernel.
const SettingsFile = "markmill.yaml"

// kernels compares what the settings say of the kernels that ran steps. Runs of earlier versions counted the whole file
// as read where it said something of them.
func (r *Result) kernels(in *notebooks.Inputs, tree Tree) error {
	read := slices.ContainsFunc(in.Read, func(i notebooks.Input) bool {
		return i.Blob != "" && i.Path == SettingsFile || i.Tree != "" && i.Path == "."
	})
	for _, p := range in.Programs {
		if p.Settings == "" && read {
			continue
		}
		now, err := tree.KernelSettings(p.Kernel)
		if err != nil {
			return err
		}
		name := p.Kernel[strings.LastIndexByte(p.Kernel, ':')+1:]
		if reason := (Reason{Path: SettingsFile, Words: "changed the kernel " + name}); now !=
			p.Settings && !slices.Contains(r.Reasons, reason) {
			r.Reasons = append(r.Reasons, reason)
		}
	}
	return nil
}

// applied reports whether the tree has every file as the run left it: the change was applied, and what the run began
// with is the tree without it.
func applied(m *notebooks.Manifest, tree Tree) (bool, error) {
	if len(m.Changes) == 0 || m.ChangesOmitted > 0 {
		return false, nil
	}
	for _, c := range m.Changes {
		blob, mode, err := tree.Entry(c.Path)
		if err != nil {
			return false, err
		}
		if c.NewBlob == "" && c.Status != "deleted" || blob != c.NewBlob || blob != "" && mode != c.NewMode &&
			c.NewMode != "" {
			return false, nil
		}
		if c.OldPath != "" {
			if blob, _, err = tree.Entry(c.OldPath); err != nil || blob != "" {
				return false, err
			}
		}
	}
	return true, nil
}

// made compares the paths that the run made, in a tree without its change: nothing was there, and what is there now the
// steps may find, however they look for it.
func (r *Result) made(changes []notebooks.ManifestChange, tree Tree) error {
	for i := range changes {
		c := &changes[i]
		if c.Status != "added" && c.OldPath == "" {
			continue
		}
		blob, _, err := tree.Entry(c.Path)
		if err != nil {
			return err
		}
		folder, _, err := tree.Folder(c.Path)
		if err != nil {
			return err
		}
		if blob+folder != "" {
			r.Reasons = append(r.Reasons, Reason{Path: c.Path, Words: "is there, and the run began without it"})
		}
	}
	return nil
}

// read compares one input.
func (r *Result) read(in *notebooks.Input, rules int, tree Tree) error {
	say := func(words string) { r.Reasons = append(r.Reasons, Reason{Path: in.Path, Step: in.Step, Words: words}) }
	if in.Ignored {
		blob, ok, err := tree.Ignored(in.Path, in.Blob)
		switch {
		case err != nil:
			return err
		case !ok:
			r.Unknown = plain.Escape(in.Path) + " was read, and Git ignores it: it cannot be compared here"
		case blob != in.Blob:
			say(change(blob != ""))
		}
		return nil
	}
	if in.Blob != "" {
		blob, mode, err := tree.Entry(in.Path)
		switch {
		case err != nil:
			return err
		case blob != in.Blob:
			say(change(blob != ""))
		case mode != in.BlobMode():
			say(fmt.Sprintf("has mode %s, and had %s", mode, in.BlobMode()))
		}
	}
	if in.Blob+in.Tree != "" {
		now, err := tree.Attributes(in.Path)
		switch {
		case err != nil:
			return err
		case now != in.Attributes:
			say("has other attributes in .gitattributes, so other bytes when it is checked out")
		}
	}
	if in.Tree == "" && in.Names == "" {
		return nil
	}
	now, names, err := folder(in, rules, tree)
	switch {
	case err != nil:
		return err
	case now+names == "":
		say("was removed")
	case in.Tree != "" && now != in.Tree:
		say("changed, or something in it")
	case in.Names != "" && names != in.Names:
		say(otherNames)
	}
	return nil
}

// folder looks a folder up as it was digested.
func folder(in *notebooks.Input, rules int, tree Tree) (id, names string, err error) {
	switch {
	case rules == 0:
		return tree.Folder(in.Path)
	case in.Tree != "":
		id, err = tree.Below(in.Path, in.Of)
	default:
		names, err = tree.Names(in.Path, in.Of)
	}
	return id, names, err
}

// looked finds what came of that for which tools look beside the files that they read.
func (r *Result) looked(in *notebooks.Inputs, tree Tree) error {
	now, err := tree.Looked(in.Read)
	for _, p := range now {
		if !slices.Contains(in.Looked, p) {
			r.Reasons = append(r.Reasons, Reason{Path: p,
				Words: "came, and tools that read the files beside it look for it"})
		}
	}
	return err
}

// otherNames says that the names in a folder differ.
const otherNames = "has other files or folders"

func change(there bool) string {
	if there {
		return "changed"
	}
	return "was removed"
}

func declaredWords(was, now notebooks.DeclaredInput) string {
	switch {
	case now.Digest == "" && now.Version == "":
		return "is missing"
	case was.Digest == "" && was.Version == "":
		return "was missing"
	case was.Version != now.Version:
		return fmt.Sprintf("is %s, and was %s", now.Version, was.Version)
	}
	return "changed"
}

// String returns the words of a reason with its path, and the step that read it.
func (r Reason) String() string {
	words := plain.Escape(r.Path) + " " + r.Words
	switch {
	case r.Path == "." && r.Words == otherNames:
		words = "the top folder " + r.Words
	case r.Path == ".":
		words = "the tree " + r.Words
	}
	if r.Step != "" {
		words += " (read by step " + string(r.Step) + ")"
	}
	return words
}

// Words returns the reasons in one line, at most the first of them.
func (r *Result) Words(most int) string {
	if r.Unknown != "" {
		return r.Unknown
	}
	var list []string
	for _, reason := range r.Reasons {
		list = append(list, reason.String())
	}
	return plain.Some(slices.Compact(list), most)
}
