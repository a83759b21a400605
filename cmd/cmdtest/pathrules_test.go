package cmdtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"markmill/runs"
)

// pathRule is one way of writing, and what the run says of it.
type pathRule struct {
	name       string // of its notebook in testdata/pathrules.txtar
	code       string // "" passes
	words      string // of the blocker
	changed    string // every changed file as "status path", with commas
	disallowed string
	hidden     string
	patch      string // a part of patch.diff
	quick      bool   // tried without MARKMILL_ALL, too: one or two of each kind
}

const notAllowed = runs.CodeDisallowedFileChange

var pathRules = []pathRule{
	{name: "attributes", quick: true, code: notAllowed, words: "not allowed to",
		changed:    "added .gitattributes, modified keys/k",
		disallowed: "keys/k", patch: "+more\n"},
	{name: "commits_itself", quick: true, code: notAllowed, words: "not allowed to", changed: "modified keys/k",
		disallowed: "keys/k"},
	{name: "file_to_folder", quick: true, changed: "deleted in/a, added in/a/b"},
	{name: "folder_to_file", code: notAllowed, words: "not allowed to",
		changed: "added in, deleted in/a, deleted in/deep/b", disallowed: "in"},
	{name: "folder_to_link", quick: true, code: notAllowed, words: "which may not change",
		changed:    "added in/deep, deleted in/deep/b",
		disallowed: "in/deep"},
	{name: "folder_to_link_top", code: notAllowed, words: "which may not change",
		changed: "added in, deleted in/a, deleted in/deep/b", disallowed: "in"},
	{name: "git_config", changed: "added in/.gitattributes, modified in/a, mode in/deep/b", patch: "+more\n"},
	{name: "git_exclude", code: notAllowed, words: "not allowed to", changed: "added evil", disallowed: "evil"},
	{name: "git_gone", code: notAllowed, words: "not allowed to", changed: "modified keys/k", disallowed: "keys/k"},
	{name: "git_index", quick: true, changed: "modified in/a, modified out/x"},
	{name: "git_link", quick: true, changed: "modified in/a"},
	{name: "git_refs", changed: "modified in/a"},
	{name: "glob", changed: "modified in/a, added new/y.txt"},
	{name: "glob_deep", quick: true, code: notAllowed, words: "not allowed to", changed: "modified in/deep/b",
		disallowed: "in/deep/b"},
	{name: "ignore_known", changed: "modified in/a"},
	{name: "ignore_outside", code: notAllowed, words: "not allowed to", changed: "modified .gitignore",
		disallowed: "keys/new", hidden: "keys/new"},
	{name: "ignore_rule", quick: true, code: notAllowed, words: "not allowed to",
		disallowed: "keys/.gitignore, keys/new",
		hidden:     "keys/.gitignore, keys/new"},
	{name: "ignore_told", quick: true, changed: "modified in/a", hidden: "cache/.gitignore, cache/entry"},
	{name: "ignore_tracked", code: notAllowed, words: "not allowed to", changed: "modified .gitignore, modified keys/k",
		disallowed: "keys/k"},
	{name: "link_absolute", quick: true, code: notAllowed, words: "which is outside the worktree",
		changed:    "added in/link",
		disallowed: "in/link"},
	{name: "link_free", changed: "added in/link"},
	{name: "link_git", code: notAllowed, words: "which is the Git directory", changed: "added in/link",
		disallowed: "in/link"},
	{name: "link_inside", changed: "added in/deep2, added in/link"},
	{name: "link_out_of_allowed", code: notAllowed, words: "which may not change", changed: "added in/link",
		disallowed: "in/link"},
	{name: "link_through_link", code: notAllowed, words: "which is outside the worktree",
		changed:    "added hop, added link",
		disallowed: "link"},
	{name: "link_to_forbidden", code: notAllowed, words: "which may not change", changed: "added in/link",
		disallowed: "in/link"},
	{name: "link_upwards", code: notAllowed, words: "which is outside the worktree", changed: "added in/link",
		disallowed: "in/link"},
	{name: "link_written_through", quick: true, code: notAllowed, words: "not allowed to", changed: "modified out/x",
		disallowed: "out/x"},
	{name: "mode", quick: true, code: notAllowed, words: "not allowed to", changed: "mode tool.sh",
		disallowed: "tool.sh"},
	{name: "mode_change", code: notAllowed, words: "tagged no-change", changed: "mode in/a"},
	{name: "names", quick: true, code: notAllowed, words: "not allowed to",
		changed: "added é, added in/\"quoted\", added in/back\\slash, added in/byte\\xff, added in/new\nline, added " +
			"in/tab\t.", disallowed: "é"},
	{name: "names_case", code: notAllowed, words: "not allowed to", changed: "added IN/a", disallowed: "IN/a"},
	{name: "names_glob", code: notAllowed, words: "not allowed to", changed: "added in/a.ke\\xff",
		disallowed: "in/a.ke\\xff"},
	{name: "nested", quick: true, code: notAllowed, words: "repositories inside the worktree",
		disallowed: "in/nested/"},
	{name: "nested_around", code: notAllowed, words: "not allowed to", changed: "modified keys/k",
		disallowed: "keys/k, keys/.git/"},
	{name: "nested_empty", code: notAllowed, words: "repositories inside the worktree", changed: "added evil/told",
		disallowed: "evil/.git/"},
	{name: "nested_fake", code: notAllowed, words: "repositories inside the worktree", disallowed: "evil/"},
	{name: "nested_file", quick: true, code: notAllowed, words: "repositories inside the worktree",
		disallowed: "evil/"},
	{name: "nested_gone", changed: "added nested/file"},
	{name: "nested_ignored", changed: "modified in/a"},
	{name: "nested_no_change", code: notAllowed, words: "repositories inside the worktree", disallowed: "evil/"},
	{name: "nested_outside", code: notAllowed, words: "repositories inside the worktree", disallowed: "evil/"},
	{name: "rename_forbidden", code: notAllowed, words: "not allowed to", changed: "renamed keys/k → k",
		disallowed: "keys/k"},
	{name: "rename_in", code: notAllowed, words: "not allowed to", changed: "renamed out/x → in/x",
		disallowed: "out/x"},
	{name: "rename_out", quick: true, code: notAllowed, words: "not allowed to", changed: "renamed in/a → out/a",
		disallowed: "out/a"},
	{name: "special", changed: "modified in/a"},
	{name: "submodule_added", code: notAllowed, words: "repositories inside the worktree",
		changed:    "modified .gitmodules",
		disallowed: "in/second/"},
	{name: "submodule_clean", changed: "modified in/a"},
	{name: "submodule_edited", code: notAllowed, words: "repositories inside the worktree", disallowed: "module/"},
	{name: "submodule_filled", code: notAllowed, words: "repositories inside the worktree", disallowed: "module/"},
	{name: "submodule_hidden", quick: true, code: notAllowed, words: "repositories inside the worktree",
		disallowed: "module/"},
	{name: "submodule_moved", quick: true, code: notAllowed, words: "not allowed to", changed: "modified module",
		disallowed: "module"},
	{name: "submodule_traps", code: notAllowed, words: "repositories inside the worktree", disallowed: "module/"},
}

