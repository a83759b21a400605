package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"markmill/runs"
	"markmill/runs/outfile"
)

// TestStagedOutput: a run that was killed, or is just ending, has its whole record, and its OUTPUT is still staged in
// the checkout when the next run looks at it. That one is not to blame for what becomes of it.
func TestStagedOutput(t *testing.T) {
	for name, c := range map[string]struct {
		killed bool
		front  string
		commit bool // while the next run goes on
		status runs.Status
		words  []string
	}{
		"killed, and tidied up by the next run": {killed: true, status: runs.Pass},
		"killed, and no change of the user's": {killed: true, front: "---\nrequire: [clean]\n---\n",
			status: runs.Pass},
		"renamed by itself or another command": {commit: true, status: runs.Pass},
		"written by nobody": {status: runs.Fail,
			words: []string{"dirty_ending_tree|o/out.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.repository(map[string]string{"a.txt": "old\n", ".gitignore": "/o/out.md\n"})
			l.confinedBy(0)
			output := filepath.Join(l.root, "o", "out.md")
			l.write("o/out.md", "of an earlier day\n")
			opened, err := outfile.Open(output, OutputRules(false))
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			req := l.request(step("#a", "print x"))
			req.Output = output
			cut := l.run(req, Sinks{StageOutput: func(in ViewInput) []runs.LeftOutput {
				if err := opened.Stage(in.Run.ID, []byte("new\n")); err != nil {
					t.Error(err)
				}
				return stageNothing(in)
			}})
			if c.killed {
				store := l.Store(l.root)
				if err := store.Record(cut.Run.ID).Write(runs.LockFile, nil); err != nil {
					t.Fatal(err)
				}
				if err := store.Survey(); err != nil {
					t.Fatal(err)
				}
			}
			later := noon.Add(time.Hour)
			l.Now = func() time.Time { return later }
			l.fake.hooks["meanwhile"] = func() {
				if c.commit {
					if err := opened.Commit(cut.Run.ID); err != nil {
						t.Error(err)
					}
				} else if !c.killed {
					l.write("o/out.md", "new\n")
				}
			}
			l.want(l.run(l.request(c.front+step("#a", "call meanwhile"))), c.status, c.words...)
			if b, err := os.ReadFile(output); err != nil || string(b) != "new\n" {
				t.Errorf("OUTPUT is %q: %v", b, err)
			}
		})
	}
}
