package documents

import (
	"strings"
	"testing"
)

// TestReadException finds the exception at the end of standard error, whoever printed it.
func TestReadException(t *testing.T) {
	const python = "Traceback (most recent call last):\n  File \"a.md\", line 3, in <module>\n    f()\n"
	const rule = "---------------------------------------------------------------------------\n"
	const ipython = "KeyError                                  Traceback (most recent call last)\nCell In[1], line 2 " +
		"(a.md:4)\n----> 2 f()\n\n"
	const first = rule + "ZeroDivisionError                         Traceback (most recent call last)\nCell In[1], " +
		"line 1\n----> 1 1/0\n\nZeroDivisionError: division by zero\n\n"
	const during = "During handling of the above exception, another exception occurred:\n\n"
	for _, c := range []struct{ text, name, before, as, value string }{
		{text: "warning\n"},
		{text: "warning\nValueError: not raised\n", name: "ValueError"},
		{text: python + "ValueError: 3\n", as: "ValueError", value: "3"},
		{text: "warn\n" + python + "mod.Error\n", before: "warn\n", as: "mod.Error"},
		{text: python + "ValueError: a\nb\n\nc\n", as: "ValueError", value: "a\nb\n\nc"},
		{text: python + "OSError: logged\nmore\n" + python + "ValueError: 3\n",
			before: python + "OSError: logged\nmore\n",
			as:     "ValueError", value: "3"},
		{text: python + "OSError: x\n\n" + during + python + "ValueError: 3\n", as: "ValueError", value: "3"},
		{text: "warn\n" + rule + ipython + "KeyError: 'k'\n", before: "warn\n", as: "KeyError", value: "'k'"},
		{text: first + during + ipython + "KeyError: 'k'\n", as: "KeyError", value: "'k'"},
		{text: "before\nTypeError: boom\n    at g (n.md:2:22)\n    at n.md:6:1\n",
			name: "TypeError", before: "before\n",
			as: "TypeError", value: "boom"},
		{text: "before\nTypeError: boom\n    at g (n.md:2:22)\n"},
		{text: python},
	} {
		before, got := readException(c.text, c.name)
		if got == nil {
			if c.as != "" || before != c.text {
				t.Errorf("%q: nothing found, want %s; before it %q", c.text, c.as, before)
			}
			continue
		}
		if before != c.before || got.name != c.as || got.value != c.value {
			t.Errorf("%q: %q, then %s: %q", c.text, before, got.name, got.value)
		}
		if whole := before + strings.Join(got.traceback, "\n") + "\n"; whole != c.text {
			t.Errorf("%q is reported as %q", c.text, whole)
		}
	}
}
