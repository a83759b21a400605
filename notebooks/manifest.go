package notebooks

import (
	"slices"

	"markmill/notebooks/codec"
)

// ManifestFormat is the version of the manifests that this program writes. Members are only ever added to a version.
const ManifestFormat = 2

// Manifest closes an output notebook. It holds the result of the run as data, so that views and comparisons never read
// the prose of a region, and it lists the regions, so that a deleted one is noticed.
//
// Nothing in it varies from one run of the same notebook to the next: no time, duration, host, process id, run id or
// absolute path. It names no commit and no tree either, because committing the output notebook would change those.
type Manifest struct {
	Format int    `json:"format,omitzero"` // ManifestFormat
	Source string `json:"source"`          // sha256:… of the source; set by Splice
	// SourcePath is the path of the source, with slashes: from the root of the repository, or outside one from the
	// folder of the run. It is empty where the source has no path (standard input) or lies elsewhere.
	SourcePath string `json:"source_path,omitzero"`
	Status     string `json:"status"` // pass, fail, blocked, partial, interrupted
	// Partial says why only a part of the notebook ran ("--only build"); empty for a whole run.
	Partial    string            `json:"partial,omitzero"`
	Blockers   []ManifestBlocker `json:"blockers,omitempty"` // causes before consequences
	Steps      []ManifestStep    `json:"steps,omitempty"`    // in the order of the notebook
	Parameters []ManifestParam   `json:"parameters"`
	// Scraps are the scalar values among the scraps, of at most MaxManifestScrap bytes each. Of more than
	// MaxManifestScraps only the first are listed, and ScrapsOmitted counts the others.
	Scraps        []ManifestScrap `json:"scraps,omitempty"`
	ScrapsOmitted int             `json:"scraps_omitted,omitzero"`
	// Checks are what steps tagged check reported: the first MaxManifestScraps.
	Checks []ManifestCheck `json:"checks,omitempty"`
	// Changes is the change of the whole run, sorted by path; nil when it was not checked. Of more than
	// MaxManifestChanges files only the first are listed, and ChangesOmitted counts the others.
	Changes []ManifestChange `json:"changes,omitzero"`
	// ChangedIn is "checkout" or "folder" if the steps changed the user's own files, and "" if they had a worktree.
	ChangedIn string `json:"changed_in,omitzero"`
	// Unchecked: the worktree stood in another place than the checkout, and no sandbox kept the steps from the
	// checkout's code.
	Unchecked      bool `json:"unchecked,omitzero"`
	ChangesOmitted int  `json:"changes_omitted,omitzero"`
	// Inputs is what the run depended on; nil in output notebooks of versions that did not record it.
	Inputs   *Inputs           `json:"inputs,omitzero"`
	Contract *ManifestContract `json:"contract,omitempty"`
	Judges   *ManifestJudges   `json:"judges,omitempty"` // nil where the run changed no protected file
	// Data are files that Git ignores and that the run wrote: the first MaxManifestChanges.
	Data []ManifestData `json:"data,omitempty"`
	// WrittenAfter are the files that came or changed during the last test step or after it, and that no test read.
	WrittenAfter []string `json:"written_after,omitempty"`
	// Artifacts are the results that the record has and that belong to no change: paths.
	Artifacts []string         `json:"artifacts,omitempty"`
	Lanes     *ManifestLanes   `json:"lanes,omitempty"`  // nil unless attempts were compared
	Verdict   string           `json:"verdict,omitzero"` // digest of the region verdict; set by Splice
	Regions   []ManifestRegion `json:"regions"`          // set by Splice
	// ReportMode says that a page is to fold the code of every step, as of one tagged hide-input.
	ReportMode bool `json:"report_mode,omitzero"`
	// Signature is an SSH signature of the manifest without this member; empty where no key is configured.
	Signature string `json:"signature,omitzero"`
}

// Bounds of the scraps of a manifest: how many, and the bytes of each.
const (
	MaxManifestScraps = 500
	MaxManifestScrap  = 1 << 10
)

// ManifestData is a file that Git ignores and that the run wrote, or one of data: that it removed.
type ManifestData struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Digest    string `json:"digest,omitzero"`
	Removed   bool   `json:"removed,omitzero"`
	Published bool   `json:"published,omitzero"` // it was put into the checkout; all others are beside the record
}

// MaxManifestChanges is how many changed files a manifest lists.
const MaxManifestChanges = 1000

// StatusPrepared is the status of a notebook that was given parameters and not run.
const StatusPrepared = "prepared"

// InputRules is the newest version of Inputs.Rules.
const InputRules = 1