// TestPathRules tries to write where allow and forbid do not let it, or so that nobody sees it. Whatever the step does,
// the change is told whole or the run fails. With MARKMILL_ALL set it tries every row, otherwise the quick ones.
func TestPathRules(t *testing.T) {
	t.Parallel()
	books := notebooksOf(t, "testdata/pathrules.txtar")
	template := newPathTemplate(t)
	rows := map[string]pathRule{}
	for _, row := range pathRules {
		rows[row.name+".md"] = row
	}
	for name, text := range books {
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s has no row", name)
			row.name = strings.TrimSuffix(name, ".md")
		}
		delete(rows, name)
		if ok && !row.quick && !everything() {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if row.name == "git_link" { // steps may write to what is in memory
				var err error
				if dir, err = os.MkdirTemp(testSetup.disk, "git_link-"); err != nil {
					t.Fatal(err)
				}
			}
			c := newClosedIn(t, dir)
			template.copyTo(c)
			row.run(c, text)
		})
	}
	for name := range rows {
		t.Errorf("testdata/pathrules.txtar has no %s", name)
	}
}

// pathTemplate is a repository with a submodule, which every case gets a copy of: adding a submodule starts some fifty
// processes.
type pathTemplate struct{ *closed }

func newPathTemplate(t *testing.T) pathTemplate {
	c := newClosed(t)
	module := filepath.Join(c.dir, "module")
	c.must(os.Mkdir(module, 0o755))
	c.write("module/s", "s\n")
	c.git("init", "-q", noHooks, module)
	c.git("-C", module, "add", ".")
	c.git("-C", module, "commit", "-qm", "one")
	for name, text := range map[string]string{
		"in/a": "a\n", "in/deep/b": "b\n", "out/x": "x is a line\n", "tool.sh": "exit\n",
		".gitignore": "*.log\n/in/ignored/\n",
	} {
		c.write("src/"+name, text)
	}
	c.must(os.Chmod(filepath.Join(c.src, "tool.sh"), 0o755))
	c.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "module")
	return pathTemplate{c}
}

