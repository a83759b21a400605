package runs

import (
	"reflect"
	"strings"
	"testing"

	"markmill/notebooks"
)

func printed(runner string, passed, failed, skipped int) *TestCounts {
	return &TestCounts{Runner: runner, From: notebooks.Printed, Passed: passed, Failed: failed, Skipped: skipped}
}

func reported(runner string, passed, failed, skipped int) *TestCounts {
	counts := printed(runner, passed, failed, skipped)
	counts.From = notebooks.Reported
	return counts
}

func TestCountTests(t *testing.T) {
	goV := strings.Join([]string{
		"=== RUN   TestA", "=== RUN   TestA/sub", "--- PASS: TestA (0.00s)", "    --- PASS: TestA/sub (0.00s)",
		"=== RUN   TestB", "    a_test.go:4: x", "--- SKIP: TestB (0.00s)",
		"=== RUN   TestC", "    a_test.go:5: no", "--- FAIL: TestC (0.00s)",
		"=== RUN   TestD", "=== PAUSE TestD", "=== CONT  TestD", "--- PASS: TestD (0.00s)",
		"FAIL", "FAIL\tg\t0.002s", "FAIL", "",
	}, "\n")
	node := "# Subtest: a\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n1..3\n" +
		"# tests 3\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n# duration_ms 373.178016\n"
	for _, c := range []struct {
		name, text string
		want       *TestCounts
	}{
		{"go test -v", goV, printed("go", 2, 1, 1)},
		{"go test -v of two packages with tests of one name", goV + goV, printed("go", 4, 2, 2)},
		{"go test -v from the middle", goV[strings.Index(goV, "--- PASS"):], nil},
		{"go test -v that died", goV[:strings.Index(goV, "--- FAIL")], nil},
		{"go test -v with a result hidden by a print", strings.Replace(goV, "--- FAIL", "x--- FAIL", 1), nil},
		{"go test", "ok  \tg\t0.003s\n", nil},
		{"go test that fails", "--- FAIL: TestC (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\tg\t0.002s\nFAIL\n", nil},

		{"pytest", "== 1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error in 0.12s ==\n", printed("pytest", 1, 2, 2)},
		{"pytest -q", "FAILED test_p.py::test_b - assert 0\n3 passed, 2 deselected, 1 warning in 61.50s (0:01:01)\n",
			printed("pytest", 3, 0, 0)},
		{"pytest in colour", "\x1b[31m=== \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in " +
			"0.05s\x1b[0m\x1b[31m ===\x1b[0m\r\n", printed("pytest", 2, 1, 0)},
		{"pytest twice", "2 passed in 0.01s\n1 failed, 3 passed in 0.02s\n", printed("pytest", 5, 1, 0)},
		{"pytest without tests", "no tests ran in 0.00s\n", printed("pytest", 0, 0, 0)},

		{"unittest", "Ran 5 tests in 0.003s\n\nOK\n", printed("unittest", 5, 0, 0)},
		{"unittest that fails", "Ran 6 tests in 0.000s\n\nFAILED (failures=1, errors=1, skipped=1, expected " +
			"failures=1)\n", printed("unittest", 2, 2, 2)},
		{"unittest without tests", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", printed("unittest", 0, 0, 0)},
		{"unittest that cannot import", "Ran 0 tests in 0.000s\n\nFAILED (errors=1)\n", printed("unittest", 0, 1, 0)},
		{"unittest cut before its result", "Ran 5 tests in 0.003s\n\n", nil},

		{"cargo", "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n" +
			"test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
			printed("cargo", 4, 2, 1)},
		{"jest", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 skipped, 2 todo, 3 passed, 7 total\n",
			printed("jest", 3, 1, 3)},
		{"node, tap", node, reported("node", 1, 1, 1)},
		{"node, spec", "ℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 1\nℹ skipped 0\nℹ todo 1\n",
			printed("node", 1, 1, 1)},
		{"TAP", "TAP version 13\n1..4\nok 1 - a\nnot ok 2\nok 3 # skip no\nnot ok 4 # TODO later\n    ok 1 - nested\n",
			reported("tap", 1, 1, 2)},
		{"TAP, cut", "1..3\nok 2\nok 3\n", nil},
		{"TAP, no plan", "ok 1\nok 2\n", nil},
		{"vitest", " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n",
			printed("vitest", 2, 1, 1)},
		{"mocha", "  3 passing (12ms)\n  1 pending\n  2 failing\n\n  1) a\n", printed("mocha", 3, 2, 1)},
		{"maven", "[INFO] Tests run: 18, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.4 s -- in A\n" +
			"[ERROR] Tests run: 18, Failures: 1, Errors: 2, Skipped: 1\n[INFO] Tests run: 2, Failures: 0, Errors: 0, " +
			"Skipped: 0\n", printed("maven", 16, 3, 1)},
		{"rspec", "5 examples, 1 failure, 2 pending\n", printed("rspec", 2, 1, 2)},
		{"rspec that does not load", "0 examples, 0 failures, 1 error occurred outside of examples\n",
			printed("rspec", 0, 1, 0)},
		{"plain", "12 passed, 1 failed\n", printed("plain", 12, 1, 0)},
		{"plain with a word", "tests: 12 passed, 0 failed, 3 skipped\n", printed("plain", 12, 0, 3)},

		{"prose", "I think 3 passed, 1 failed and ok 4 in 2s\nok then\nPASS\n", nil},
		{"nothing", "", nil},
		{"not UTF-8", "\xff\xfe\n2 passed in 0.01s\n", printed("pytest", 2, 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := CountTests([]byte(c.text))
			if (got == nil) != (c.want == nil) || got != nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
