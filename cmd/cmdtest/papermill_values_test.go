package cmdtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// recordedCall is how papermill's command line was seen to read its options (notebooks/testdata/papermill).
type recordedCall struct {
	Args     []string
	Code     int     `json:"exit_code"`
	Injected *string // text of the cell
}

// valueDifferences say how Markmill differs from papermill in what it injects: the text behind the heading, "error", or
// "" for no cell. Each reason is a case of the table in docs/papermill.md.
var valueDifferences = map[string]struct{ want, why string }{
	"-p x 1e400":                   {`x = "1e400"`, whyLarge},
	"-p x -1e400":                  {`x = "-1e400"`, whyLarge},
	"-p x '9' repeated 4301 times": {"x = " + strings.Repeat("9", 4301), whyLarge},
	// the same: the recording does not write it out
	"-p x '9' repeated 4300 times": {"x = " + strings.Repeat("9", 4300), ""},
	"-y x: 12:30":                  {`x = "12:30"`, whyBase60},
	"-y x: 12:30:45":               {`x = "12:30:45"`, whyBase60},
	"-y x: {1: a}":                 {`x = {1: "a"}`, whyKeys},
	"-y x: {true: a}":              {`x = {True: "a"}`, whyKeys},
	"-y x: !!binary aGVsbG8=":      {`x = b"hello"`, whyYAMLTags},
	"-y x: !!set {a, b}":           {`x = ["a", "b"]`, whyYAMLTags},
	"-y x: 1\nx: 2":                {"error", whyTwice},
	"-y # only comment":            {"", whyEmptyYAML},
	"-y ":                          {"", whyEmptyYAML},
	"-y 1: a":                      {"error", whyCode},
}

const (
	whyLarge     = "numbers beyond Python's, as `1e400` and 4,301 digits"
	whyBase60    = "`12:30` in YAML"
	whyKeys      = "keys of a map that are no text"
	whyYAMLTags  = "`!!binary` and `!!set` in YAML"
	whyTwice     = "a name twice in one YAML text"
	whyEmptyYAML = "YAML without a value"
)

// TestPapermillValues gives the program each recorded command line with --prepare-only: the injected cell must be
// papermill's. Without MARKMILL_ALL it takes every sixth, and those that differ.
func TestPapermillValues(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../notebooks/testdata/papermill/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Types      []recordedCall `json:"cli_type_inference"`
		Raw        []recordedCall `json:"cli_raw"`
		YAML       []recordedCall `json:"cli_yaml"`
		Precedence []recordedCall `json:"cli_precedence"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	calls := slices.Concat(file.Types, file.Raw, file.YAML, file.Precedence)
	if len(calls) < 200 {
		t.Fatalf("only %d calls", len(calls))
	}
	if !everything() {
		n := 0
		calls = slices.DeleteFunc(calls, func(c recordedCall) bool {
			_, differs := valueDifferences[strings.Join(c.Args, " ")]
			n++
			return n%6 != 1 && !differs
		})
	}
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "python.ipynb"), behaviourNotebook("python3", "#parameters\npass", "pass"))
	write(t, filepath.Join(dir, "p.yaml"), "x: from_file\nf: 1\n")
	write(t, filepath.Join(dir, "p.json"), `{"x": "from_json", "j": [1, {"k": null}]}`)
	got := make([]string, len(calls))
	atOnce(len(calls), func(i int) { got[i] = injectedBy(t, program, dir, i, calls[i].Args) })
	met := map[string]bool{}
	for i, c := range calls {
		name := strings.Join(c.Args, " ")
		want := "error"
		if c.Injected != nil {
			want = strings.ReplaceAll(*c.Injected, "$TMP", dir)
		}
		if d, ok := valueDifferences[name]; ok {
			met[name] = true
			switch want = d.want; want {
			case "error":
			case "":
				want = noCell
			default:
				want = "# Parameters\n" + want + "\n"
			}
		}
		if given := strings.ReplaceAll(got[i], strconv.Itoa(i)+".ipynb", "cli_out.ipynb"); given != want &&
			!(want == "error" && strings.HasPrefix(given, "error: ")) {
			t.Errorf("%s:\n got %q\nwant %q", name, given, want)
		}
	}
	for name := range valueDifferences {
		if !met[name] {
			t.Errorf("%q is no case", name)
		}
	}
}

const noCell = "there is no injected cell"

// injectedBy is the text of the cell that a command line injects, or "error: " and what is said.
func injectedBy(t *testing.T, program, dir string, n int, args []string) string {
	out := filepath.Join(dir, strconv.Itoa(n)+".ipynb")
	line := []string{"run", "--prepare-only", "--allow-unknown-parameters", "--no-progress-bar"}
	for _, a := range args {
		if count, ok := strings.CutPrefix(a, "'9' repeated "); ok {
			times, err := strconv.Atoi(strings.TrimSuffix(count, " times"))
			if err != nil {
				t.Error(err)
			}
			a = strings.Repeat("9", times)
		}
		line = append(line, strings.ReplaceAll(a, "$TMP", dir))
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, append(line, filepath.Join(dir, "python.ipynb"), out)...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	if err := cmd.Run(); err != nil {
		return "error: " + strings.TrimSpace(stderr.String())
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return err.Error()
	}
	var nb struct {
		Cells []struct {
			Source   json.RawMessage
			Metadata struct{ Tags []string }
		}
	}
	if err := json.Unmarshal(raw, &nb); err != nil {
		return err.Error()
	}
	for _, c := range nb.Cells {
		if slices.Contains(c.Metadata.Tags, "injected-parameters") {
			return textOf(c.Source)
		}
	}
	return noCell
}
