package kernel

import "testing"

func TestNeedsIPython(t *testing.T) {
	for _, c := range []struct {
		code string
		line int
	}{
		{"x = 1\nprint(x)", 0},
		{"%time x = 1", 1},
		{"%%bash\nls", 1},
		{"\n  %matplotlib inline", 2},
		{"!ls", 1},
		{"files = !ls *.csv", 1},
		{"t = %timeit -o f()", 1},
		{"a, b = !git status", 1},
		{"print?", 1},
		{"?print", 1},
		{"np.array??", 1},
		{"from IPython.display import HTML", 1},
		{"get_ipython().run_line_magic('time', '')", 1},
		{"import ipywidgets as w", 1},
		{"x = 10 \\\n  % 3", 0},
		{"x = (10\n% 3)", 0},
		{"s = '''\n%time\n!ls\n'''", 0},
		{"s = \"\"\"a\n%b\"\"\"\n%time", 3},
		{"# %time\nx = 'a' # '''\ny = 2", 0},
		{"a = b % c\nd != e", 0},
		{"x = 'it''s'\n!ls", 2},
		{"s = '\\''\n%time", 2},
		{"f = {\n  'a': 1,\n}\n%time", 4},
		{"x = y if z else w  # really?", 0},
		{"import IPythonish", 0},
		{"", 0},
	} {
		if line, text := NeedsIPython([]byte(c.code)); line != c.line {
			t.Errorf("%q: line %d (%q), want %d", c.code, line, text, c.line)
		}
	}
}