// copyTo replaces the checkout of c with that of the template. The submodule's address becomes the copy of its origin.
func (p pathTemplate) copyTo(c *closed) {
	c.must(os.RemoveAll(c.src))
	for _, folder := range []string{"src", "module"} {
		c.must(os.CopyFS(filepath.Join(c.dir, folder), os.DirFS(filepath.Join(p.dir, folder))))
	}
	for _, file := range []string{".gitmodules", ".git/config", ".git/modules/module/config", "markmill.yaml"} {
		path := filepath.Join(c.src, filepath.FromSlash(file))
		c.must(os.WriteFile(path, []byte(strings.ReplaceAll(c.read(path), p.dir, c.dir)), 0o644))
	}
}

func (row pathRule) run(c *closed, text string) {
	t := c.t
	if row.name == "git_link" && strings.HasPrefix(c.dir, "/dev/shm/") {
		t.Skip("the sandbox lets steps write to /dev/shm, in which the temporary folder is")
	}
	module, mark := filepath.Join(c.dir, "module"), filepath.Join(c.dir, "word", "mark")
	c.commit("n.md", text)
	c.before = c.everything()
	args := []string{"run", "n.md", "--no-progress-bar"}
	for name, value := range map[string]string{"module": module, "mark": mark, "source": c.src} {
		if strings.Contains(text, name+`: ""`) {
			args = append(args, "-p", name, value)
		}
	}
	want := 0
	if row.code != "" {
		want = 1
	}
	out, exit := c.markmill(args...)
	if exit != want {
		t.Errorf("exit %d, want %d\n%s", exit, want, out)
	}
	if _, err := os.Lstat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Markmill has run what a step left for it")
	}
	dir := c.last()
	run, _, err := runs.At(dir).Load()
	c.must(err)
	var words []string
	for _, b := range run.Blockers() {
		words = append(words, b.Code+": "+b.Message)
	}
	if row.code == "" && len(words) > 0 || row.code != "" &&
		!slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, row.code+": ") &&
				strings.Contains(w, row.words)
		}) {
		t.Errorf("blockers %q, want %s with %q", words, row.code, row.words)
	}
	if run.Diff == nil {
		t.Fatalf("the change was not checked\n%s", out)
	}
	var changed []string
	for _, f := range run.Diff.Files {
		if f.OldPath != "" {
			f.Path = f.OldPath + " → " + f.Path
		}
		changed = append(changed, fmt.Sprintf("%s %s", f.Status, f.Path))
	}
	for what, got := range map[string][2]string{
		"changed":    {strings.Join(changed, ", "), row.changed},
		"disallowed": {strings.Join(run.Diff.Disallowed, ", "), row.disallowed},
		"hidden":     {strings.Join(run.Diff.Hidden, ", "), row.hidden},
	} {
		if got[0] != got[1] {
			t.Errorf("%s:\n%q, want\n%q", what, got[0], got[1])
		}
	}
	if patch := c.read(runs.At(dir).File(runs.PatchFile)); !strings.Contains(patch, row.patch) {
		t.Errorf("patch.diff is %q, without %q", patch, row.patch)
	}
	if out, code := c.markmill("verify", dir); code != 0 {
		t.Error(out)
	}
	if got := c.touched(func(path string) bool {
		return strings.HasPrefix(path, "src/.markmill") || strings.HasPrefix(path, "word") ||
			strings.HasPrefix(path, "home/")
	}); len(got) > 0 {
		t.Errorf("touched: %q", got)
	}
}
