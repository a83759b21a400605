package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// actionFile is what the tests look at of action.yml.
type actionFile struct {
	Runs struct {
		Using string
		Steps []struct {
			Name, Uses, Shell, Run string
			Env                    map[string]string
		}
	}
}

// TestAction runs the scripts of action.yml as a forge does, on a pull request whose output notebook was edited: with a
// stand-in for gh, and without what builds the program.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
	builtProgram(t)
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action actionFile
	if err := yaml.Unmarshal(text, &action); err != nil || action.Runs.Using != "composite" {
		t.Fatalf("%v, using %q", err, action.Runs.Using)
	}
	scripts := map[string]string{}
	for _, step := range action.Runs.Steps {
		if step.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w-]+@v\d+\.\d+\.\d+$`).MatchString(step.Uses) {
			t.Errorf("%s is not pinned", step.Uses)
		}
		if step.Run != "" && step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("step %s: shell %q, or an expression in its script", step.Name, step.Shell)
		}
		checkScript(t, strings.ReplaceAll(step.Run, `"$FAIL_ON" "$@"`, "red"))
		scripts[step.Name] = step.Run
	}

	work := t.TempDir()
	for _, folder := range []string{"temp/markmill", "bin"} {
		if err := os.MkdirAll(filepath.Join(work, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bash := func(script string, env ...string) (string, error) {
		c := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
		c.Dir = work
		c.Env = append(os.Environ(), "HOME="+work, "RUNNER_TEMP="+work+"/temp", "GITHUB_OUTPUT="+work+"/output",
			"GITHUB_STEP_SUMMARY="+work+"/summary", "PATH="+work+"/bin"+string(os.PathListSeparator)+os.Getenv("PATH"))
		c.Env = append(c.Env, env...)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := bash(`
git init -q -b main forge && cd forge && git config user.email a@b.c && git config user.name n
printf '` + "```bash {#a}\\necho one\\n```\\n" + `' > n.md && markmill run n.md out.md --no-progress-bar
echo .markmill > .gitignore && git add . && git commit -qm base && git checkout -qb work
sed -i s/^one/two/ out.md && git commit -qam edited && git update-ref refs/pull/7/head HEAD && git checkout -q main
git clone -q . ../checkout
printf '#!/bin/sh\necho "$@" >> "$HOME/calls"\n' > ../bin/gh && chmod +x ../bin/gh
git rev-parse main work > ../commits`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(work, "commits"))
	commits := strings.Fields(string(b))
	if err != nil || len(commits) != 2 {
		t.Fatalf("%v: %s", err, b)
	}
	event := []string{"NUMBER=7", "BASE=" + commits[0], "HEAD=" + commits[1], "REPO=o/r", "FAIL_ON=edited",
		"JUDGE=true", "EVENT=pull_request"}
	if out, err := bash("cd checkout\n"+scripts["Review"], append(event, "REQUIRE=none")...); err != nil {
		t.Fatalf("Review: %v: %s", err, out)
	}
	if out, err := bash(scripts["Comment"], event...); err != nil {
		t.Errorf("Comment: %v: %s", err, out)
	}
	for file, want := range map[string]string{"output": "code=1\n", "summary": "out.md",
		"calls": "--method POST repos/o/r/issues/7/comments"} {
		if b, err := os.ReadFile(filepath.Join(work, file)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %q, want %q", file, err, b, want)
		}
	}
	const judged = "main has no tests in a notebook"
	if b, err := os.ReadFile(filepath.Join(work, "summary")); err != nil || !strings.Contains(string(b), judged) {
		t.Errorf("it is not judged: %v, %s", err, b)
	}
	event[len(event)-1] = "EVENT=pull_request_target"
	out, err = bash("cd checkout\n"+scripts["Review"]+"\ncat $RUNNER_TEMP/markmill/review.md",
		append(event, "REQUIRE=none")...)
	if err != nil || strings.Contains(out, judged) {
		t.Errorf("the branch runs on pull_request_target: %v, %s", err, out)
	}
	if _, err := bash(scripts["Gate"], "CODE=4"); err == nil {
		t.Error("the gate lets a decision pass")
	}
	if _, err := bash(scripts["Gate"], "CODE=1"); err == nil {
		t.Error("the gate lets an objection pass")
	}
	if out, err := bash("cd checkout\n"+scripts["Review"], append(event, "REQUIRE=nonsense")...); err == nil {
		t.Errorf("a level of proof that is not known passes: %s", out)
	}
	if out, err := bash("cd checkout\n"+scripts["Review"], "NUMBER="); err == nil {
		t.Errorf("it runs without a pull request: %s", out)
	}
}

// TestHooks holds .pre-commit-hooks.yaml to the program.
func TestHooks(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language string
		Args                []string
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	page := string(readDoc(t, "ci.md"))
	for _, hook := range hooks {
		if len(checkScript(t, strings.Join(append([]string{hook.Entry}, hook.Args...), " "))) != 1 {
			t.Errorf("%s: %s is no command", hook.ID, hook.Entry)
		}
		if hook.Language != "golang" || !strings.Contains(page, hook.ID) {
			t.Errorf("%s: language %s, or ci.md does not name it", hook.ID, hook.Language)
		}
	}
	if len(hooks) != 3 {
		t.Errorf("%d hooks", len(hooks))
	}
}
