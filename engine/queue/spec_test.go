package queue

import (
	"reflect"
	"strings"
	"testing"

	"markmill/engine"
)

// TestCheck: an entry that anybody may have written asks for nothing but what submit sends.
func TestCheck(t *testing.T) {
	fine := engine.Request{Path: "n.md", Source: []byte("x"), Cwd: "src", Only: []string{"a"}}
	if err := (&Spec{Request: fine}).Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*engine.Request){
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
		"cwd":        func(r *engine.Request) { r.Cwd = "../.." },
	} {
		r := fine
		if change(&r); reflect.DeepEqual(r, fine) {
			t.Fatal(name)
		}
		if err := (&Spec{Request: r}).Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckOutput(t *testing.T) {
	for path, fine := range map[string]bool{"out.md": true, "a/b/out.ipynb": true, "out.MD": true, "": false,
		"../out.md": false, "a/../../out.md": false, "/etc/out.md": false, "out.py": false, "out": false,
		"usercustomize.py": false} {
		if err := CheckOutput(path); (err == nil) != fine {
			t.Errorf("%q: %v", path, err)
		}
	}
}
