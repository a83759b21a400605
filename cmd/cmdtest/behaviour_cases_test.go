package cmdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// behaviour is what Markmill does in a recorded case of papermill's. Where nothing is said it is the same.
type behaviour struct {
	ipython bool              // the case is about IPython: it needs ipykernel
	differs []namedDifference // where it differs, each named in docs/papermill.md
	builtin []namedDifference // besides, on the built-in kernel
	jupyter []namedDifference // besides, over ipykernel
	says    []string          // on standard error
	with    []string          // the same once more, with these options
	again   []namedDifference // where it differs then
	then    func(t *testing.T, r *behaviourRun)
}

const (
	whyUnknown    = "a parameter that the notebook does not declare"
	whySeveral    = "several cells `parameters`"
	whyRaises     = "`raises-exception` on a cell that raises"
	whySysExit    = "`sys.exit()`, `sys.exit(0)`"
	whyDead       = "the kernel dies"
	whyNoKernel   = "the notebook names no kernel, or one that is not installed"
	whyFolder     = "folder of OUTPUT is missing"
	whyCode       = "a name that is code, as `y=1;print(1)#`"
	whyExit       = "exit codes"
	whyStale      = "`--prepare-only` of a notebook with outputs"
	whyNaN        = "not-a-number in the metadata"
	whyCwd        = "`--cwd`"
	whyOwnOutput  = "run of an output of Markmill's, without values"
	whyNoLanguage = "the notebook names no language"
	whyWarning    = "IPython's warning at `sys.exit(3)`"
)

// stateOf is the state of a cell, where the two differ about it.
func stateOf(why string, cell int, theirs, ours string) []namedDifference {
	failed := map[string]string{"completed": "false", "failed": "true", "pending": "null"}
	at := fmt.Sprintf("cell %d ", cell)
	out := []namedDifference{{at: at + "status", theirs: theirs, ours: ours, why: why}}
	// papermill leaves the exception of a cell that did not run null, whatever the state
	if theirs != "completed" || ours != "pending" {
		out = append(out, namedDifference{at: at + "exception", theirs: failed[theirs], ours: failed[ours], why: why})
	}
	return out
}

