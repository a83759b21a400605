package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
)

func TestCellsOfTablesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"Markdown": {"| region | loss |\n|---|---:|\n| eu | 0.5 |\n| us | 0.7 |\n",
			"| region | loss |\n|---|---:|\n| eu | 0.5 |\n| us | 0.9 |\n", "row us, column loss: 0.7 → 0.9"},
		"two cells, and a bar that is text": {"| a | b | c |\n| - | - | - |\n| x\\|y | 1 | 2 |\n",
			"| a | b | c |\n| - | - | - |\n| x\\|y | 3 | 4 |\n",
			"row x|y, column b: 1 → 3; row x|y, column c: 2 → 4"},
		"the first column": {"| a | b |\n| - | - |\n| x | 1 |\n", "| a | b |\n| - | - |\n| y | 1 |\n",
			"row 1, column a: x → y"},
		"HTML": {"<table border=\"1\" class=\"dataframe\">\n<thead>\n<tr style=\"text-align: " +
			"right;\">\n<th></th>\n<th>name</th>\n<th>loss</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<th>0</th>\n" +
			"<td>eu</td>\n<td>0.5</td>\n</tr>\n<tr>\n<th>1</th>\n<td>us</td>\n" +
			"<td>0.7</td>\n</tr>\n</tbody>\n</table>\n",
			"<table border=\"1\" class=\"dataframe\">\n<thead>\n<tr style=\"text-align: " +
				"right;\">\n<th></th>\n<th>name</th>\n<th>loss</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<th>0</th>\n" +
				"<td>eu</td>\n<td>0.5</td>\n</tr>\n<tr>\n<th>1</th>\n<td>us</td>\n" +
				"<td>0.9</td>\n</tr>\n</tbody>\n</table>\n",
			"row 1, column loss: 0.7 → 0.9"},
		"no table":   {"| 1\n", "| 2\n", ""},
		"other rows": {"| a |\n|---|\n| x |\n", "| a |\n|---|\n| x |\n| y |\n", ""},
	} {
		doc := func(text string) *diff.Document {
			return &diff.Document{Cells: []diff.Cell{{ID: "one", Label: "one", Kind: diff.Code, Status: "pass",
				Outputs: []diff.Output{{Name: diff.Display, Data: []diff.Datum{{MIME: "text/html", Text: text}}}}}}}
		}
		var got []string
		for _, s := range diffview.Sections(diff.Compare(doc(c.old), doc(c.now), diff.Options{})) {
			for _, e := range s.Entries {
				for _, l := range e.Lines {
					if at, ok := strings.CutPrefix(l, "@@ "); ok && !strings.HasPrefix(at, "line ") {
						got = append(got, strings.TrimSuffix(at, " @@"))
					}
				}
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
