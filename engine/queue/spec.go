package queue

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
)

// Spec is a job as it was submitted. It holds no value of a secret.
type Spec struct {
	ID         string         `json:"id"`
	Queue      string         `json:"queue"`
	Priority   Priority       `json:"priority"`
	Labels     []string       `json:"labels,omitempty"` // that a worker must offer, sorted
	Signed     bool           `json:"signed,omitzero"`  // only a worker with a key that signs may run it
	After      []string       `json:"after,omitempty"`  // jobs that must complete before it may be taken
	Behind     string         `json:"behind,omitzero"`  // a job of the same singleton that must have ended
	Singleton  *Singleton     `json:"singleton,omitempty"`
	Request    engine.Request `json:"request"`
	Repository string         `json:"repository,omitzero"` // address that the base can be fetched from
	Base       string         `json:"base"`                // commit that the run begins with
	// Output is the path of the output notebook in the submitter's repository, for people to read; "" is none. Only the
	// store that submitted the job writes it, to where it has noted itself.
	Output  string `json:"output,omitzero"`
	Retries int    `json:"retries,omitzero"` // further runs after one that did not pass
	// Project is the name of the repository's folder where the job was submitted.
	Project string `json:"project,omitzero"`
	// Series separates the states of its alerts from those of other parameter values, as Series.By does.
	Series string `json:"series,omitzero"`
	By     string `json:"by"`
	Email  string `json:"email,omitzero"` // of who submitted it, as Git has it
	Host   string `json:"host"`
}

// jobMembers are the members of a Request that a job may have, by their names in JSON. The worker decides the others.
var jobMembers = []string{"path", "source", "made_of", "assets", "output_form", "empty", "given", "allow_unknown",
	"allow_errors", "report_mode", "timings", "base", "dirty", "cwd", "kernel", "backend", "language",
	"step_timeout_ns", "run_timeout_ns", "start_ns", "only", "skip_tags", "from", "until", "markers", "keep_going",
	"observed", "sweep", "reuse"}

// Check returns an error for a job that asks for more than a job may, whoever wrote it.
func (s *Spec) Check() error {
	var members map[string]codec.Raw
	text, err := codec.Marshal(s.Request)
	if err == nil {
		err = codec.Unmarshal(text, &members)
	}
	if err != nil {
		return err
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(jobMembers, member) {
			return &notebooks.Error{Kind: notebooks.KindOption,
				Msg:  fmt.Sprintf("a job cannot ask for %s: it is not for workers", member),
				Hint: "leave the option out, or use markmill run"}
		}
	}
	if s.Output != "" {
		if err := CheckOutput(s.Output); err != nil {
			return err
		}
	}
	if cwd := s.Request.Cwd; cwd != "" && !filepath.IsLocal(filepath.FromSlash(cwd)) {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "--cwd " + cwd + " is outside the worktree"}
	}
	return nil
}

// CheckNotebook returns an error for a notebook that a job cannot run: it asks for files that Git ignores, and those of
// a worker are not the submitter's.
func CheckNotebook(nb *notebooks.Notebook) error {
	if len(nb.Front.Data) > 0 {
		return &notebooks.Error{Kind: notebooks.KindOption,
			Msg:  "data: files that Git ignores are those of a worker, and what a job writes there stays with it",
			Hint: "leave data: out, and let the job read and write where all machines reach it"}
	}
	if len(nb.Front.Copy) == 0 {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption,
		Msg:  "copy: files that Git ignores are not copied into the worktree of a job",
		Hint: "commit the files, or leave copy: out"}
}

// CheckOutput returns an error for a path that cannot be that of a job's output notebook.
func CheckOutput(path string) error {
	if form := strings.ToLower(filepath.Ext(path)); filepath.IsLocal(filepath.FromSlash(path)) &&
		(form == ".md" || form == ".ipynb") {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption,
		Msg: fmt.Sprintf("OUTPUT %s: the output notebook of a job is a file inside the repository that ends in .md "+
			"or .ipynb", path),
		Hint: "name such a file, or leave OUTPUT out, and call markmill convert RUN FILE when the job has ended"}
}

// Singleton decides about a job while another one with the same key has not ended.
type Singleton struct {
	Key     string `json:"key"`
	Overlap string `json:"overlap"`
	Say     string `json:"say,omitzero"` // what an agent is told with OverlapSteer
}

// The values of Overlap.
const (
	OverlapQueue  = "queue"  // it waits until the other one has ended
	OverlapSkip   = "skip"   // it is not submitted
	OverlapCancel = "cancel" // the other one is canceled
	OverlapSteer  = "steer"  // the agent that works on the other one is told the parameters
)

// Priority orders the waiting jobs of a queue.
type Priority string

// Priorities lists the priorities, the most urgent first.
var Priorities = []Priority{"high", "normal", "low"}

// Normal is the priority of a job that names none.
const Normal Priority = "normal"

// DefaultQueue is the queue of a job that names none.
const DefaultQueue = "default"

var name = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)

