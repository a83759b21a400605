package web

import (
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/records"
	"markmill/engine/worktree"
	"markmill/render/review"
	"markmill/runs"
)

// proof is how far a run can be trusted.
type proof struct {
	*runs.Verification
	Level  review.Level
	Words  string // what the level rests on
	Checks []proofCheck
}

// Held counts the checks that hold.
func (p *proof) Held() (n int) {
	for _, c := range p.Checks {
		if len(c.Findings) == 0 {
			n++
		}
	}
	return n
}

// Class is the class of the whole.
func (p *proof) Class() string {
	if p.OK() {
		return "pass"
	}
	return "fail"
}

// proofCheck is a part of a verification.
type proofCheck struct {
	Name, What string
	Findings   []runs.Finding
}

// proofParts are the parts of a verification, with the files that their findings name. The last has all others.
var proofParts = []struct {
	name, what string
	where      []string
}{
	{"Notebook", "the journal begins with the digest of its bytes", []string{"source notebook"}},
	{"Journal", "the chain of its events, their order, and the verdict that follows from them",
		[]string{runs.JournalFile}},
	{"Approval", "it is of what the run was asked, was given before it, and its signature holds",
		[]string{runs.RequestFile, runs.ApprovalFile, runs.SignatureFile, runs.SignersFile}},
	{"Change", "the patch gives the result from the base, and the commits have the trees that are recorded",
		[]string{runs.PatchFile, runs.BundleFile, "refs"}},
	{"Views", "the report, the test log and the output notebook, made again from the journal",
		[]string{runs.ReportFile, runs.ReportPageFile, runs.TestLogFile}},
	{"Decisions", "each is about this record, and is signed where it says so", []string{runs.DecisionsDir}},
	{"Digests", "SHA256SUMS names each file, and its signature holds",
		[]string{runs.SumsFile, runs.SumsSignatureFile}},
	{"Files", "each has the digest and the size that the journal says, and there is none that it does not name",
		nil},
}

// checksOf puts the findings of a verification with the parts that they are of. What a run does not have is left out.
func checksOf(v *runs.Verification) (list []proofCheck) {
	for _, part := range proofParts {
		list = append(list, proofCheck{Name: part.name, What: part.what})
	}
	for _, f := range v.Findings {
		at := partOf(v, f.Where)
		list[at].Findings = append(list[at].Findings, f)
	}
	none := map[string]bool{"Decisions": len(v.Decisions) == 0,
		"Approval": v.Run != nil && v.Run.Approval == runs.ApprovalNotRequired,
		"Change":   v.Run != nil && v.Run.Diff == nil}
	return slices.DeleteFunc(list, func(c proofCheck) bool { return none[c.Name] && len(c.Findings) == 0 })
}

// partOf is the number of the part that a finding is of.
func partOf(v *runs.Verification, where string) int {
	for i, part := range proofParts {
		if part.name == "Views" && v.Run != nil && slices.Contains(v.Run.OutputFiles(), where) {
			return i
		}
		for _, w := range part.where {
			if where == w || strings.HasPrefix(where, w+"/") {
				return i
			}
		}
	}
	return len(proofParts) - 1
}

// proof recomputes everything of a run, as markmill verify does, by the keys of the last commit.
func (s *server) proof(record *runs.Record) (*proof, error) {
	var head worktree.OID
	if s.repo != nil {
		head, _ = s.repo.Head() // one without a commit has no keys
	}
	prove, signers, err := branchreview.ProverAt(s.repo, head, s.store, time.Now())
	if err != nil {
		return nil, err
	}
	v, err := records.VerifyRecord(record, s.repo, signers)
	if err != nil {
		return nil, err
	}
	p := &proof{Verification: v, Level: review.Claimed, Checks: checksOf(v)}
	if v.OK() {
		judged := prove(record.Path())
		p.Level, p.Words = judged.Level, judged.Words
	}
	return p, nil
}

// maxProven is how many bytes a record may have that the page of its run verifies by itself.
const maxProven = 4 << 20

// small reports whether a folder has few bytes.
func small(dir string) bool {
	left := int64(maxProven)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				left -= info.Size()
			}
		}
		if left < 0 {
			return fs.SkipAll
		}
		return err
	})
	return err == nil && left >= 0
}

func (s *server) verify(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		return err
	}
	p, err := s.proof(record)
	if err != nil {
		return err
	}
	return s.page(w, r, "verify", "Verification", p)
}
