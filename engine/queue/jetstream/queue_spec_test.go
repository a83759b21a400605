package jetstream_test

import (
	"reflect"
	"strings"
	"testing"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/runs"
)

// TestCheck: an entry that anybody may have written asks for nothing but what submit sends.
func TestCheck(t *testing.T) {
	fine := engine.Request{Path: "n.md", Source: []byte("x"),
		Options: runs.Options{Cwd: "src", Only: []string{"a"}}}
	if err := (&queue.Spec{Request: fine}).Check(); err != nil {
		t.Error(err)
	}
	hostile := map[string]func(*engine.Request){
		"in_place":   func(r *engine.Request) { r.InPlace = true },
		"branch":     func(r *engine.Request) { r.Branch = "main" },
		"copy":       func(r *engine.Request) { r.Copy = []string{".env"} },
		"data":       func(r *engine.Request) { r.Data = []string{"data/**"} },
		"repository": func(r *engine.Request) { r.Repository = "/" },
		"folder":     func(r *engine.Request) { r.Folder = "/" },
		"output":     func(r *engine.Request) { r.Output = "/etc/x" },
		"resume":     func(r *engine.Request) { r.Resume = "../x" },
		"fork":       func(r *engine.Request) { r.Fork = true },
		"keep_tree":  func(r *engine.Request) { r.KeepTree = true },
		"origin":     func(r *engine.Request) { r.Origin = "/src/project" },
		"frozen":     func(r *engine.Request) { r.Frozen = true },
		"tree":       func(r *engine.Request) { r.Tree = runs.TreeSeparate },
		"reverse":    func(r *engine.Request) { r.Reverse = []worktree.Restored{{Path: "../x"}} },
		"rerun":      func(r *engine.Request) { r.Rerun = &runs.RerunData{} },
		"at":         func(r *engine.Request) { r.At = "a" },
		"cwd":        func(r *engine.Request) { r.Cwd = "../.." },
		"cwd /":      func(r *engine.Request) { r.Cwd = "/etc" },
		"cwd a/..":   func(r *engine.Request) { r.Cwd = "a/../../b" },
	}
	for name, change := range hostile {
		r := fine
		if change(&r); reflect.DeepEqual(r, fine) {
			t.Fatal(name)
		}
		if err := (&queue.Spec{Request: r}).Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d attempts", len(hostile))
}

func TestCheckOutput(t *testing.T) {
	attempts := 0
	for path, fine := range map[string]bool{"out.md": true, "a/b/out.ipynb": true, "out.MD": true, "a/../out.md": true,
		"": false, "../out.md": false, "a/../../out.md": false, "/etc/out.md": false, "..": false, "../.md": false,
		"out.py": false, "out": false, "usercustomize.py": false, ".git/hooks/post-commit": false, "out.md/": false,
		"markmill.yaml": false, "out.md.sh": false, "-": false, "https://host/out.html": false} {
		if err := queue.CheckOutput(path); (err == nil) != fine {
			t.Errorf("%q: %v", path, err)
		} else if !fine {
			attempts++
		}
	}
	t.Logf("%d attempts", attempts)
}
