package ipynb

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestUpgraded checks the result of upgrading old notebooks. TestInterop in cmd/cmdtest compares it with nbformat.
func TestUpgraded(t *testing.T) {
	for name, want := range map[string]string{
		"old2.ipynb": `markdown cell-1 "# T\n\ntext"
code cell-2 "a = 1\nprint(a)" 1 stream:stdout="1\n2" execute_result:text/plain="x\ny"
code cell-3 ""
language python`,
		"old3.ipynb": `markdown cell-1 "## A title on two lines"
markdown cell-2 "text\nmore"
markdown cell-3 "<b>x</b>"
raw cell-4 "raw"
code cell-5 "n = 3\nprint(n)" 4 stream:stdout="3\n"
code cell-6 "n * 7" execute_result:application/javascript="1" application/json=- image/png="iVBORw0KGgo=\n" ` +
			`image/svg+xml="<svg/>\n\n" text/html="<i>21</i>" text/latex="$21$" text/plain="21" ` +
			`display_data:image/png="iVBORw0KGgo=" error:E v [a b] stream:stdout="no name"
language python`,
	} {
		src, err := os.ReadFile("../../cmd/cmdtest/testdata/forms/" + name)
		if err != nil {
			t.Fatal(err)
		}
		old, err := Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		up, err := old.Upgraded()
		if err != nil {
			t.Fatal(err)
		}
		nb, err := Parse(name, up)
		if err != nil || nb.NBFormat != 4 || nb.Minor != 5 {
			t.Fatal(err, nb)
		}
		var b strings.Builder
		for _, c := range nb.Cells {
			fmt.Fprintf(&b, "%s %s %q", c.Type, c.ID, c.Source)
			if c.Count.Given() {
				fmt.Fprintf(&b, " %s", c.Count.Raw)
			}
			for _, o := range c.Outputs {
				fmt.Fprintf(&b, " %s:", o.Type)
				switch o.Type {
				case "stream":
					fmt.Fprintf(&b, "%s=%q", o.Name, o.Text())
				case "error":
					fmt.Fprintf(&b, "%s %s %v", o.Ename, o.Evalue, o.Traceback)
				}
				for i, d := range o.Data {
					if i > 0 {
						b.WriteByte(' ')
					}
					if d.JSON() {
						b.WriteString(d.MIME + "=-")
					} else {
						fmt.Fprintf(&b, "%s=%q", d.MIME, d.Text())
					}
				}
			}
			b.WriteByte('\n')
		}
		b.WriteString("language " + nb.Language())
		if got := b.String(); got != want {
			t.Errorf("%s: got\n%s", name, got)
		}
		before, err := old.Runnable()
		if err != nil {
			t.Fatal(err)
		}
		after, err := nb.Runnable()
		if err != nil || len(before.Steps) != len(after.Steps) {
			t.Fatal(err, len(before.Steps), len(after.Steps))
		}
		for i, s := range before.Steps { // the upgraded file shows the steps that run
			if s.ID != after.Steps[i].ID || string(s.Code) != string(after.Steps[i].Code) ||
				s.Lang != after.Steps[i].Lang {
				t.Errorf("%s: step %d is %+v, and then %+v", name, i, s, after.Steps[i])
			}
		}
		if again, err := nb.Upgraded(); err != nil || string(again) != string(up) {
			t.Error("a new notebook is made another one")
		}
	}
}
