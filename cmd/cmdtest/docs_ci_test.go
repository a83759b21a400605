package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/review"
)

// workflow is what the tests look at of a workflow file.
type workflow struct {
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Name, Uses, Run, If string
			With, Env           map[string]any
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// TestWorkflows holds the workflow files that docs offer to what they promise: they parse, their scripts are Bash,
// their commands are the program's, actions are pinned, nothing of an event is put into a script, and what runs the
// branch cannot write.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(docs + "ci-*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%d workflow files: %v", len(files), err)
	}
	page := string(readDoc(t, "ci.md"))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var w workflow
			if err := yaml.Unmarshal(text, &w); err != nil {
				t.Fatal(err)
			}
			if _, ok := w.On["pull_request"]; !ok || len(w.On) != 1 || len(w.Permissions) != 0 {
				t.Errorf("it runs on %v with %v", w.On, w.Permissions)
			}
			commands := 0
			for name, job := range w.Jobs {
				if len(job.Steps) == 0 || job.Permissions["contents"] != "read" {
					t.Errorf("job %s: %d steps, permissions %v", name, len(job.Steps), job.Permissions)
				}
				for _, step := range job.Steps {
					if step.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w-]+@v\d+\.\d+\.\d+$`).MatchString(step.Uses) {
						t.Errorf("job %s: %s is not pinned", name, step.Uses)
					}
					if ref, ok := step.With["ref"]; strings.HasPrefix(step.Uses, "actions/checkout@") &&
						name == "review" &&
						(!ok || !strings.Contains(ref.(string), ".base.")) {
						t.Errorf("job %s checks the branch out", name)
					}
					if strings.Contains(step.Run, "${{") {
						t.Errorf("job %s: an expression stands in a script:\n%s", name, step.Run)
					}
					if step.Run != "" {
						commands += len(checkScript(t, step.Run))
					}
				}
			}
			for what, level := range w.Jobs["test"].Permissions {
				if level != "read" {
					t.Errorf("the job that runs the branch may %s %s", level, what)
				}
			}
			if commands < 2 {
				t.Errorf("%d commands of markmill", commands)
			}
			if !strings.Contains(page, "("+filepath.Base(file)+")") {
				t.Errorf("ci.md does not name %s", file)
			}
		})
	}
	for _, fence := range regexp.MustCompile("(?s)\n```sh\n(.*?\n)```\n").FindAllStringSubmatch(page, -1) {
		checkScript(t, fence[1])
	}
}

// checkScript reads a script as Bash does, and returns its command lines of markmill, all of which the program knows.
func checkScript(t *testing.T, script string) [][]string {
	t.Helper()
	if bash, err := exec.LookPath("bash"); err == nil {
		c := exec.Command(bash, "-n")
		c.Stdin = strings.NewReader(script)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("bash -n: %v: %s\n%s", err, out, script)
		}
	}
	var found [][]string
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "markmill" {
			continue
		}
		for i, word := range words { // what comes behind is the shell's
			if strings.HasPrefix(word, ">") || word == "||" || word == "|" || word == "&&" {
				words = words[:i]
				break
			}
		}
		found = append(found, words)
		c, rest, err := commands.Root(program.New(), "").Find(words[1:])
		if err != nil || !c.HasParent() {
			t.Errorf("no command: %s", line)
			continue
		}
		var values []string
		for i := range rest {
			values = append(values, strings.Trim(rest[i], `"`))
		}
		if err := parses(c, values); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	return found
}

// parses says whether a command knows the flags and the number of its arguments.
func parses(c *cobra.Command, words []string) error {
	if err := c.ParseFlags(words); err != nil {
		return err
	}
	if on, err := c.Flags().GetStringSlice("fail-on"); err == nil {
		if _, err := review.Conditions(on); err != nil {
			return err
		}
	}
	return c.ValidateArgs(c.Flags().Args())
}
