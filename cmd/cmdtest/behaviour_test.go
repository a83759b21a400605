package cmdtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// recordedBehaviour is what papermill's command line was seen to do (notebooks/testdata/papermill).
type recordedBehaviour struct {
	ID    string   `json:"id"`
	Given []string `json:"args"`
	Cells []struct {
		Source string   `json:"source"`
		Tags   []string `json:"tags"`
	} `json:"input_cells"`
	ExitCode int `json:"exit_code"`
	Output   *struct {
		BareNaN   bool                       `json:"bare_NaN_in_json"`
		Papermill map[string]json.RawMessage `json:"notebook_papermill"`
		Cells     []recordedCell             `json:"cells"`
	} `json:"output"`
}

type recordedCell struct {
	Type      string           `json:"type"`
	Tags      []string         `json:"tags"`
	Source    string           `json:"source_first_line"`
	Count     *int             `json:"execution_count"`
	Status    *string          `json:"status"`
	Exception *bool            `json:"exception"`
	Outputs   []recordedOutput `json:"outputs"`
	Metadata  map[string]any   `json:"other_metadata"`
}

type recordedOutput struct {
	Type   string   `json:"type"`
	Name   string   `json:"name,omitempty"`
	Text   string   `json:"text,omitempty"`
	Ename  string   `json:"ename,omitempty"`
	Evalue string   `json:"evalue,omitempty"`
	Mime   []string `json:"mime,omitempty"`
}

// TestBehaviour runs every recorded case with the built program: on the built-in kernel of Python, and over ipykernel
// where MARKMILL_PEERS names an interpreter that has it. What differs is named in behaviours, by a case of the table in
// docs/papermill.md. Without MARKMILL_ALL it takes every eighth.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the cases are for Unix")
	}
	cases := behaviourCases(t)
	program := builtProgram(t)
	for id := range behaviours {
		if !slices.ContainsFunc(cases, func(c recordedBehaviour) bool { return c.ID == id }) {
			t.Errorf("%q is no case", id)
		}
	}
	if !everything() {
		n := 0
		cases = slices.DeleteFunc(cases, func(recordedBehaviour) bool { n++; return n%8 != 1 })
	}
	t.Run("built-in kernel", func(t *testing.T) { runBehaviours(t, program, "", cases) })
	t.Run("ipykernel", func(t *testing.T) {
		python := os.Getenv("MARKMILL_PEERS")
		if python == "" {
			t.Skip("MARKMILL_PEERS names no interpreter with ipykernel: run bench/setup")
		}
		runBehaviours(t, program, python, cases)
	})
}

func behaviourCases(t *testing.T) []recordedBehaviour {
	t.Helper()
	raw, err := os.ReadFile("../../notebooks/testdata/papermill/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []recordedBehaviour }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 53 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	return file.Cases
}

// behaviourRun is a case that was run.
type behaviourRun struct {
	recordedBehaviour
	behaviour
	dir, log string
	args     []string // of Markmill
	code     int
	run      func(args ...string) int // Markmill once more
}

func runBehaviours(t *testing.T, program, python string, cases []recordedBehaviour) {
	p := peers{python: python, markmill: program}
	var runs []*behaviourRun
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "JUPYTER_NO_CONFIG=1")
	if python != "" {
		env = p.withPeers(home)
	}
	env = append(env, "MARKMILL_DIR="+filepath.Join(home, "records"))
	for _, c := range cases {
		r := &behaviourRun{recordedBehaviour: c, behaviour: behaviours[c.ID], dir: t.TempDir(),
			log: filepath.Join(home, c.ID+".log")}
		if r.ipython && python == "" {
			continue
		}
		runs = append(runs, r)
	}
	atOnce(len(runs), func(i int) {
		r := runs[i]
		r.args = r.prepare(t, python != "")
		r.run = func(args ...string) int { return exitCode(r.dir, r.log, env, program, args...) }
		r.code = r.run(r.args...)
	})
	for _, r := range runs {
		t.Run(r.ID, func(t *testing.T) {
			found := r.differences(t)
			want := slices.Concat(r.differs, r.jupyter)
			if python == "" {
				want = slices.Concat(r.differs, r.builtin)
			}
			checkDifferences(t, found, want)
			log := readLog(r.log)
			for _, words := range r.says {
				if !strings.Contains(log, words) {
					t.Errorf("it does not say %q:\n%s", words, log)
				}
			}
			if r.with != nil {
				r.code = r.run(slices.Concat(r.args, r.with)...)
				checkDifferences(t, r.differences(t), r.again)
			}
			if r.then != nil {
				r.then(t, r)
			}
		})
	}
}