// CheckName returns an error for a text that cannot name a job or a queue. option is where it was given.
func CheckName(option, text string) error {
	if name.MatchString(text) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption,
		Msg:  fmt.Sprintf("%s %q is no name of a job or a queue", option, text),
		Hint: "use up to 100 letters, digits, - and _ of ASCII"}
}

// maxLabels bounds the labels of a job or a worker.
const maxLabels = 16

// CheckLabels sorts labels, and returns an error for an invalid one.
func CheckLabels(labels []string) ([]string, error) {
	for _, label := range labels {
		if err := CheckName("--label", label); err != nil {
			return nil, err
		}
	}
	labels = slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(labels) > maxLabels {
		return nil, &notebooks.Error{Kind: notebooks.KindOption,
			Msg: fmt.Sprintf("%d labels are too many; give at most %d", len(labels), maxLabels)}
	}
	return labels, nil
}

// Offers reports whether all required labels are offered.
func Offers(offered, needed []string) bool {
	return !slices.ContainsFunc(needed, func(label string) bool { return !slices.Contains(offered, label) })
}

// IDOf makes the id of a job from the id of a run, whose notebook may have any name.
func IDOf(run string) string {
	id := strings.Map(func(r rune) rune {
		if r < 0x80 && name.MatchString(string(r)) || r == '-' {
			return r
		}
		return '-'
	}, run)
	return id[:min(len(id), 100)]
}

// CheckRepository returns an error for an address that a worker must not fetch from. Only https and ssh are allowed,
// without a password, and no loopback or link-local address, where services trust their neighbours.
func CheckRepository(address string) error {
	bad := func(why, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("repository: %s", why), Hint: hint}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // whose text may have a password
		return bad("it is no address", "write https://HOST/PATH or ssh://git@HOST/PATH")
	}
	if _, password := u.User.Password(); password || u.Scheme == "https" && u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return bad("it has a credential or a query, and neither travels to workers",
			"leave it out; workers use their own SSH keys")
	}
	if u.Scheme != "https" && u.Scheme != "ssh" {
		return bad(fmt.Sprintf("%s:// is not fetched from", u.Scheme), "write https://HOST/PATH or ssh://git@HOST/PATH")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "-") ||
		err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast()) {
		return bad(host+" is not a host that a worker fetches from", "name the host as other machines do")
	}
	return nil
}

// Kind is the kind of an Entry.
type Kind string

// The kinds of entries.
const (
	Enqueued  Kind = "enqueued"  // submitted, or put back by a person
	Freed     Kind = "freed"     // the jobs that it comes after are there
	Claimed   Kind = "claimed"   // a worker has it
	Recorded  Kind = "recorded"  // the run has gone on: a part of its journal, and files
	Asked     Kind = "asked"     // its run needs an approval
	Answered  Kind = "answered"  // a person approved or denied that
	Released  Kind = "released"  // given back, to be continued not before a time
	Completed Kind = "completed" // the run passed
	Failed    Kind = "failed"    // the run came to another end, or could not begin
	Canceled  Kind = "canceled"  // by a person
	Removed   Kind = "removed"   // its entries are being removed
	Dead      Kind = "dead"      // given up after several attempts
	Mended    Kind = "mended"    // it follows a message that no program of ours wrote, and changes nothing
)

// Entry is one event of a job.
type Entry struct {
	Kind   Kind      `json:"kind"`
	Time   time.Time `json:"time"`
	By     string    `json:"by,omitzero"`     // the person, of what people do
	Reason string    `json:"reason,omitzero"` // why; a person always gives one
	Worker string    `json:"worker,omitzero"`
	Spec   *Spec     `json:"spec,omitempty"` // of the first entry
	// Run is the run that Journal and Files are of.
	Run     runs.RunID `json:"run,omitzero"`
	Journal []byte     `json:"journal,omitempty"` // the bytes that came to the run's journal since the last entry
	Files   []File     `json:"files,omitempty"`   // files of the record that are new or have changed
	// Step is the step that runs after the entry; "" is none.
	Step string `json:"step,omitzero"`
	// Finished counts the steps of the run that have ended.
	Finished int `json:"finished,omitzero"`
	// NotBefore is the earliest time at which a released job may be taken again.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Anew says that a released job is not resumed: its next attempt is a new run.
	Anew bool `json:"anew,omitzero"`
	// Contract is the digest of the contract for which an entry Asked requests an approval.
	Contract runs.Digest `json:"contract,omitzero"`
	// Answer is an approval or a denial, as its bytes, and Signature that of them; of an entry Answered.
	Answer    []byte `json:"answer,omitempty"`
	Signature []byte `json:"signature,omitempty"`
	// Status is how the run ended, of the entries that end a job; "" for a job without a run.
	Status runs.Status `json:"status,omitzero"`
}

// File is a file of a record, kept in parts by their digests.
type File struct {
	Path   string      `json:"path"` // in the run directory, slash-separated
	Digest runs.Digest `json:"digest"`
	Bytes  int64       `json:"bytes"`
	Parts  []string    `json:"parts"` // SHA-256 of each part, as hexadecimal digits
	// Apart says that the parts are not in the queue, but where larger files are kept.
	Apart bool `json:"apart,omitzero"`
}
