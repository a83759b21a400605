package notebooks

// Inputs says what a run depended on: what its steps read of the base tree, and what the notebook declares (inputs:).
// Whoever has another tree can tell from it alone whether the result still holds there.
type Inputs struct {
	// Unknown says why it is not known what was read. Everything counts as read then.
	Unknown string `json:"unknown,omitzero"`
	// Read is sorted by path. Of more than MaxInputs, folders stand for what was read in them, which is coarser and
	// never less strict.
	Read []Input `json:"read,omitempty"`
	// Except are paths that count as absent in every tree: the output notebook of the run and the folder of its
	// pictures.
	Except []string `json:"except,omitempty"`
	// Declared are the further inputs that the front matter names.
	Declared []DeclaredInput `json:"declared,omitempty"`
	// Programs are the interpreters that ran the steps. They say what ran, and are no inputs: another version elsewhere
	// makes no result outdated, unless the front matter declares the program.
	Programs []Program `json:"programs,omitempty"`
}

// Program is an interpreter.
type Program struct {
	Kernel  string `json:"kernel"`
	Name    string `json:"name"` // of its file, without folders
	Version string `json:"version,omitzero"`
	Digest  string `json:"digest,omitzero"` // sha256:… of its file
	Inside  bool   `json:"inside,omitzero"` // it lies in the worktree, or in the checkout and Git does not ignore it: steps or a branch can replace it
}

// MaxInputs is how many paths the read set of a run lists.
const MaxInputs = 64

// Input is a path of the base tree that steps read. Exactly one of Blob, Tree and Names says what was there; of a
// listed folder whose content was read, too, there are two.
type Input struct {
	Path string `json:"path"` // slash-separated; "." is the root
	// Blob is a file, or the target of a link.
	Blob string `json:"blob,omitzero"`
	Mode string `json:"mode,omitzero"` // of a blob, if it is not 100644
	Tree string `json:"tree,omitzero"` // a folder with everything below it
	// Names is the digest of the names and kinds in a folder that was listed.
	Names string `json:"names,omitzero"`
	// Ignored says that Git ignores the file: no commit has it. Blob is a digest with a key of the store then.
	Ignored bool   `json:"ignored,omitzero"`
	Step    StepID `json:"step,omitzero"` // the first that read it; empty for the ends of interpreters
}

// BlobMode returns the mode of a blob.
func (in *Input) BlobMode() string {
	if in.Mode == "" {
		return "100644"
	}
	return in.Mode
}

// Kinds of a DeclaredInput.
const (
	InputPath    = "path"    // a pattern in the worktree; Digest is that of the paths and contents that match
	InputFile    = "file"    // a file outside the worktree; Digest is that of its bytes
	InputEnv     = "env"     // an environment variable; Digest is that of its value
	InputProgram = "program" // a program on PATH; Version is what it says of itself
)

// DeclaredInput is an input that the front matter names.
type DeclaredInput struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Digest  string `json:"digest,omitzero"` // sha256:…; empty for what is missing
	Version string `json:"version,omitzero"`
}
