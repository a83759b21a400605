//go:build unix

package kernel

import (
	"strings"
	"testing"

	"markmill/notebooks"
)

func startNode(t *testing.T, change ...func(*Options)) *harness {
	k, _ := Lookup("node")
	return start(t, k, change...)
}

func TestNodeShowsTheLastValue(t *testing.T) {
	h := startNode(t)
	for _, c := range [][2]string{
		{"1 + 1", "2\n"}, {"const a = 5", ""}, {"a", "5\n"}, {"'s'", "'s'\n"}, {"undefined", ""},
		{"const a = 6; a", "6\n"}, {"await Promise.resolve(7)", "7\n"},
		{"let b = await 8; b", "8\n"}, {"b", "8\n"}, {"(async () => 9)()", "9\n"},
		{"10n ** 20n", "100000000000000000000n\n"}, {"-0", "-0\n"}, {"null", "null\n"},
		{"class K {}; new K()", "K {}\n"}, {"console.log('import(x)') // import(y)", "import(x)\n"},
		{"(await import('node:path')).sep", "'/'\n"},
		{"require('path').sep", "'/'\n"}, {"typeof __filename", "'undefined'\n"}, {"process.argv.length", "1\n"},
		{"setTimeout(() => console.log('late'), 5); console.log('first')", "first\nlate\n"},
	} {
		if got := h.run(c[0]); got.Exit != 0 || got.stdout != c[1] {
			t.Errorf("%q: %+v, want %q", c[0], got, c[1])
		}
	}
}

func TestNodeErrors(t *testing.T) {
	h := startNode(t)
	for code, want := range map[string]string{
		"\nfunction f() { null.x }\nf()": "TypeError: Cannot read properties of null (reading 'x')\n    at f " +
			"(task.md:11:21)\n    at task.md:12:1\n",
		"\nlet a = ;": "task.md:11\nlet a = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n",
		"setTimeout(() => { throw new RangeError('late') }, 1)": "RangeError: late\n    at Timeout._onTimeout " +
			"(task.md:10:26)\n",
		"throw 5": "Uncaught 5\n",
	} {
		got := h.run(code)
		if got.Exit != 1 || got.stderr != want || got.Err == nil || got.Died {
			t.Errorf("%q: %+v", code, got)
		}
	}
	if got := h.run("Promise.reject(new Error('rejected')); undefined"); got.Exit != 1 ||
		!strings.HasPrefix(got.stderr, "Error: rejected\n    at task.md:10") {
		t.Errorf("%+v", got)
	}
	for code, exit := range map[string]int{"process.exit(4)": 4, "process.exit()": 0,
		"process.exitCode = 5; undefined": 5, "setTimeout(() => process.exit(6), 1); undefined": 6, "1": 0} {
		if got := h.run(code); got.Exit != exit {
			t.Errorf("%q: %+v", code, got)
		}
	}
}

// A server stays from step to step and does not keep its own step from ending.
func TestNodeServerLivesOn(t *testing.T) {
	h := startNode(t)
	h.ok(
		"const server = require('http').createServer((q, r) => r.end('served')).listen(0, '127.0.0.1'); await "+
			"require('events').once(server, 'listening'); undefined", "")
	h.ok("const url = 'http://127.0.0.1:' + server.address().port; undefined", "")
	h.ok("await (await fetch(url)).text()", "'served'\n")
}

func TestNodeParametersAndScraps(t *testing.T) {
	str := func(s string) notebooks.Value { return notebooks.Value{Type: notebooks.TypeString, Text: s} }
	h := startNode(t, func(o *Options) {
		o.Params = []notebooks.Bound{
			bound("big", notebooks.Value{Type: notebooks.TypeInt, Text: "1000000000000000000000"}),
			bound("nan", notebooks.Value{Type: notebooks.TypeFloat, Float: notANumber()}),
			bound("map", notebooks.Value{Type: notebooks.TypeMap,
				Entries: []notebooks.Entry{{Key: str("__proto__"), Value: str("own")},
					{Key: str("$int"), Value: str("5")}}}),
			bound("keys", notebooks.Value{Type: notebooks.TypeMap,
				Entries: []notebooks.Entry{{Key: notebooks.Value{Type: notebooks.TypeInt, Text: "1"},
					Value: str("a")}}}),
			bound("list", notebooks.Value{Type: notebooks.TypeList,
				List: []notebooks.Value{str("a"), {Type: notebooks.TypeNull}, {Type: notebooks.TypeBool, Bool: true}}}),
		}
	})
	h.ok("[big, nan, Object.keys(map), map.$int, keys.get(1), list]",
		"[\n  1000000000000000000000n,\n  NaN,\n  [ '__proto__', '$int' ],\n  '5',\n  'a',\n  [ 'a', null, true ]\n]\n")
	h.ok(
		"glue('all', { n: 1.5, big: 10n ** 30n, nan: NaN, list: [1, 'a', null], when: new Date(0) }); glue('t', "+
			"'007'); undefined", "")
	h.ok(
		"[scraps.all.n, scraps.all.big, scraps.all.nan, scraps.all.list, scraps.all.when, scrap('t'), "+
			"Object.keys(scraps)]",
		"[\n  1.5,\n  1000000000000000000000000000000n,\n  NaN,\n  [ 1, 'a', null ],\n  "+
			"'1970-01-01T00:00:00.000Z',\n  '007',\n  [ 'all', 't' ]\n]\n")
	if got := h.run("glue('f', () => 1)"); got.Exit != 1 || !strings.Contains(got.stderr, "not JSON") {
		t.Errorf("%+v", got)
	}
	if got := h.run("scrap('none')"); got.Exit != 1 || !strings.Contains(got.stderr, "known: all, t") {
		t.Errorf("%+v", got)
	}
	python := startPython(t, func(o *Options) { o.Scraps = h.scraps })
	python.ok("scraps['all']['big'], scraps['all']['nan'], scraps['all']['list']",
		"(1000000000000000000000000000000, nan, [1, 'a', None])\n")
	for _, name := range []string{"class", "await", "process", "require", "__proto__", "a b", "1x", ""} {
		k, _ := Lookup("node")
		if err := k.ValidateParam(bound(name, str(""))); err == nil {
			t.Errorf("%q is held", name)
		}
	}
}
