package review

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/fresh"
)

// files is a tree in memory.
type files map[string]string

func (f files) Read(name string, _ int64) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), nil
}

func (f files) In(dir string) (names []string, err error) {
	for p := range f {
		if folderOf(p) == dir {
			names = append(names, path.Base(p))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f files) All(want func(string) bool) (paths []string, err error) {
	for _, p := range slices.Sorted(maps.Keys(f)) {
		if want(path.Base(p)) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

func (f files) Entry(name string) (blob, mode string, ok bool, err error) {
	text, ok := f[name]
	if !ok {
		return "", "", false, nil
	}
	return region.DigestOf([]byte(text)), "100644", true, nil
}

func (f files) Inputs() fresh.Tree { return inputs{f} }

// inputs compares the inputs of runs with a tree in memory.
type inputs struct{ of files }

func (t inputs) Entry(name string) (blob, mode string, err error) {
	blob, mode, _, err = t.of.Entry(name)
	return blob, mode, err
}

func (t inputs) Names(name string, _ []string) (string, error) {
	_, names, err := t.Folder(name)
	return names, err
}

func (t inputs) Below(name string, _ []string) (string, error) {
	tree, _, err := t.Folder(name)
	return tree, err
}

func (t inputs) Looked([]notebooks.Input) ([]string, error) { return nil, nil }

func (t inputs) Folder(name string) (tree, names string, err error) {
	for _, p := range slices.Sorted(maps.Keys(t.of)) {
		if covers(name, p) {
			tree += p + "=" + t.of[p] + ";"
			names += p + ";"
		}
	}
	return tree, names, nil
}

func (t inputs) Without(except []string, changes []notebooks.ManifestChange) (fresh.Tree, error) {
	of := maps.Clone(t.of)
	for _, p := range except {
		delete(of, p)
	}
	for _, c := range changes { // of tests: the old blob is the text
		of[c.Path] = c.OldBlob
	}
	return inputs{of}, nil
}

func (inputs) Attributes(string) (string, error) { return "", nil }

func (inputs) KernelSettings(string) (string, error) { return "", nil }

func (inputs) Ignored(string, string) (string, bool, error) { return "", false, nil }

func (inputs) Declared(in notebooks.DeclaredInput) (notebooks.DeclaredInput, bool, error) {
	return in, true, nil
}

func (inputs) Dependency(string) (string, bool) { return "", false }
func (inputs) Data(notebooks.DataInput, map[string]bool) (now notebooks.DataInput, ok bool, err error) {
	return now, false, nil
}

// sourceText returns a notebook with one step.
func sourceText(title, code string) string {
	return "# " + title + "\n\n```bash {#one}\n" + code + "\n```\n"
}

// ran returns the output notebook of a source.
func ran(source, status, text string) string {
	nb, err := markdown.Parse("x.md", []byte(source))
	if err != nil {
		panic(err)
	}
	mark := "✓"
	if status != "pass" {
		mark = "✗"
	}
	body := "<details><summary>" + mark + " <code>one</code> · exit 0</summary>\n\n```text {.output}\n" + text +
		"\n```\n\n</details>\n"
	return string(region.Splice(nb.Source, []region.Region{{ID: "one", At: nb.Steps[0].Fence.End,
		Body: []byte(body)}}, notebooks.Manifest{Status: status, Inputs: &notebooks.Inputs{}}))
}

// reviewed reviews two trees, without pairing files that moved unchanged.
func reviewed(t interface{ Fatal(...any) }, base, head files, change func(*Input)) *Review {
	in := Input{Base: base, Head: head, BaseName: Revision{"base", "b"}, HeadName: Revision{"head", "h"},
		FailOn: slices.Concat(Always, DefaultFailOn)}
	all := maps.Clone(base)
	maps.Copy(all, head)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		was, old := base[p]
		is, now := head[p]
		if old == now && was == is {
			continue
		}
		in.Files = append(in.Files, File{Path: p, Old: old, New: now})
	}
	if change != nil {
		change(&in)
	}
	r, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func summaries(r *Review) string {
	var lines []string
	for _, n := range r.Notebooks {
		lines = append(lines, n.Path+": "+n.Summary())
	}
	return strings.Join(lines, "\n")
}

func TestOutputStates(t *testing.T) {
	a, b := sourceText("A", "echo 1"), sourceText("A", "echo 2")
	other := sourceText("Something else altogether", "make\nmake install\nmake test")
	forged := strings.Replace(ran(a, "pass", "1"), "\n1\n", "\n9\n", 1)
	for _, c := range []struct {
		name       string
		base, head files
		want       string
	}{
		{"the source changed, its output did not", files{"n/a.md": a, "runs/a.md": ran(a, "pass", "1")},
			files{"n/a.md": b, "runs/a.md": ran(a, "pass", "1")}, "n/a.md: edited · output outdated"},
		{"both changed", files{"a.md": a, "a.out.md": ran(a, "pass", "1")},
			files{"a.md": b, "a.out.md": ran(b, "pass", "2")},
			"a.md: edited, with a.out.md · output current\na.out.md: edited · output current"},
		{"an output of another name, beside", files{"a.md": a, "report.md": ran(a, "pass", "1")},
			files{"a.md": b, "report.md": ran(a, "pass", "1")}, "a.md: edited · output outdated"},
		{"an output of another name, run again", files{"a.md": a, "report.md": ran(a, "pass", "1")},
			files{"a.md": b, "report.md": ran(b, "pass", "2")},
			"a.md: edited, with report.md · output current\nreport.md: edited · output current"},
		{"an output of another name, lost", files{"a.md": a, "report.md": ran(a, "pass", "1")}, files{"a.md": b},
			"a.md: edited, with report.md removed · output missing\nreport.md: removed · output missing"},
		{"both gone", files{"a.md": a, "a.out.md": ran(a, "pass", "1")}, files{},
			"a.md: removed, with a.out.md\na.out.md: removed"},
		{"the source moved, its output did not", files{"n/a.md": a, "runs/a.md": ran(a, "pass", "1")},
			files{"n/b.md": a, "runs/a.md": ran(a, "pass", "1")},
			"n/b.md: renamed from n/a.md · output current"},
		{"the source moved and changed", files{"n/a.md": a + "\nMore\n\nof the same.\n",
			"runs/a.md": ran(a+"\nMore\n\nof the same.\n", "pass", "1")},
			files{"n/b.md": b + "\nMore\n\nof the same.\n",
				"runs/a.md": ran(a+"\nMore\n\nof the same.\n", "pass", "1")},
			"n/b.md: renamed from n/a.md · output outdated"},
		{"edited", files{"a.md": a, "a.out.md": ran(a, "pass", "1")}, files{"a.md": a, "a.out.md": forged},
			"a.out.md: edited · output edited"},
		{"edited around the regions", files{"a.md": a, "a.out.md": ran(a, "pass", "1")},
			files{"a.md": a, "a.out.md": strings.Replace(ran(a, "pass", "1"), "# A", "# B", 1)},
			"a.out.md: edited · output edited"},
		{"edited, and the source changed", files{"a.md": a, "a.out.md": ran(a, "pass", "1")},
			files{"a.md": b, "a.out.md": forged},
			"a.md: edited, with a.out.md · output edited, outdated\na.out.md: edited · output edited, outdated"},
		{"cut", files{"a.md": a, "a.out.md": ran(a, "pass", "1")},
			files{"a.md": a, "a.out.md": ran(a, "pass", "1")[:len(ran(a, "pass", "1"))-400]},
			"a.out.md: edited · output damaged"},
		{"failed", files{"a.md": a}, files{"a.md": a, "a.out.md": ran(a, "fail", "1")},
			"a.out.md: added · output failed"},
		{"its own text", files{}, files{"a.md": ran(a, "pass", "1")}, "a.md: added · output current"},
		{"its own text, edited", files{"a.md": ran(a, "pass", "1")},
			files{"a.md": strings.Replace(ran(a, "pass", "1"), "echo 1", "echo 2", 1)}, "a.md: edited · output " +
				"outdated"},
		{"its own text, stripped", files{"a.md": ran(a, "pass", "1")}, files{"a.md": a},
			"a.md: edited · output missing"},
		{"another of the same name", files{"x/a.md": other, "y/a.md": ran(a, "pass", "1")},
			files{"x/a.md": other + "\nmore\n", "y/a.md": ran(a, "pass", "1")}, "x/a.md: edited"},
		{"no notebook", files{"README.md": "# A\n\n```bash\necho\n```\n"}, files{"README.md": "# B\n"}, ""},
	} {
		if got := summaries(reviewed(t, c.base, c.head, nil)); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}

func TestConfiguredOutput(t *testing.T) {
	a, b := sourceText("A", "echo 1"), sourceText("A", "echo 2")
	set := func(in *Input) {
		in.Output = func(name string, _ []byte) (string, bool) { return "out/" + stem(name) + "-result.md", true }
	}
	for want, trees := range map[string][2]files{
		"n/a.md: added · output missing": {{}, {"n/a.md": a}},
		"n/a.md: edited · output outdated": {{"n/a.md": a, "out/a-result.md": ran(a, "pass", "1")},
			{"n/a.md": b, "out/a-result.md": ran(a, "pass", "1")}},
		"n/a.md: edited, with out/a-result.md added · output current\n" +
			"out/a-result.md: added · output current": {{"n/a.md": a},
			{"n/a.md": b, "out/a-result.md": ran(b, "pass", "1")}},
	} {
		if got := summaries(reviewed(t, trees[0], trees[1], set)); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

// unreadable is a tree whose methods return errors.
type unreadable struct{ files }

func (unreadable) In(string) ([]string, error)                       { return nil, errors.New("no") }
func (unreadable) All(func(string) bool) (paths []string, err error) { return nil, errors.New("no") }

func TestUnreadableTreeIsAnError(t *testing.T) {
	f := files{"a.md": sourceText("A", "echo")}
	if _, err := Make(Input{Base: files{}, Head: unreadable{f}, Files: []File{{Path: "a.md", New: true}}}); err == nil {
		t.Error("no error")
	}
}

// TestUnchangedFilesAreReadOnce has unchanged files, one of which may be the output of a changed source: they are read
// for that, once. Files that cannot be notebooks are not read.
func TestUnchangedFilesAreReadOnce(t *testing.T) {
	base := files{"n/a.md": sourceText("A", "echo 1"), "far/b.md": "x", "far/b.txt": "x"}
	head := maps.Clone(base)
	head["n/a.md"] = sourceText("A", "echo 2")
	read := map[string]int{}
	reviewed(t, base, head, func(in *Input) { in.Base, in.Head = counting{base, read}, counting{head, read} })
	if read["far/b.md"] != 1 || read["far/b.txt"] != 0 {
		t.Errorf("read: %v", read)
	}
}

type counting struct {
	files
	read map[string]int
}

func (c counting) Read(name string, most int64) ([]byte, error) {
	c.read[name]++
	return c.files.Read(name, most)
}

var nasty = []string{"::error file=x::y", "  ::warning::", "##[error]", "x ##[add-mask]y", "@octocat",
	"<!-- markmill:review -->", "<script>alert(1)</script>", "`", "```", "~~~~", "</details>",
	"[x](javascript:1)", "![x](https://evil.example/x.png)", "https://evil.example", "www.evil.example", "#1", "GH-1",
	"o/r#12", "|", "\\", "\x1b[31m", "\u202e", "&lt;", "$x$", "-->", "a b"}

// TestEverythingIsText puts hostile text into every field and inspects the comment.
func TestEverythingIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(nasty),
				rapid.StringN(0, 8, 20)), 1, 4).Draw(t,
				"parts"), rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "sep"))
		})
		clean := func(s string) string {
			return strings.NewReplacer("/", "", "\n", "", "\x00", "").Replace(s)
		}
		base, head := files{}, files{}
		for i := range rapid.IntRange(1, 4).Draw(t, "notebooks") {
			was, is := text.Draw(t, "was"), text.Draw(t, "is")
			name := clean(text.Draw(t, "name")) + fmt.Sprint(i) + rapid.SampledFrom([]string{".md",
				".ipynb"}).Draw(t, "ext")
			if strings.HasSuffix(name, ".ipynb") {
				base[name], head[name] = jupyterText(was, is), jupyterText(is, was)
				continue
			}
			base[name] = "# " + was + "\n\n```bash {#one}\nx\n" + was + "\n```\n\n" + was
			head[name] = "---\ntitle: x\nparams:\n  " + "p: " + fmt.Sprintf("%q", is) + "\n---\n# " + is +
				"\n\n```bash {#one}\nx\n" + is + "\n```\n\n" + is
		}
		r := reviewed(t, base, head, nil)
		limit := rapid.IntRange(LeastLimit, 9000).Draw(t, "limit")
		for _, most := range []int{limit, 65536} {
			out := string(r.View().Markdown(most))
			if len(out) > most || !strings.HasPrefix(out, Marker+"\n") {
				t.Fatalf("%d bytes of at most %d:\n%s", len(out), most, out)
			}
			fence := ""
			for line := range strings.Lines(out) {
				body := strings.TrimLeft(line, " \t")
				if strings.HasPrefix(body, "::") || strings.Contains(line, "##[") {
					t.Fatalf("a command: %q", line)
				}
				if mark := body[:len(body)-len(strings.TrimLeft(body, "`"))]; len(mark) > 2 &&
					strings.HasPrefix(line, "  `") &&
					(fence == "" || strings.TrimSpace(body) == fence) {
					if fence == "" {
						fence = mark
					} else {
						fence = ""
					}
					continue
				}
				if fence != "" {
					continue
				}
				plain := withoutCode(line)
				for _, bad := range []string{"@o", "<script", "](j", "](h", "://", "www.", "#1", "\x1b", "\u202e"} {
					if strings.Contains(plain, bad) {
						t.Fatalf("%q in %q", bad, line)
					}
				}
			}
			if fence != "" {
				t.Fatalf("a fence is left open:\n%s", out)
			}
		}
		text2, err := r.JSON(0)
		var back any
		if err != nil || codec.Unmarshal(text2, &back) != nil || bytes.Contains(text2, []byte("##[")) {
			t.Fatalf("%v: %s", err, text2)
		}
	})
}

// withoutCode returns a line without its code spans, as CommonMark finds them.
func withoutCode(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			b.WriteByte(' ') // an escaped character has no meaning
			i += 2
			continue
		}
		if line[i] != '`' {
			b.WriteByte(line[i])
			i++
			continue
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		end := i + n
		for end < len(line) {
			at := strings.IndexByte(line[end:], '`')
			if at < 0 {
				end = len(line)
				break
			}
			end += at
			m := len(line[end:]) - len(strings.TrimLeft(line[end:], "`"))
			end += m
			if m == n {
				break
			}
		}
		i = end
	}
	return b.String()
}

func jupyterText(source, output string) string {
	s, _ := codec.Marshal(strings.ToValidUTF8(source, ""))
	o, _ := codec.Marshal(strings.ToValidUTF8(output, ""))
	return fmt.Sprintf(`{"cells":[{"cell_type":"code","execution_count":1,"id":"a","metadata":{"k":%s},`+
		`"outputs":[{"output_type":"stream","name":"stdout","text":%s}],"source":%s}],"metadata":{"m":%s},`+
		`"nbformat":4,"nbformat_minor":5}`,
		o, o, s, s)
}
