package runs_test

import (
	"testing"

	"markmill/runs"
)

// TestWithoutTimes: how long runners took is replaced, whatever else the line says; other lines stay.
func TestWithoutTimes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ok  \tm/a\t0.033s":   "ok  \tm/a\t<time>",
		"ok  \tm/a\t(cached)": "ok  \tm/a\t<time>",
		"ok  \tm/a\t0.033s\tcoverage: 81.2% of statements": "ok  \tm/a\t<time>\tcoverage: 81.2% of statements",
		"FAIL\tm/a\t12.5s":              "FAIL\tm/a\t<time>",
		"FAIL\tm/a [build failed]":      "FAIL\tm/a [build failed]",
		"?   \tm/a\t[no test files]":    "?   \tm/a\t[no test files]",
		"    --- PASS: TestA/b (0.00s)": "    --- PASS: TestA/b (<time>)",
		"BenchmarkA-2   \t 1000\t  103.5 ns/op\t 12.5 MB/s\t 3 B/op": "BenchmarkA-2   \t <time> ns/op\t " +
			"<time> MB/s\t 3 B/op",
		"2 passed in 0.02s": "2 passed in <time>",
		"===== 2 failed, 3 passed in 62.02s (0:01:02) ======": "===== 2 failed, 3 passed in <time> =====",
		"======= no tests ran in 0.01s =======":               "===== no tests ran in <time> =====",
		"0.12s call     tests/test_a.py::test_b":              "<time> call     tests/test_a.py::test_b",
		"Ran 3 tests in 0.001s":                               "Ran 3 tests in <time>",
		"ℹ duration_ms 62.4":                                  "ℹ duration_ms <time>",
		"# duration_ms 62.412":                                "# duration_ms <time>",
		"  duration_ms: 1.25":                                 "  duration_ms: <time>",
		"✔ adds (0.512ms)":                                    "✔ adds (<time>)",
		"Time:        1.234 s, estimated 2 s":                 "Time:        <time>",
		"    ✓ adds two numbers (12 ms)":                      "    ✓ adds two numbers",
		"    ✓ adds two numbers":                              "    ✓ adds two numbers",
		"PASS test/a.test.js (5.1 s)":                         "PASS test/a.test.js",
		"  12 passing (45ms)":                                 "  12 passing (<time>)",
		"      ✔ is slow (102ms)":                             "      ✔ is slow",
		"   Duration  1.23s (transform 40ms, setup 0ms)":      "   Duration  <time>",
		"   Start at  10:11:12":                               "   Start at  <time>",
		" ✓ test/a.test.ts (24 tests) 15ms":                   " ✓ test/a.test.ts (24 tests)",
		"test result: ok. 3 passed; 0 failed; finished in 0.52s": "test result: ok. 3 passed; 0 " +
			"failed; finished in <time>",
		"    Finished `test` profile [unoptimized] target(s) in 1m 02s": "    Finished `test` profile [unoptimized] " +
			"target(s) in <time>",
		"        PASS [   0.005s] crate tests::a": "        PASS [ <time>] crate tests::a",
		"1/3 Test #1: base ......   Passed    0.01 sec": "1/3 Test #1: base ...... " +
			"  Passed <time> sec",
		"Total Test time (real) =   0.05 sec": "Total Test time (real) = <time> sec",
		"[INFO] Total time:  3.2 s":           "[INFO] Total time:  <time>",
		"[INFO] Tests run: 5, Failures: 0, Time elapsed: 0.1 s -- in a.B": "[INFO] Tests run: 5, Failures: 0, " +
			"Time elapsed: <time> -- in a.B",
		"BUILD SUCCESSFUL in 12s":                          "BUILD SUCCESSFUL in <time>",
		"  py311: OK (2.31=setup[1.80]+cmd[0.51] seconds)": "  py311: OK (<time> seconds)",
		"  congratulations :) (2.35 seconds)":              "  congratulations :) (<time> seconds)",
		"nox > Session tests was successful in 3 seconds.": "nox > Session tests was " +
			"successful in <time>.",
		"Resolved 12 packages in 0.5ms": "Resolved 12 packages in <time>",
		"added 57 packages, and audited 58 packages in 2s": "added 57 packages, and audited " +
			"58 packages in <time>",
		"Finished in 0.02 seconds (files took 0.1 seconds to load)": "Finished in <time> (files " +
			"took <time> to load)",
		"the job took 3.2s":   "the job took 3.2s",
		"ok, it lasted 3s":    "ok, it lasted 3s",
		"latency 12ms":        "latency 12ms",
		"531 rows in 1.25s":   "531 rows in 1.25s",
		"12 passing thoughts": "12 passing thoughts",
	} {
		if got := runs.WithoutTimes(line); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}