// ManifestBlocker is one reason why the run did not pass.
type ManifestBlocker struct {
	Code    string   `json:"code"`            // of the table in docs/evidence.md
	Step    StepID   `json:"step,omitzero"`   // the step that caused it; empty for the whole run
	Rule    string   `json:"rule,omitzero"`   // the rule that was broken, as its author wrote it: "forbid: data.csv"
	Paths   []string `json:"paths,omitempty"` // the files that broke it
	Message string   `json:"message"`
	Fix     string   `json:"fix,omitzero"` // how to mend it
	// Consequence says that an earlier blocker led to this one.
	Consequence bool `json:"consequence,omitzero"`
}

// ManifestStep is what became of one step.
type ManifestStep struct {
	ID     StepID   `json:"id"`
	Status string   `json:"status"` // pass, fail, allowed, skip, timeout, pending
	Exit   *int     `json:"exit,omitempty"`
	Reason string   `json:"reason,omitzero"` // why it was skipped, or did not pass
	Tags   []string `json:"tags,omitempty"`
	// Weakened lists the attributes and tags that let the step pass where it otherwise would not: "expect-exit=1",
	// "allow-failure", "if=false".
	Weakened []string       `json:"weakened,omitempty"`
	Files    int            `json:"files,omitzero"` // how many it changed
	Added    int            `json:"added,omitzero"` // lines
	Deleted  int            `json:"deleted,omitzero"`
	Tests    *ManifestTests `json:"tests,omitempty"`
	Broke    []string       `json:"broke,omitempty"` // codes of the blockers that it caused
	Running  int            `json:"left_running,omitzero"`
	// What else ended it: the exception that it raised, who ended its process, and the command that failed.
	Error   string           `json:"error,omitzero"` // name of the exception
	EndedBy string           `json:"ended_by,omitzero"`
	Failed  *ManifestCommand `json:"failed,omitempty"`
	// Hidden names the keys that were left out of what it printed or changed, such as "private key in stdout".
	Hidden []string `json:"hidden,omitempty"`
	// Attempts counts how often it was tried, if more than once.
	Attempts int `json:"attempts,omitzero"`
	// LostIn is the step in which the session's previous interpreter ended: this step began with a new one.
	LostIn StepID `json:"lost_in,omitzero"`
	// Carried says that the step ran in an earlier run, from which this one took it over (run --reuse, a fork).
	Carried bool `json:"carried,omitzero"`
	// Interrupted says that the step was started and never ended.
	Interrupted bool `json:"interrupted,omitzero"`
}

// ManifestCommand is a command of a shell step.
type ManifestCommand struct {
	Line    int    `json:"line"` // of the notebook
	Command string `json:"command"`
}

// Tolerated reports whether the step failed, and that this was allowed or expected: it proves something else than that
// its code passes.
func (s *ManifestStep) Tolerated() bool {
	return s.Status == "allowed" || s.Status == "pass" && s.Exit != nil && *s.Exit != 0
}

// HidesFailures reports whether the step is recorded as passed although its test runner counted failures, which were
// neither allowed nor expected. Versions before the code tests_failed wrote such steps.
func (s *ManifestStep) HidesFailures() bool {
	return s.Status == "pass" && !s.Tolerated() && s.Tests != nil && s.Tests.Failed > 0 &&
		!slices.Contains(s.Weakened, TagAllowFailure)
}

// Where counts of tests come from. Either can be made up by a script that a test step calls.
const (
	Printed  = "printed"  // from the text that the step printed
	Reported = "reported" // from what a runner writes for programs: JUnit's XML, "go test -json", TAP
)

