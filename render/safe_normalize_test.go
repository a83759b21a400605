package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/render/safe"
)

func TestBuiltinRules(t *testing.T) {
	for _, c := range []struct{ rule, in, want string }{
		{"durations", "ok  \tpkg\t0.003s", "ok  \tpkg\t<duration>"},
		{"durations", "ok  \tpkg\t(cached)", "ok  \tpkg\t<duration>"},
		{"durations", "--- FAIL: TestX (1m2.50s)", "--- FAIL: TestX (<duration>)"},
		{"durations", "3 passed in 0.12s", "3 passed in <duration>"},
		{"durations", "took 350 ms, 2 seconds, 12µs", "took <duration>, <duration>, <duration>"},
		{"durations", "# duration_ms 45.25", "# duration_ms <duration>"},
		{"durations", "3 steps, 4 mistakes, v1.2.3s4, s1s", "3 steps, 4 mistakes, v1.2.3s4, s1s"},
		{"times", "2026-11-21T10:11:12.5Z start", "<time> start"},
		{"times", "2026-11-21 10:11:12,123 INFO", "<time> INFO"},
		{"times", "Sat Nov 21 10:11:12 UTC 2026", "<time>"},
		{"times", "Sat, 21 Nov 2026 10:11:12 GMT", "<time>"},
		{"times", "at 9:05:59", "at <time>"},
		{"times", "ratio 3:2, file.go:10:12", "ratio 3:2, file.go:10:12"},
		{"dates", "on 2026-11-21 and Nov 21, 2026 and 21 November 2026", "on <date> and <date> and <date>"},
		{"dates", "1-2-3", "1-2-3"},
		{"addresses", "<object at 0x7f3a2b1c9d00>, 0xff", "<object at <address>>, 0xff"},
		{"uuids", "id 123e4567-e89b-12d3-a456-426614174000.", "id <uuid>."},
		{"tmp-paths", "wrote /tmp/tmp.Xyz123/out.txt and <tmp>/go-build77", "wrote <tmp>/… and <tmp>/…"},
		{"ansi", `\u001b[31mred\u001b[0m ^[[1mbold`, "red bold"},
	} {
		rules, err := safe.NewRuleBook(&notebooks.Notebook{}).Of(&notebooks.Step{Normalize: []string{c.rule}})
		if err != nil {
			t.Fatal(err)
		}
		cl := safe.Cleaner{Rules: rules}
		if got, _ := cl.Line([]byte(c.in)); got != c.want {
			t.Errorf("%s: %q gives %q, want %q", c.rule, c.in, got, c.want)
		}
		if cl.Replaced != (c.in != c.want) {
			t.Errorf("%s: %q: replaced is %v", c.rule, c.in, cl.Replaced)
		}
	}
}

func TestOwnRulesComeFirstAndForAll(t *testing.T) {
	nb := &notebooks.Notebook{Front: notebooks.Front{Normalize: []notebooks.Normalize{
		{Name: "build", Pattern: `build-(\w)\w*`, Replace: "build-$1…"},
		{Name: "addresses", Pattern: `0x\w+`, Replace: "<mine>"},
		{Name: "uuids"},
	}}}
	rules, err := safe.NewRuleBook(nb).Of(&notebooks.Step{Normalize: []string{"addresses", "durations"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 5 {
		t.Fatalf("%d rules, want 5: each name once, and what always varies", len(rules))
	}
	c := safe.Cleaner{Rules: rules}
	got, _ := c.Line([]byte("build-x77 at 0x1 took 5ms"))
	if want := "build-x… at <mine> took <duration>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheckNormalize(t *testing.T) {
	nb := &notebooks.Notebook{Name: "n.md",
		Front: notebooks.Front{Normalize: []notebooks.Normalize{{Name: "bad", Pattern: "("}}},
		Steps: []*notebooks.Step{{ID: "s", Line: 7, Normalize: []string{"durations", "druations"}}}}
	err := safe.CheckNormalize(nb)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"bad"`, "n.md:7", `step "s"`, `"druations"`, "durations"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	nb.Front.Normalize, nb.Steps[0].Normalize = nil, []string{"durations"}
	if err := safe.CheckNormalize(nb); err != nil {
		t.Errorf("known rules: %v", err)
	}
}

// TestAlways: what varies and nobody printed on purpose is replaced, unless the rule raw says otherwise.
func TestAlways(t *testing.T) {
	for line, want := range map[string]string{
		"2 passed in 0.02s":                         "2 passed in <time>",
		"<__main__.T object at 0x7f3a2b1c4d50>":     "<__main__.T object at <address>>",
		"main.f(0xc000012345, 0x1)":                 "main.f(<address>, 0x1)",
		"color 0xff00aa":                            "color 0xff00aa",
		"wrote <tmp>/tmpk3_d9x2q/a.txt":             "wrote <tmp>/a.txt",
		"wrote /tmp/tmp.Xyz123AB/a.txt":             "wrote <tmp>/a.txt",
		"<tmp>/pytest-of-root/pytest-12/test_a0/f":  "<tmp>/test_a0/f",
		"/var/tmp/go-build1234567/b001/exe":         "<tmp>/b001/exe",
		"/tmp/my-report/x":                          "/tmp/my-report/x",
		"/tmp/report.txt and /tmp/templates/a.html": "/tmp/report.txt and /tmp/templates/a.html",
		"/tmp/my-results/x":                         "/tmp/my-results/x",
		"it took 0.02s":                             "it took 0.02s",
	} {
		rules, err := safe.NewRuleBook(&notebooks.Notebook{}).Of(&notebooks.Step{})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Line(line); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
		rules, err = safe.NewRuleBook(&notebooks.Notebook{}).Of(&notebooks.Step{Normalize: []string{safe.Raw}})
		if err != nil || rules.Line(line) != line {
			t.Errorf("raw: %q is %q, %v", line, rules.Line(line), err)
		}
	}
}
