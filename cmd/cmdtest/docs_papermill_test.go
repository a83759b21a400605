package cmdtest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const papermillPage = "papermill.md"

// corpusReport is the section of docs/papermill.md about the corpus, made from the table that the comparison asserts.
func corpusReport() string {
	var same, ipython []string
	var differ, refused strings.Builder
	ran, besides := 0, 0
	for _, n := range corpusNotebooks {
		name := "`" + n.name + "`"
		if n.cannot != "" {
			here := cmp.Or(n.ours, "says the same, exit code 2")
			fmt.Fprintf(&refused, "| %s | %s | %s |\n", name, n.cannot, here)
			continue
		}
		ran++
		if n.ipython {
			ipython = append(ipython, name)
		}
		if len(n.differs)+len(n.plain) > 0 {
			besides += min(len(n.plain), 1)
			where := func(list []namedDifference) (out []string) {
				for i, d := range list {
					at := d.at
					if i > 0 && strings.Fields(list[i-1].at)[0] == "cell" && strings.HasPrefix(at, "cell ") {
						at = strings.TrimPrefix(at, "cell ")
					}
					out = append(out, at)
				}
				return out
			}
			for i, list := range [][]namedDifference{n.differs, n.plain} {
				for _, why := range whysOf(list) {
					of := slices.DeleteFunc(slices.Clone(list), func(d namedDifference) bool { return d.why != why })
					kernel := []string{"both", "built-in"}[i]
					if i == 0 && (n.ipython || n.kernel != "") {
						kernel = "Jupyter's"
					}
					fmt.Fprintf(&differ, "| %s | %s | %s | %s |\n", name, kernel, strings.Join(where(of), ", "), why)
				}
			}
		}
		if len(n.differs) == 0 {
			same = append(same, name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"The corpus has %d notebooks of other projects. Papermill runs %d of them on a machine with the kernels of "+
			"Python and Bash (with `-k python3` where a notebook names no kernel, or Python 2's).\n",
		len(corpusNotebooks), ran)
	fmt.Fprintf(&b,
		"%d leave the same over the same kernel: exit code, and of each cell the source, outputs, count, tags, "+
			"metadata, state and where the error is marked. %d differ in places that the table names.\n",
		len(same), ran-len(same))
	fmt.Fprintf(&b,
		"On the built-in kernel of Python (`-k python3`) run %d, with the same results but for the traceback, and in "+
			"%d a named place more. The other %d need IPython, or Bash.\n\n", ran-len(ipython)-1, besides,
		len(ipython)+1)
	b.WriteString("| notebook | kernel | where | difference |\n| --- | --- | --- | --- |\n" + differ.String())
	fmt.Fprintf(&b, "\nThe same: %s.\n\n", strings.Join(same, ", "))
	fmt.Fprintf(&b, "Papermill does not run %d:\n\n| notebook | papermill | here |\n| --- | --- | --- |\n%s",
		len(corpusNotebooks)-ran, refused.String())
	return b.String()
}

func whysOf(list []namedDifference) []string {
	var out []string
	for _, d := range list {
		if !slices.Contains(out, d.why) {
			out = append(out, d.why)
		}
	}
	return out
}

const (
	corpusBegin = "<!-- corpus: written by go test ./cmd/cmdtest -run TestPapermillPage -update -->\n"
	corpusEnd   = "<!-- end of corpus -->\n"
)

// TestPapermillPage fails when docs/papermill.md does not name a difference that a test asserts.
func TestPapermillPage(t *testing.T) {
	page := string(readDoc(t, papermillPage))
	before, rest, ok := strings.Cut(page, corpusBegin)
	old, after, ended := strings.Cut(rest, corpusEnd)
	if !ok || !ended {
		t.Fatalf("docs/%s has no part of the corpus, between %q and %q", papermillPage, corpusBegin, corpusEnd)
	}
	if want := corpusReport(); *update {
		if err := os.WriteFile(docs+papermillPage, []byte(before+corpusBegin+want+corpusEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("docs/%s is old; run: go test ./cmd/cmdtest -run TestPapermillPage -update", papermillPage)
	}

	table := document(page).section(t, "Differences")
	named := map[string]bool{whyOwnOutput: true}
	for _, n := range corpusNotebooks {
		for _, d := range slices.Concat(n.differs, n.plain) {
			named[d.why] = true
		}
	}
	for _, why := range usualDifferences {
		named[why] = true
	}
	for _, d := range valueDifferences {
		if d.why != "" {
			named[d.why] = true
		}
	}
	for _, b := range behaviours {
		for _, d := range slices.Concat(b.differs, b.builtin, b.jupyter, b.again) {
			named[d.why] = true
		}
	}
	for why := range named {
		if !table.hasCase(why) {
			t.Errorf("the table of differences in docs/%s has no row %q", papermillPage, why)
		}
	}
}

// hasCase says that a row of a table begins with these words.
func (d document) hasCase(words string) bool {
	return strings.Contains(string(d), "\n| "+words+" |")
}