// prepare writes the input of a case, and gives the command line.
func (r *behaviourRun) prepare(t *testing.T, jupyter bool) []string {
	in, out := filepath.Join(r.dir, "in.ipynb"), filepath.Join(r.dir, "out.ipynb")
	if strings.HasPrefix(r.ID, "output_dir_missing") {
		out = filepath.Join(r.dir, "nodir", "out.ipynb")
	}
	switch r.ID {
	case "missing_input":
		in = filepath.Join(r.dir, "missing.ipynb")
	case "bad_json_input":
		write(t, in, "{not json")
	case "empty_input":
		write(t, in, "")
	case "input_equals_output":
		out = in
		write(t, in, behaviourNotebook("python3", "#parameters\nx = 0", "print(x)"))
	case "rerun_new_value", "rerun_without_p_keeps_old_injected", "rerun_other_name_drops_old",
		"prepare_only_stale_outputs":
		write(t, in, ranNotebook(false))
	case "rerun_of_failed_output":
		write(t, in, ranNotebook(true))
	default:
		kernel := "python3"
		if strings.HasPrefix(r.ID, "no_kernelspec") || strings.HasPrefix(r.ID, "no_language") {
			kernel = ""
		} else if r.ID == "no_such_kernel" {
			kernel = "nope"
		}
		write(t, in, r.notebook(kernel))
	}
	args := []string{"run", "--no-progress-bar"}
	tmp, asked := r.dir, false
	if r.ID == "cwd" { // its cell prints the folder's name
		if tmp = filepath.Join(r.dir, "tmp"); os.Mkdir(tmp, 0o700) != nil {
			t.Fatal("no folder to work in")
		}
	}
	for _, a := range r.Given {
		args = append(args, strings.ReplaceAll(a, "$TMP", tmp))
		asked = asked || a == "-k"
	}
	if !asked && r.ID != "no_such_kernel" && r.ID != "no_kernelspec" {
		kernel := "python"
		if jupyter {
			kernel = "jupyter:python3"
		}
		args = append(args, "-k", kernel)
	}
	return append(args, in, out)
}

// notebook is the recorded input.
func (r *behaviourRun) notebook(kernel string) string {
	var cells []string
	for _, c := range r.Cells {
		source := c.Source
		switch {
		case len(c.Tags) > 0:
			source = "#" + c.Tags[0] + "\n" + source
		case r.ID == "markdown_and_raw" && source == "# t", r.ID == "report_mode" && source == "m":
			source = "@markdown\n" + source
		case r.ID == "markdown_and_raw" && source == "raw":
			source = "@raw\n" + source
		}
		cells = append(cells, source)
	}
	return behaviourNotebook(kernel, cells...)
}

