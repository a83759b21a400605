package cmdtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// preCommit: the real pre-commit installs the program from a repository with the files of this checkout, and its hooks
// hold a commit and a push back until they are mended.
func (p peers) preCommit(t *testing.T) {
	dir := t.TempDir()
	hooks, work := filepath.Join(dir, "hooks"), filepath.Join(dir, "work")
	copyModule(t, filepath.Join("..", ".."), hooks)
	env := with(os.Environ(), "PRE_COMMIT_HOME="+filepath.Join(dir, "home"), "GIT_CONFIG_GLOBAL="+filepath.Join(dir,
		"gitconfig"), "PATH="+filepath.Dir(p.markmill)+string(os.PathListSeparator)+os.Getenv("PATH"),
		// pre-commit gives Go a GOPATH of its own: what is built and fetched already is found all the same
		"GOCACHE="+strings.TrimSpace(string(command(t, "", "go", "env", "GOCACHE"))),
		"GOMODCACHE="+strings.TrimSpace(string(command(t, "", "go", "env", "GOMODCACHE"))))
	write(t, filepath.Join(dir, "gitconfig"), "[user]\nname = n\nemail = a@b.c\n[init]\ndefaultBranch = main\n")
	bash := func(folder, script string) (string, error) {
		c := exec.Command("bash", "-ec", script) // without a limit: it compiles the program
		c.Dir, c.Env = folder, env
		out, err := c.CombinedOutput()
		return string(out), err
	}
	must := func(folder, script string) string {
		t.Helper()
		out, err := bash(folder, script)
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return strings.TrimSpace(out)
	}
	refused := func(script string, words ...string) {
		t.Helper()
		out, err := bash(work, script)
		if err == nil {
			t.Errorf("%s: it passes", script)
		}
		for _, want := range words {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", script, want, out)
			}
		}
	}
	revision := must(hooks, "git init -q && git add . && git commit -qm hooks && git rev-parse HEAD")
	must(dir, "git init -q --bare base.git && git clone -q base.git work 2>/dev/null")
	write(t, filepath.Join(work, "n.md"), "```bash {#a}\necho one\n```\n")
	write(t, filepath.Join(work, ".pre-commit-config.yaml"), "repos:\n- repo: "+hooks+"\n  rev: "+revision+
		"\n  hooks: [{id: markmill-strip}, {id: markmill-check}, {id: markmill-gate}]\n")
	must(work, "git checkout -qb main; markmill run n.md n.out.md --no-progress-bar; git add . && git commit -qm "+
		"base && git push -q origin main && git checkout -qb topic && "+p.python+" -m pre_commit install --hook-type "+
		"pre-commit --hook-type pre-push")

	write(t, filepath.Join(work, "b.ipynb"), `{"cells": [{"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {},
 "outputs": [{"name": "stdout", "output_type": "stream", "text": ["x\n"]}], "source": ["print('x')"]}],
 "metadata": {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}, "nbformat": 4,
 "nbformat_minor": 5}`)
	write(t, filepath.Join(work, "wrong.md"), "```bash {#a tmieout=3}\necho one\n```\n")
	refused("git add . && git commit -m one", "markmill-strip\n- files were modified", "wrong.md:1:13",
		"did you mean timeout")
	if b, err := os.ReadFile(filepath.Join(work, "b.ipynb")); err != nil || strings.Contains(string(b), `"x\n"`) {
		t.Errorf("%v, not stripped: %s", err, b)
	}
	must(work, "sed -i s/tmieout/timeout/ wrong.md && git add . && git commit -qm one")

	must(work, "sed -i 's/^one$/two/' n.out.md && git commit -qam edited --no-verify")
	refused("git push -q origin topic", "markmill-gate\n- exit code: 1", "`n.out.md`: edited")
	must(work, "git checkout -q HEAD~ n.out.md && git commit -qam back && git push -q origin topic")
	if must(dir, "git -C base.git rev-parse topic") != must(work, "git rev-parse HEAD") {
		t.Error("what was mended is not pushed")
	}
}

// copyModule copies the module, without what Git keeps.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git": // of a worktree
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}
