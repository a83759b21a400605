package runs

import (
	"strings"
)

// RunStartedData is the data of run.started.
type RunStartedData struct {
	RunID    RunID  `json:"run_id"`
	Markmill string `json:"markmill"` // version
	Notebook string `json:"notebook"` // path as given
	// SourcePath is the slash-separated path of the notebook, relative to the root of the repository, or outside a
	// repository to the folder of the run. It is empty if the notebook has no path or is elsewhere, and in older
	// records.
	SourcePath string `json:"source_path,omitzero"`
	Form       string `json:"form"`            //
	SourceFile string `json:"source_file"`     // name of the copy in the run directory
	Repository string `json:"repository"`      // root of the source repository, "" outside one
	Folder     string `json:"folder,omitzero"` // outside a repository: the folder that the run works in
	Depth      int    `json:"depth"`           // runs around this one
	// Parent is the step in which this run was made; nil without.
	Parent *ParentData `json:"parent,omitempty"`
	// ResumedFrom is the interrupted run that this one resumes; nil without.
	ResumedFrom *ResumedData `json:"resumed_from,omitempty"`
	// Actor is who asked for the run, where that is not the user who ran it (Via); empty otherwise.
	Actor string `json:"actor,omitzero"`
	Host  string `json:"host"` // os/arch
	PID   int    `json:"pid"`
	// Paths are the absolute paths that an output notebook replaces with names, the longest first.
	Paths []PathName `json:"paths,omitempty"`
	// Assets is the folder, relative to the output notebook, that holds its pictures.
	Assets string `json:"assets,omitzero"`
	// Output is the absolute path of the output notebook outside the run directory, "" without one.
	Output string `json:"output,omitzero"`
	// OutputForm is the form of that notebook if it is not the source's: then the record has one of each.
	OutputForm string `json:"output_form,omitzero"`
	// Sandbox says what confined the steps; nil in records of versions without a sandbox.
	Sandbox *SandboxData `json:"sandbox,omitempty"`
	// Views is the version of the run's views (ViewsVersion); 0 in records of versions that had none.
	Views int `json:"views,omitzero"`
	// Sweep is the sweep that made this run, and its row there; nil without one.
	Sweep *SweepData `json:"sweep,omitempty"`
	// Rerun is the run that this one repeats (verify --rerun); nil without one.
	Rerun *RerunData `json:"rerun,omitempty"`
	// Options are those of the command line that a resumed run reuses; nil in records of versions that did not keep
	// them.
	Options *OptionsData `json:"options,omitzero"`
	// EnvironmentDigest identifies the values of the variables that steps get, with secrets masked.
	EnvironmentDigest Digest `json:"environment_digest,omitzero"`
}

// SweepData names a row of a sweep.
type SweepData struct {
	ID  SweepID `json:"id"`
	Row int     `json:"row"` // from 1
	// Attempt is, of a comparison of attempts, its number among those of its backend, from 1; else 0.
	Attempt int `json:"attempt,omitzero"`
}

// RerunData names the run that a run repeats.
type RerunData struct {
	Run  RunID  `json:"run_id"`
	Sums Digest `json:"record"` // of its SHA256SUMS
	// Base is the base commit of that run, if this run begins with another.
	Base string `json:"base,omitzero"`
}

// ViewsVersion is the version of the output notebook, the report and the test log that this program makes of a record.
// Raise it when one of them changes: those of older records can then not be made again byte for byte, and verification
// compares less.
const ViewsVersion = 4

// LocalOutput returns the path of the output notebook; "" if there is none, or if it is at an address (s3://…), beside
// which nothing is staged.
func (d RunStartedData) LocalOutput() string {
	if strings.Contains(d.Output, "://") {
		return ""
	}
	return d.Output
}

// SandboxData says what was in force while the steps ran.
type SandboxData struct {
	Asked    string `json:"asked"`                 // on, off, strict, required
	Writes   string `json:"writes"`                // what confined their writes: landlock, or "" for nothing
	Landlock int    `json:"landlock_abi,omitzero"` // version of the kernel's interface
	Home     string `json:"home"`                  // user, own
	Network  string `json:"network"`               // open, namespace, landlock-tcp
	Git      string `json:"git,omitzero"`          // of a run in place: read-only, where the Git directory was
	// what blocked system calls to outside processes and keys: seccomp
	Filter    string         `json:"filter,omitzero"`
	IPC       string         `json:"ipc,omitzero"`       // namespace, refused (to change or remove objects)
	Hidden    []string       `json:"hidden,omitempty"`   // paths whose content could not be read
	Writable  []string       `json:"writable,omitempty"` // paths that could be written besides the run's own
	Resources *ResourcesData `json:"resources,omitempty"`
	NotHeld   []string       `json:"not_held,omitempty"` // what was asked for and is not available, in words
}

// Where the steps of a run find its worktree.
const (
	TreeMounted  = "mounted"  // at the checkout's own path
	TreeSeparate = "separate" // elsewhere
)

// TreeData says where the steps of a run found its worktree, and which folders of the checkout it had.
type TreeData struct {
	Tree string `json:"tree"`
	Path string `json:"path,omitzero"` // of the worktree as the steps saw it, if it was mounted
	Why  string `json:"why,omitzero"`  // it could not be mounted
	Root string `json:"root,omitzero"` // the run's private folder, if it is another than run.started says
	// Unchecked: the worktree is separate, and no sandbox kept the steps from the checkout's code.
	Unchecked bool `json:"unchecked,omitzero"`
	// Servers were started in the checkout, and run its code: steps reach them over the network.
	Servers []string `json:"servers,omitempty"`
	// Dependencies are the ignored folders of the checkout that the steps had, and could write without changing them.
	Dependencies []DependencyData `json:"dependencies,omitempty"`
	Lacks        []LackData       `json:"lacks,omitempty"`
	Caches       []CacheData      `json:"caches,omitempty"`
}

// LackData is a folder that deps: names and the checkout does not have.
type LackData struct {
	Path string `json:"path"`
	File string `json:"file"` // that names it
}

// CacheData is a cache of the user's that the steps had, and could write without changing it.
type CacheData struct {
	Name string `json:"name"`         // the variable of its tool
	Why  string `json:"why,omitzero"` // it could not be had so, and was used as without mounts
}

// DependencyData identifies a folder of dependencies by the lock file that it was installed from, and by what the
// installer says that it installed. Either may be unknown.
type DependencyData struct {
	Path       string `json:"path"` // in the worktree
	Lock       string `json:"lock,omitzero"`
	LockDigest Digest `json:"lock_digest,omitzero"` // of the checkout's
	Differs    bool   `json:"differs,omitzero"`     // the base's is another
	Marker     Digest `json:"marker,omitzero"`
}

// ResourcesData limits each process of the steps; 0 is no limit.
type ResourcesData struct {
	Memory    int64 `json:"memory,omitzero"` // bytes that a process may write
	Processes int64 `json:"processes,omitzero"`
	FileSize  int64 `json:"file_size,omitzero"` // bytes of one file
	OpenFiles int64 `json:"open_files,omitzero"`
}

// PathName is a path of this machine and the name that stands for it: "<worktree>", "<home>", "<tmp>".
type PathName struct {
	Path string `json:"path"`
	Name string `json:"name"`
}