// behaviourNotebook is a notebook of these cells. "#" in front of a source gives a tag, "@" another type.
func behaviourNotebook(kernel string, cells ...string) string {
	list := []any{}
	for i, text := range cells {
		cell := map[string]any{"cell_type": "code", "id": fmt.Sprintf("c%d", i+1), "metadata": map[string]any{}}
		if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "@") {
			cell["cell_type"], text = first[1:], rest
		} else if tag := strings.TrimPrefix(first, "#"); ok && tag != first && !strings.Contains(tag, " ") {
			cell["metadata"], text = map[string]any{"tags": []string{tag}}, rest
		}
		if cell["source"] = text; cell["cell_type"] == "code" {
			cell["outputs"], cell["execution_count"] = []any{}, nil
		}
		list = append(list, cell)
	}
	metadata := map[string]any{}
	if kernel != "" {
		metadata["kernelspec"] = map[string]any{"name": kernel, "language": "python", "display_name": "K"}
	}
	b, err := json.MarshalIndent(map[string]any{"cells": list, "nbformat": 4, "nbformat_minor": 5,
		"metadata": metadata},
		"", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// ranNotebook is what papermill leaves of the cases first, and err: a notebook that ran with x = 1.
func ranNotebook(failed bool) string {
	note := func(status string, failed any) map[string]any {
		return map[string]any{"duration": 0.1, "start_time": "2025-01-01T00:00:00.000000",
			"end_time": "2025-01-01T00:00:00.100000", "status": status, "exception": failed}
	}
	code := func(id, source string, count int, tags []string, status string, outputs ...any) map[string]any {
		return map[string]any{"cell_type": "code", "id": id, "source": source, "execution_count": count,
			"outputs":  append([]any{}, outputs...),
			"metadata": map[string]any{"tags": tags, "papermill": note(status, status == "failed")}}
	}
	mark := func(id, text string) map[string]any {
		return map[string]any{"cell_type": "markdown", "id": id, "source": text,
			"metadata": map[string]any{"tags": []string{"papermill-error-cell-tag"}}}
	}
	cells := []any{code("c1", "x = 0", 1, []string{"parameters"}, "completed"),
		code("i", "# Parameters\nx = 1\n", 2, []string{"injected-parameters"}, "completed")}
	if failed {
		cells = slices.Concat([]any{mark("m1",
			`<span style="color:red">An Exception was encountered at '<a href="#papermill-error-cell">In [3]</a>'.</span>`)}, cells,
			[]any{mark("m2",
				`<span id="papermill-error-cell" style="color:red">Execution using papermill encountered an exception here and stopped:</span>`),
				code("c2", "1/0", 3, []string{}, "failed",
					map[string]any{"output_type": "error", "ename": "ZeroDivisionError",
						"evalue": "division by zero", "traceback": []string{}})})
	} else {
		cells = append(cells, code("c2", "print(x)", 3, []string{}, "completed",
			map[string]any{"output_type": "stream", "name": "stdout", "text": "1\n"}))
	}
	b, err := json.MarshalIndent(map[string]any{"cells": cells, "nbformat": 4, "nbformat_minor": 5,
		"metadata": map[string]any{
			"kernelspec": map[string]any{"name": "python3", "language": "python", "display_name": "Python 3"},
			"papermill": map[string]any{"parameters": map[string]any{"x": 1}, "default_parameters": map[string]any{},
				"exception": failed, "version": "2.6.0"}}}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// left is what a run left as OUTPUT, in the words of the recording; nil is no file.
func (r *behaviourRun) left(t *testing.T) (map[string]json.RawMessage, []recordedCell, bool) {
	t.Helper()
	name := "out.ipynb"
	if r.ID == "input_equals_output" {
		name = "in.ipynb"
	}
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return nil, nil, false
	}
	var nb struct {
		Metadata struct{ Papermill map[string]json.RawMessage }
		Cells    []struct {
			Type     string `json:"cell_type"`
			Count    *int   `json:"execution_count"`
			Source   json.RawMessage
			Metadata map[string]json.RawMessage
			Outputs  []struct {
				Type          string `json:"output_type"`
				Name          string
				Text          json.RawMessage
				Ename, Evalue string
				Data          map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(raw, &nb); err != nil {
		t.Fatalf("OUTPUT is no JSON: %v", err)
	}
	var cells []recordedCell
	for _, c := range nb.Cells {
		cell := recordedCell{Type: c.Type, Count: c.Count, Tags: []string{}, Metadata: map[string]any{}}
		cell.Source, _, _ = strings.Cut(textOf(c.Source), "\n")
		var note struct {
			Status    *string
			Exception *bool
		}
		for name, value := range c.Metadata {
			var err error
			switch name {
			case "tags":
				err = json.Unmarshal(value, &cell.Tags)
			case "papermill":
				err = json.Unmarshal(value, &note)
			case "markmill":
			default:
				cell.Metadata[name] = value
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cell.Status, cell.Exception = note.Status, note.Exception
		for _, o := range c.Outputs {
			out := recordedOutput{Type: o.Type, Name: o.Name, Text: textOf(o.Text), Ename: o.Ename, Evalue: o.Evalue}
			for mime := range o.Data {
				out.Mime = append(out.Mime, mime)
			}
			slices.Sort(out.Mime)
			cell.Outputs = append(cell.Outputs, out)
		}
		cells = append(cells, cell)
	}
	return nb.Metadata.Papermill, cells, true
}

// textOf is a text of nbformat: a string, or a list of its lines.
func textOf(raw json.RawMessage) string {
	var one string
	var list []string
	if json.Unmarshal(raw, &one) != nil && json.Unmarshal(raw, &list) == nil {
		one = strings.Join(list, "")
	}
	return one
}

// differences are the places in which a run is not as recorded. Streams in pieces are joined, and no more of a text
// counts than was recorded.
func (r *behaviourRun) differences(t *testing.T) []difference {
	var out []difference
	note := func(at string, theirs, ours any) {
		a, b := asJSON(t, theirs), asJSON(t, ours)
		if a != b {
			out = append(out, difference{at, a, b})
		}
	}
	note("exit code", r.ExitCode, r.code)
	notebook, cells, there := r.left(t)
	note("output notebook", r.Output != nil, there)
	if r.Output == nil || !there {
		return out
	}
	note("papermill.parameters", r.Output.Papermill["parameters"], notebook["parameters"])
	note("papermill.exception", r.Output.Papermill["exception"], notebook["exception"])
	theirMarks, theirCells := marksOf(r.Output.Cells)
	ourMarks, ourCells := marksOf(cells)
	note("error marks", theirMarks, ourMarks)
	note("cells", len(theirCells), len(ourCells))
	for i := range min(len(theirCells), len(ourCells)) {
		a, b := theirCells[i], ourCells[i]
		at := fmt.Sprintf("cell %d ", i+1)
		note(at+"type", a.Type, b.Type)
		note(at+"tags", a.Tags, b.Tags)
		note(at+"source", a.Source, b.Source)
		note(at+"count", a.Count, b.Count)
		note(at+"status", a.Status, b.Status)
		note(at+"exception", a.Exception, b.Exception)
		note(at+"metadata", a.Metadata, b.Metadata)
		note(at+"outputs", joinedOutputs(a.Outputs), joinedOutputs(b.Outputs))
	}
	return out
}

// recordedText is as much of a text as was recorded.
const recordedText = 80

func joinedOutputs(list []recordedOutput) []recordedOutput {
	out := []recordedOutput{}
	for _, o := range list {
		if strings.Contains(o.Text, ": UserWarnin") { // the path of IPython
			o.Text = "UserWarning"
		}
		if last := len(out) - 1; last >= 0 && o.Type == "stream" && out[last].Type == "stream" &&
			out[last].Name == o.Name {
			o.Text = out[last].Text + o.Text
			out = out[:last]
		}
		if len(o.Text) > recordedText {
			o.Text = o.Text[:recordedText]
		}
		out = append(out, o)
	}
	return out
}

// marksOf are the places of the cells that tell of an error, and the other cells.
func marksOf(cells []recordedCell) (places []int, others []recordedCell) {
	for _, c := range cells {
		if slices.Contains(c.Tags, "papermill-error-cell-tag") {
			places = append(places, len(others))
		} else {
			others = append(others, c)
		}
	}
	return places, others
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(b, &plain); err == nil { // without the spelling of what is raw
		b, err = json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}
