package notebooks_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff/nbdime"
	"markmill/notebooks/ipynb"
)

func book(t *testing.T, cells ...string) *ipynb.Notebook {
	t.Helper()
	nb, err := ipynb.Parse("x.ipynb", []byte(`{"cells":[`+strings.Join(cells,
		",")+`],"metadata":{},"nbformat":4,"nbformat_minor":4}`))
	if err != nil {
		t.Fatal(err)
	}
	return nb
}

func code(source string, outputs ...string) string {
	text, err := codec.Marshal(source)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[%s],"source":%s}`,
		strings.Join(outputs, ","), text)
}

// TestDiff holds the entries as nbdime's schema has them. That nbdime's own patch makes the other notebook of them, a
// test of cmd/cmdtest sees to.
func TestDiff(t *testing.T) {
	print := func(text string) string { return `{"output_type":"stream","name":"stdout","text":` + text + `}` }
	for name, c := range map[string]struct {
		a, b *ipynb.Notebook
		want string
	}{
		"the same": {book(t, code("x")), book(t, code("x")), `[]`},
		"a list of lines is a text": {book(t, code("x\ny")), book(t,
			strings.Replace(code("x\ny"), `"x\ny"`, `["x\n","y"]`, 1)), `[]`},
		"lines of a cell": {book(t, code("x = 1\ny = 2\nz")), book(t, code("x = 1\ny = 3\nz")),
			`[{"diff":[{"diff":[{"diff":[{"key":1,"op":"addrange","valuelist":["y = 3\n"]},{"key":1,"length":1,` +
				`"op":"removerange"}],"key":"source","op":"patch"}],"key":0,"op":"patch"}],` +
				`"key":"cells","op":"patch"}]`},
		"a cell comes": {book(t, code("x")), book(t, code("new = True"), code("x")),
			`[{"diff":[{"key":0,"op":"addrange","valuelist":[` + code("new = True") +
				`]}],"key":"cells","op":"patch"}]`},
		"a cell goes": {book(t, code("x"), code("y")), book(t, code("y")),
			`[{"diff":[{"key":0,"length":1,"op":"removerange"}],"key":"cells","op":"patch"}]`},
		"a stream": {book(t, code("x", print(`"a\nb\n"`))), book(t, code("x", print(`["a\n","c\n"]`))),
			`[{"diff":[{"diff":[{"diff":[{"diff":[{"diff":[{"key":1,"op":"addrange","valuelist":["c\n"]},{"key":1,` +
				`"length":1,"op":"removerange"}],` +
				`"key":"text","op":"patch"}],"key":0,"op":"patch"}],"key":"outputs","op":"patch"}],"key":0,` +
				`"op":"patch"}],"key":"cells","op":"patch"}]`},
		"null is a value": {book(t, code("x")),
			book(t, strings.Replace(code("x"), `"metadata":{}`, `"metadata":{"a":null}`,
				1)),
			`[{"diff":[{"diff":[{"diff":[{"key":"a","op":"add","value":null}],"key":"metadata","op":"patch"}],` +
				`"key":0,"op":"patch"}],"key":"cells","op":"patch"}]`},
		"what is transient is not read": {book(t, code("x")), book(t,
			strings.Replace(code("x"), `"metadata":{}`, `"metadata":{"trusted":true}`, 1)), `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := nbdime.Diff(c.a, c.b)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = codec.Marshal(codec.Raw(got)); err != nil || string(got) != c.want {
				t.Errorf("got  %s\nwant %s (%v)", got, c.want, err)
			}
		})
	}
	old, err := ipynb.Parse("old.ipynb",
		[]byte(`{"nbformat":3,"nbformat_minor":0,"metadata":{},"worksheets":[{"cells":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var problem *notebooks.Error
	if _, err := nbdime.Diff(old, old); !errors.As(err, &problem) || problem.File != "old.ipynb" {
		t.Errorf("nbformat 3: %v", err)
	}
}

// TestPythonLines cuts where str.splitlines does.
func TestPythonLines(t *testing.T) {
	got := ipynb.PythonLines("a\nb\r\nc\rd\ve\ff\x1cg\x1dh\x1ei\u0085j\u2028k\u2029l")
	want := []string{"a\n", "b\r\n", "c\r", "d\v", "e\f", "f\x1c", "g\x1d", "h\x1e",
		"i\u0085", "j\u2028", "k\u2029", "l"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if ipynb.PythonLines("") != nil || len(ipynb.PythonLines("a\n")) != 1 {
		t.Error("the end of a text makes a line")
	}
}