func list(parts ...[]namedDifference) []namedDifference {
	var out []namedDifference
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func one(why, at, theirs, ours string) []namedDifference {
	return []namedDifference{{at: at, theirs: theirs, ours: ours, why: why}}
}

// refusedFor is a case in which papermill writes OUTPUT, and Markmill says what is wrong before anything ran.
func refusedFor(why, theirs string) []namedDifference {
	return list(one(why, "exit code", theirs, "2"), one(why, "output notebook", "true", "false"))
}

// codeTwo is a case that both refuse; here the exit code tells it from a failed run.
var codeTwo = one(whyExit, "exit code", "1", "2")

// dies is a run whose kernel dies in the first of its cells.
func dies(cells int) []namedDifference {
	out := list(one(whyDead, "exit code", "138", "1"), one(whyDead, "papermill.exception", "null", "true"),
		one(whyDead, "error marks", "null", "[0,0]"),
		stateOf(whyDead, 1, "completed", "failed"))
	for i := 2; i <= cells; i++ {
		out = append(out, stateOf(whyDead, i, "completed", "pending")...)
	}
	return out
}

var exitsWell = behaviour{differs: list(one(whySysExit, "papermill.exception", "true", "null"),
	stateOf(whySysExit, 1, "failed", "completed"),
	one(whySysExit, "cell 2 count", "null", "2"), stateOf(whySysExit, 2, "pending", "completed"),
	one(whySysExit, "cell 2 outputs", "[]", "after")),
	builtin: one(whySysExit, "cell 1 outputs", "SystemExit", "[]"),
	jupyter: one(whySysExit, "cell 1 outputs", "SystemExit",
		`[{"name":"stderr","text":"UserWarning","type":"stream"}]`)}

// undeclared is a parameter that is not declared: refused, and with the option as papermill has it.
func undeclared(name string) behaviour {
	return behaviour{differs: refusedFor(whyUnknown, "0"), says: []string{"no parameter \"" + name + `"`},
		with: []string{"--allow-unknown-parameters"}}
}

var behaviours = map[string]behaviour{
	"no_parameters_tag":          undeclared("x"),
	"unknown_parameter":          undeclared("zz"),
	"rerun_other_name_drops_old": undeclared("y"),
	"no_language_k_l_params":     undeclared("x"),
	"two_parameter_cells":        {differs: one(whySeveral, "cell 4 outputs", `"5\n"`, `"1\n"`)},
	"raises_exception_tag": {differs: list(one(whyRaises, "exit code", "1", "0"),
		one(whyRaises, "error marks", "[0,0]", "null"))},
	"two_raises_exception": {differs: list(one(whyRaises, "exit code", "1", "0"),
		one(whyRaises, "error marks", "[0,1]", "null"))},
	"sys_exit_0":    exitsWell,
	"sys_exit_none": exitsWell,
	"sys_exit_3": {builtin: one(whyWarning, "cell 1 outputs", "UserWarning",
		`[{"ename":"SystemExit","evalue":"3","type":"error"}]`)},
	"os_exit_3":      {differs: dies(2), says: []string{"ended"}},
	"kernel_sigkill": {differs: dies(3), says: []string{"KILL"}},
	"timeout": {differs: list(one(whyTimeout, "exit code", "1", "3"),
		one(whyTimeout, "papermill.exception", "null", "true"), one(whyTimeout, "error marks", "null", "[0,1]"),
		stateOf(whyTimeout, 2, "completed", "failed"), stateOf(whyTimeout, 3, "completed", "pending")),
		says: []string{"time limit", "blocked"}},
	"no_such_kernel": {differs: refusedFor(whyNoKernel, "1"),
		says: []string{`kernel "nope" is not installed; there are: bash, `}},
	"no_kernelspec": {differs: codeTwo, says: []string{"names no kernel", "-k python3"}},
	"no_kernelspec_k_params": {differs: codeTwo, says: []string{`no parameter "x"`},
		with: []string{"--allow-unknown-parameters"}, again: list(one(whyNoLanguage, "exit code", "1", "0"),
			one(whyNoLanguage, "output notebook", "false", "true"))},
	"unknown_engine":     {differs: codeTwo, says: []string{"--engine zzz is not known"}},
	"missing_input":      {differs: codeTwo, says: []string{"missing.ipynb: cannot be read: no such file"}},
	"bad_json_input":     {differs: codeTwo, says: []string{"in.ipynb:1:2: the notebook is not JSON"}},
	"empty_input":        {differs: codeTwo, says: []string{"in.ipynb:1:1: the file is empty"}},
	"output_dir_missing": {differs: one(whyFolder, "exit code", "1", "0"), then: wroteInNewFolder},
	"output_dir_missing_nosave": {differs: one(whyFolder, "exit code", "1", "0"),
		then: func(t *testing.T, r *behaviourRun) {
			wroteInNewFolder(t, r)
			if !isFile(filepath.Join(r.dir, "ran.marker")) {
				t.Error("no cell wrote beside the notebook, as with papermill it does")
			}
		}},
	"first":                              {then: outputAgain},
	"rerun_without_p_keeps_old_injected": {differs: one(whyEarlier, "papermill.parameters", `{"x":1}`, "{}")},
	"prepare_only_stale_outputs": {differs: list(one(whyEarlier, "papermill.parameters", `{"x":1}`, "{}"),
		stale(1), stale(2), stale(3), one(whyStale, "cell 3 outputs", "1", "[]"))},
	"nan_param":   {differs: one(whyNaN, "papermill.parameters", "nan", `"NaN"`)},
	"cwd_missing": {differs: one(whyCwd, "exit code", "1", "2"), says: []string{"no such file or directory"}},
	"stdout_stderr_files": {builtin: one(whyOrder, "cell 1 outputs", "to err", "to err"),
		then: func(t *testing.T, r *behaviourRun) {
			for name, want := range map[string]string{"so": "to out\n", "se": "to err\n"} {
				if got, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || len(got) < len(want) ||
					string(got[:len(want)]) != want {
					t.Errorf("%s holds %q, %v", name, got, err)
				}
			}
		}},
	"log_output":         {says: []string{"to out"}},
	"pip_name_injection": {differs: refusedFor(whyCode, "0")},

	"display_and_result":        {ipython: true},
	"bash_magic":                {ipython: true},
	"shell_bang_fails_silently": {ipython: true},
	"input_call":                {ipython: true},
}

// stale is a cell of an earlier run that --prepare-only leaves out here.
func stale(cell int) []namedDifference {
	at := fmt.Sprintf("cell %d ", cell)
	return list(one(whyStale, at+"count", fmt.Sprint(cell), "null"), one(whyStale, at+"status", "completed", "null"),
		one(whyStale, at+"exception", "false", "null"))
}

// outputAgain runs what Markmill left again: papermill's cases of that begin with what papermill left.
func outputAgain(t *testing.T, r *behaviourRun) {
	kernel := r.args[slices.Index(r.args, "-k")+1]
	for _, c := range []struct{ value, prints string }{{"2", "2\n"}, {"", "0\n"}} {
		args := []string{"run", "--no-progress-bar", "-k", kernel, "out.ipynb", "out.ipynb"}
		if c.value != "" {
			args = append(args, "-p", "x", c.value)
		}
		if code := r.run(args...); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, readLog(r.log))
		}
		_, cells, _ := r.left(t)
		injected := slices.IndexFunc(cells, func(c recordedCell) bool {
			return slices.Contains(c.Tags, "injected-parameters")
		})
		if last := cells[len(cells)-1].Outputs; (injected == 1) != (c.value != "") || len(last) != 1 ||
			last[0].Text != c.prints {
			t.Errorf("with %q: cells %+v", c.value, cells)
		}
	}
}

func wroteInNewFolder(t *testing.T, r *behaviourRun) {
	if !isFile(filepath.Join(r.dir, "nodir", "out.ipynb")) {
		t.Error("there is no OUTPUT in the folder")
	}
}
