package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"markmill/runs"
)

// TestViews: what a view, a signature or OUTPUT that fails makes of the verdict.
func TestViews(t *testing.T) {
	for name, c := range map[string]struct {
		sinks    Sinks
		front    string
		status   runs.Status
		blockers []string
	}{
		"a view that cannot be written": {Sinks{Views: []View{{Name: "v",
			Write: func(ViewInput) error { return errors.New("no room") }}}}, "", runs.Fail,
			[]string{"artifact_write_failure|v: no room"}},
		"a view that refuses": {Sinks{Views: []View{{Name: "v", Write: refuseOnce()}}}, "", runs.Fail,
			[]string{"output_changed|it differs"}},
		"no signature": {Sinks{Sign: func(ViewInput) (map[string]string, error) {
			return nil,
				errors.New("no agent")
		}}, "", runs.Fail, []string{"cannot be signed: no agent"}},
		"signed": {Sinks{Sign: func(ViewInput) (map[string]string,
			error) {
			return map[string]string{"output.md": "sig"}, nil
		}}, "", runs.Pass, nil},
		"staged": {Sinks{StageOutput: stageNothing}, "", runs.Pass, nil},
		"a view that shows a secret": {Sinks{Views: []View{{Name: "v", Write: func(in ViewInput) error {
			return os.WriteFile(filepath.Join(in.Dir, "v.txt"), []byte("hunter2-hunter2"), 0o644)
		}}}}, "secrets: [TOKEN]", runs.Fail, []string{"would stand in v.txt"}},
		"OUTPUT that shows a secret": {Sinks{StageOutput: func(in ViewInput) []runs.LeftOutput {
			in.Clean("OUTPUT", []byte("hunter2-hunter2"))
			return stageNothing(in)
		}}, "secrets: [TOKEN]",
			runs.Fail, []string{"would stand in OUTPUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.env["TOKEN"] = "hunter2-hunter2"
			committed := 0
			c.sinks.Ended = func(_ string, complete bool) error {
				if complete {
					committed++
				}
				return nil
			}
			front := ""
			if c.front != "" {
				front = "---\n" + c.front + "\n---\n"
			}
			l.want(l.run(l.request(front+step("#a", "print x")), c.sinks), c.status, c.blockers...)
			if committed != 1 {
				t.Errorf("OUTPUT was committed %d times", committed)
			}
		})
	}
}

// stageNothing says that OUTPUT is an empty file elsewhere.
func stageNothing(ViewInput) []runs.LeftOutput {
	return []runs.LeftOutput{{Name: runs.OutputFile, Digest: runs.DigestOf(nil)}}
}

func refuseOnce() func(ViewInput) error {
	refused := false
	return func(ViewInput) error {
		if refused {
			return nil
		}
		refused = true
		return Refused{Code: runs.CodeOutputChanged, Words: "it differs"}
	}
}