// ManifestTests counts the tests of a step.
type ManifestTests struct {
	Runner  string `json:"runner,omitzero"`
	From    string `json:"from,omitzero"` // Printed, Reported; "" in older output notebooks, which knew only text
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

// ManifestScrap is a scalar that a step recorded under a name.
type ManifestScrap struct {
	Name  string    `json:"name"`
	Value codec.Raw `json:"value"`
}

// ManifestCheck is what a step tagged check reported.
type ManifestCheck struct {
	Name    string    `json:"name"`
	Step    StepID    `json:"step"`
	State   string    `json:"state"` // ok, warn, critical, error
	Value   codec.Raw `json:"value,omitzero"`
	Unit    string    `json:"unit,omitzero"`
	Message string    `json:"message,omitzero"` // of at most MaxManifestScrap bytes
}

// ManifestChange is one changed file. The blob ids tie the proof to content: a reviewer can compare them with a branch.
type ManifestChange struct {
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitzero"` // of a rename
	Status  string `json:"status"`            // added, modified, deleted, renamed, type, mode
	OldBlob string `json:"old_blob,omitzero"`
	NewBlob string `json:"new_blob,omitzero"`
	OldMode string `json:"old_mode,omitzero"`
	NewMode string `json:"new_mode,omitzero"`
	Added   int    `json:"added,omitzero"` // lines
	Deleted int    `json:"deleted,omitzero"`
}

// ManifestContract is what held for the run, after policy and command line had narrowed it.
type ManifestContract struct {
	Allow []string `json:"allow,omitempty"`
	// AllowAlso are further lists, of policies and the command line: a path must match each of them, too.
	AllowAlso [][]string `json:"allow_also,omitempty"`
	Forbid    []string   `json:"forbid,omitempty"`
	Report    bool       `json:"protect_report,omitzero"` // what protected judges say decides nothing
	Protect   []string   `json:"protect,omitempty"`
	Artifacts []string   `json:"artifacts,omitempty"` // patterns of results that belong to no change
	Require   []string   `json:"require,omitempty"`
	Limits    string     `json:"limits,omitzero"` // "files 10, lines 200"
	Mode      string     `json:"mode,omitzero"`   // worktree, in-place, none
	Sandbox   string     `json:"sandbox,omitzero"`
	Network   string     `json:"network,omitzero"`
	Tree      string     `json:"tree,omitzero"`     // where steps had to find the worktree; "" is either
	Approval  string     `json:"approval,omitzero"` // who approved, and whether that is the requester
}

// ManifestJudges says what the judging steps came to with the base's version of the protected files that the run
// changed.
type ManifestJudges struct {
	Changed []string `json:"changed"`         // paths
	Passed  bool     `json:"passed"`          // false also where none ran a second time
	Steps   []StepID `json:"steps,omitempty"` // that ran a second time
}

// ManifestLanes is a comparison of attempts: the runs of one notebook from one base commit, which differ in the agents
// that did them. The rest of the manifest is of the attempt that was picked. What the attempts took stands in it:
// unlike everything else of a manifest it varies with every run.
type ManifestLanes struct {
	Pick   string `json:"pick"`            // one of Picks
	Picked int    `json:"picked,omitzero"` // row, from 1; 0: none
	// how many are judged in two ways, and so do not count as passed
	Flaky     int           `json:"flaky,omitzero"`
	NotBegun  int           `json:"not_begun,omitzero"`  // rows that no attempt was made for
	Passed    int           `json:"passed"`              // how many passed, and no judge contradicts another
	Identical []int         `json:"identical,omitempty"` // sizes of the groups of those with the same result tree
	Columns   []string      `json:"columns"`
	Rows      [][]codec.Raw `json:"rows"` // an attempt each; a missing value is null
}

// ManifestParam is a parameter as it was injected.
type ManifestParam struct {
	Name  string    `json:"name"`
	Value codec.Raw `json:"value"`
	Given bool      `json:"given,omitzero"` // not the default
}

// ManifestRegion names a region and its digest.
type ManifestRegion struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

// SigningBytes returns the bytes that a signature covers: the manifest's canonical JSON without the signature.
func (m Manifest) SigningBytes() ([]byte, error) {
	m.Signature = ""
	return codec.Marshal(m)
}

// Inputs says what a run depended on: what its steps read of the base tree, and what the notebook declares (inputs:).
// Whoever has another tree can tell from it alone whether the result still holds there.
type Inputs struct {
	// Unknown says why it is not known what was read. Everything counts as read then.
	Unknown string `json:"unknown,omitzero"`
	// Rules says how names and trees of Read are digested: 0 is all names and Git's trees, 1 leaves notebooks, outputs
	// and their pictures out, and takes Of into account.
	Rules int `json:"rules,omitzero"`
	// Read is sorted by path. Of more than MaxInputs, folders stand for what was read in them, which is coarser and
	// never less strict.
	Read []Input `json:"read,omitempty"`
	// Looked are the paths that were there of those that tools look for beside the files that they read, as pytest for
	// pytest.ini, without those that they read.
	Looked []string `json:"looked,omitempty"`
	// Tests are the test steps of which it is known what they read, in the order in which they ran.
	Tests []TestReads `json:"tests,omitempty"`
	// Data is what was read of the files that data: names and Git ignores, sorted by path.
	Data []DataInput `json:"data,omitempty"`
	// History says that a step read objects or refs of Git: the result holds as of that commit, whatever came since.
	History *History `json:"history,omitempty"`
	// Except are paths that count as absent in every tree: the output notebook of the run and the folder of its
	// pictures.
	Except []string `json:"except,omitempty"`
	// Declared are the further inputs that the front matter names.
	Declared []DeclaredInput `json:"declared,omitempty"`
	// Programs are the interpreters that ran the steps. They say what ran, and are no inputs: another version elsewhere
	// makes no result outdated, unless the front matter declares the program.
	Programs []Program `json:"programs,omitempty"`
	// Dependencies are the folders of dependencies of the checkout that the steps had, or to which their environment
	// led. The lock files are inputs of their own.
	Dependencies []Dependency `json:"dependencies,omitempty"`
}

// History is the commit that a run began with, and the first step that read Git's history.
type History struct {
	Commit string `json:"commit"`
	Step   StepID `json:"step,omitzero"`
}

// HistoryPath is the path that stands for Git's history in the list of what a step read; its blob is the commit.
const HistoryPath = ".git"

// TestReads is what a test step opened of the repository, also what earlier steps had read, and what an earlier step of
// its session did, unless that is a shell's.
type TestReads struct {
	Step StepID `json:"step"`
	// Files are names by folder, the root "."; none where the step judged nothing of the repository. They hold every
	// judge file (IsJudgeFile) and every file that the run changed, and of the others the first MaxTestReads.
	Files   map[string][]string `json:"files,omitempty"`
	Omitted int                 `json:"omitted,omitzero"` // how many others there are
}

// MaxTestReads is how many files a TestReads lists that are no judge files and that the run did not change.
const MaxTestReads = 200

// JudgedNothing are the test steps that are known to have read no file of the repository.
func (in *Inputs) JudgedNothing() (steps []StepID) {
	if in != nil {
		for _, t := range in.Tests {
			if len(t.Files) == 0 {
				steps = append(steps, t.Step)
			}
		}
	}
	return steps
}

// DataInput is a file that data: names and a step read, or a folder of such files that was listed, whose path ends in a
// slash.
type DataInput struct {
	Path   string `json:"path"`
	Digest string `json:"digest,omitzero"` // sha256:… of a file
	Names  string `json:"names,omitzero"`  // sha256:… of the names in a folder, without those of files that the run wrote
	// Of are the patterns of the names that count, as of an Input; nil is every name.
	Of    []string `json:"of,omitempty"`
	Maker string   `json:"maker,omitzero"` // the notebook whose run wrote the file
	Step  StepID   `json:"step,omitzero"`  // the first that read it
}

// Dependency is a folder of dependencies that Git ignores.
type Dependency struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // sha256:… of its lock file and of what the installer says that it installed
	// Differs is the lock file where the base's was another than the one that the folder was installed from.
	Differs string `json:"differs,omitzero"`
}

