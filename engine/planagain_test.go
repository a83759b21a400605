package engine

import (
	"reflect"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/params"
)

// TestPlanAgain: a plan for other values is what Plan makes of them: values, warnings, gates, uncommitted changes and
// mistakes.
func TestPlanAgain(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n", ConfigFile: "policy: {forbid: [secret/**]}\n"})
	l.env["KEY"] = "of the environment"
	l.write("b.txt", "uncommitted\n")
	l.write("out-1.md", "of an earlier run\n")
	text := step("#a if=\"params.n > 1\"", "print $near") + step("#t", "print x")
	declared := "\nparams:\n  n: {type: int, default: 1}\n  s: {type: secret, env: KEY}\n---\n"
	for name, front := range map[string]string{"no matter": "", "clean": "\nrequire: [clean]"} {
		source := "---" + front + declared + text
		row := func(output string, given ...string) Request {
			req := l.request(source)
			req.Output = output
			for i := 0; i < len(given); i += 2 {
				req.Given = append(req.Given, params.Given{Name: given[i], Text: given[i+1], Source: "-p"})
			}
			return req
		}
		first, err := l.Plan(t.Context(), row(l.root+"/out-1.md", "n", "1", "s", "hunter2"))
		if err != nil {
			t.Fatal(err)
		}
		before := *first.notebook
		for _, req := range []Request{
			row(l.root+"/out-1.md", "n", "2", "s", "a longer secret"), row(l.root+"/out-2.md", "n", "1"),
			row(l.root+"/out-2.md", "n", "two"), row("", "n", "3", "s", "x"), row("", "m", "3"),
		} {
			want, wantErr := l.Plan(t.Context(), req)
			got, err := l.PlanAgain(t.Context(), first, req)
			if err != nil || wantErr != nil {
				if err == nil || wantErr == nil || err.Error() != wantErr.Error() {
					t.Errorf("%s: %v\nwant %v", name, err, wantErr)
				}
				continue
			}
			if !reflect.DeepEqual(got.Parameters(), want.Parameters()) ||
				!reflect.DeepEqual(got.Gates(), want.Gates()) || !reflect.DeepEqual(got.data(), want.data()) ||
				!reflect.DeepEqual(got.sandbox, want.sandbox) ||
				!reflect.DeepEqual(got.notebook.Warnings, want.notebook.Warnings) ||
				!reflect.DeepEqual(got.DirtyPaths(), want.DirtyPaths()) || !reflect.DeepEqual(got.mask, want.mask) {
				t.Errorf("%s, %+v:\n%+v\nwant %+v", name, req.Given, got, want)
			}
		}
		if !reflect.DeepEqual(*first.notebook, before) {
			t.Errorf("%s: the first plan has changed", name)
		}
		l.write("c.txt", "written since\n")
		got, err := l.PlanAgain(t.Context(), first, row("", "n", "2"))
		if err != nil {
			t.Fatal(err)
		}
		if sees := strings.Contains(strings.Join(got.DirtyPaths(), " "), "c.txt"); sees != (name == "clean") {
			t.Errorf("%s: the changes are %v", name, got.DirtyPaths())
		}
		l.git("clean", "-q", "-f", "c.txt")
		other := row("", "n", "2")
		other.Source = []byte(strings.Replace(source, "print x", "print y", 1))
		if got, err := l.PlanAgain(t.Context(), first, other); err != nil ||
			string(got.Notebook().Step(notebooks.StepID("t")).Code) != "print y\n" {
			t.Errorf("another notebook was not read: %v", err)
		}
	}
}
