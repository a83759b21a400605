package engine

import (
	"reflect"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
)

func TestJudgeFilesOfTheSettings(t *testing.T) {
	cfg, err := ParseConfig(ConfigFile, []byte("policy:\n  protect: [lib/api.txt]\n  judges: [harness/**]\n"+
		"  not-judges: [src/tests/**, lib/api.txt]\n"))
	if err != nil {
		t.Fatal(err)
	}
	files := cfg.JudgeFiles(&notebooks.Notebook{Front: notebooks.Front{Protect: []string{"own/**"}}})
	for name, want := range map[string]bool{"tests/a.py": true, "src/tests/a.py": false, "harness/x/y": true,
		"lib/api.txt": true, "own/a": true, "src/a.py": false, "src/__pycache__/a.pyc": true, "a.pth": true,
		"node_modules/.bin/jest": true, "pyproject.toml": false} {
		if files.Is(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	changed := []string{"a.py", "go.mod", "own/a", "sub/package.json", "tests/package.json"}
	for alone, want := range map[bool]Touched{
		false: {Judges: []string{"own/a", "tests/package.json"}, Mixed: []string{"sub/package.json"},
			Product: []string{"a.py", "go.mod"}},
		true: {Judges: []string{"own/a"}, Product: []string{"a.py", "go.mod", "sub/package.json",
			"tests/package.json"}},
	} {
		if files.Alone = alone; !reflect.DeepEqual(files.Touched(changed), want) {
			t.Errorf("alone %t: %+v, want %+v", alone, files.Touched(changed), want)
		}
	}
	for _, bad := range []string{"judges: []", "judges: [\"[\"]", "not-judges: 1", "decide: never",
		"accepted: [{id: x, by: y}]"} {
		if _, err := ParseConfig(ConfigFile, []byte("policy:\n  "+bad+"\n")); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestMixed puts the test tables of the base into the head's file.
func TestMixed(t *testing.T) {
	for name, test := range map[string]struct{ file, head, base, want string }{
		"a table is put back": {"pyproject.toml", "[project]\nname = \"b\"\n[tool.pytest.ini_options]\n" +
			"addopts = \"-k one\"\n[tool.ruff]\nx = 1\n",
			"[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"\"\n",
			"[project]\nname = \"b\"\n[tool.ruff]\nx = 1\n[tool.pytest.ini_options]\naddopts = \"\"\n"},
		"one that came goes": {"pyproject.toml", "[project]\n[tool.coverage.run]\nomit = []\n", "[project]\n",
			"[project]\n"},
		"one that went comes": {"setup.cfg", "[metadata]\nname = a", "[metadata]\n[tool:pytest]\nx = 1\n",
			"[metadata]\nname = a\n[tool:pytest]\nx = 1\n"},
		"a file that went": {"setup.cfg", "", "[metadata]\n[tool:pytest]\nx = 1\n", "[tool:pytest]\nx = 1\n"},
		"package.json": {"package.json", `{"name":"b","scripts":{"build":"x","test":"true"},"jest":{"a":1}}`,
			`{"name":"a","scripts":{"test":"jest","posttest":"y"},"mocha":{}}`,
			`{"mocha":{},"name":"b","scripts":{"build":"x","posttest":"y","test":"jest"}}`},
		"no JSON": {"package.json", "{", "{}", "{"},
	} {
		t.Run(name, func(t *testing.T) {
			bytes := func(s string) []byte {
				if s == "" {
					return nil
				}
				return []byte(s)
			}
			if got := string(Mixed(test.file, bytes(test.head), bytes(test.base))); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if Mixed("setup.cfg", nil, []byte("[metadata]\n")) != nil {
		t.Error("a file that went has no test tables, and comes back")
	}
}

// TestJudgesAloneAreTheJudgesAndWhatTheyNeed: the change and the agent's step do not run.
func TestJudgesAloneAreTheJudgesAndWhatTheyNeed(t *testing.T) {
	var source strings.Builder
	for _, fence := range []string{"bash {#other}", "bash {#build .setup}", "python {#py}", "bash {#change}",
		"agent {#fix}", "bash {#data}", "python {#check .test needs=data,fix}", "agent {#opinion .review}",
		"bash {#after}", "bash {#end .finally}"} {
		source.WriteString("```" + fence + "\nx\n```\n\n")
	}
	nb, err := markdown.Parse("a.md", []byte(source.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !IsJudging(nb) {
		t.Error("the notebook has a test")
	}
	(&JudgeRequest{Changing: []notebooks.StepID{"change"}}).skipOthers(nb)
	var left []string
	for _, s := range nb.Steps {
		if !s.Has(notebooks.TagSkip) {
			left = append(left, string(s.ID))
		}
		if s.ID == "check" && (len(s.Needs) != 1 || s.Needs[0] != "data") {
			t.Errorf("check needs %v", s.Needs)
		}
	}
	if got := strings.Join(left, " "); got != "build py data check" {
		t.Errorf("left: %s", got)
	}
	none, err := markdown.Parse("a.md", []byte("```agent {#opinion .review}\nx\n```\n"))
	if err != nil || IsJudging(none) {
		t.Errorf("an agent's opinion is no judge (%v)", err)
	}
}