// Program is an interpreter.
type Program struct {
	Kernel  string `json:"kernel"`
	Name    string `json:"name"` // of its file, without folders
	Version string `json:"version,omitzero"`
	Digest  string `json:"digest,omitzero"` // sha256:… of its file
	// it lies in the worktree, or in the checkout and Git does not ignore it: steps or a branch can replace it
	Inside bool `json:"inside,omitzero"`
	// Settings is the digest of what kernels: in markmill.yaml says of the kernel, and of others that take its
	// languages.
	Settings string `json:"settings,omitzero"`
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
	Tree string `json:"tree,omitzero"` // a folder with everything below it that counts
	// Names is the digest of the names and kinds in a folder that was listed.
	Names string `json:"names,omitzero"`
	// Of are the names that count of a folder: patterns, or what belongs to a language (":python", ":node", ":go").
	// Empty is every name.
	Of []string `json:"of,omitempty"`
	// Attributes is what .gitattributes makes of the bytes when they are checked out, as "eol=crlf"; of a tree, a
	// digest.
	Attributes string `json:"attributes,omitzero"`
	// Ignored says that Git ignores the file: no commit has it. Blob is a digest with a key of the store then.
	Ignored bool   `json:"ignored,omitzero"`
	Step    StepID `json:"step,omitzero"` // the first that read it; empty for the ends of interpreters
	// Again is AgainFile or AgainFolder in the list of a step: it opened what an earlier step had read, or what the run
	// had made. Nothing else is set then but Path.
	Again string `json:"again,omitzero"`
}

// What Input.Again can be.
const (
	AgainFile   = "file"
	AgainFolder = "folder"
)

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
	InputHistory = "history" // Git's history; Version is the commit
	InputProgram = "program" // a program on PATH; Version is what it says of itself
)

// DeclaredInput is an input that the front matter names.
type DeclaredInput struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Digest  string `json:"digest,omitzero"` // sha256:…; empty for what is missing
	Version string `json:"version,omitzero"`
}
