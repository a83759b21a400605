package judging

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefinitions: what each reader finds, as name, lines and marks (t a test, i implicit, a around).
func TestDefinitions(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a.py": {`import a.b as c
from d import (e,
    f as g)
LIMIT = [
    1,
]

@mark.parametrize("n", [
    1,
])
@other
async def test_a(
    n,
):
    """x
not the end
"""
    def inner(): pass

class TestC(Base):
    flag = True
    def setUp(self): pass

    def test_m(self):
        pass
@fixture(autouse=True)
def auto(): pass
`, "c 1-1, e 2-3, g 2-3, LIMIT 4-6, test_a 8-18 t, TestC 20-25 a, TestC::setUp 22-22 i, TestC::test_m 24-25 t, " +
			"auto 26-27 i"},
		"a_test.go": {`package a

const one, two = 1, 2

type T struct{}

func (t *T) Do() {}

func TestA(t *testing.T) {
	x := "}"
}
`, "one 3-3, two 3-3, T 5-5, T::Do 7-7, TestA 9-11 t"},
		"a.test.ts": {`import {x} from './x'
const limit = 3
describe('suite', () => {
  beforeEach(() => { x() })
  it.skip('opens "an" end', async () => {
    expect(x('}')).toBe(1) // }
  })
  test.each([['a', 1]])('each', (a) => {})
})
export function helper() { return {} }
`, "x 1-1, x 1-1, limit 2-2, suite 3-9 a, beforeEach 4-4 i, opens \"an\" end 5-7 t, " +
			"each 8-8 t, helper 10-10"},
		"a.rs":   {"#[test]\n#[ignore]\nfn opens() {\n    let a = '{';\n}\n", "opens 1-5 t, a 4-4"},
		"A.java": {"class A {\n  @Test\n  void opens() throws X {\n  }\n}\n", "A 1-5 a, opens 2-4 t"},
		"a_spec.rb": {"describe 'R' do\n  before { x }\n  it 'opens' do\n    y\n  end\nend\n",
			"R 1-6 a, x 2-2 i, opens 3-5 t"},
		"a.txt": {"def a(): pass\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var list []string
			for _, d := range definitions(name, []byte(test.text)) {
				marks := ""
				for mark, on := range map[string]bool{"t": d.test, "i": d.implicit, "a": d.around} {
					if on {
						marks += " " + mark
					}
				}
				list = append(list, fmt.Sprintf("%s %d-%d%s", d.name, d.from, d.to, marks))
			}
			if got := strings.Join(list, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWeaker(t *testing.T) {
	for _, test := range []struct{ was, is, want string }{
		{"assert a\nassert b\n", "assert a\n", "asserts 2 → 1"},
		{"assert a == approx(b, rel=0.01)", "assert a == approx(b, rel=1)", "tolerance 0.01 → 1"},
		{"assertAlmostEqual(a, b, places=7)", "assertAlmostEqual(a, b, places=1)", "tolerance 7 → 1"},
		{"x = [\n  (1, 2),\n  (3, 4),\n]", "x = [\n  (1, 2),\n]", "cases 2 → 1"},
		{"with pytest.raises(E):\n  f()", "f()", "asserts 1 → 0, expected errors 1 → 0"},
		{"f()", "try:\n  f()\nexcept Exception:\n  pass", "exception ignored"},
		{"assert a", "assert a\nassert b", ""},
		{"assert approx(1, rel=1)", "assert approx(1, rel=0.1)", ""},
	} {
		if got := weaker(test.was, test.is); got != test.want {
			t.Errorf("%q → %q: %q, want %q", test.was, test.is, got, test.want)
		}
	}
}

func TestSkipped(t *testing.T) {
	for text, want := range map[string]int{"@pytest.mark.skip\n": 1, "@unittest.skipIf(x, y)\n": 1, "@mark.xfail\n": 1,
		"self.skipTest('x')": 1, "t.Skip()": 1, "t.Skipf(x)": 1, "it.only('x')": 1, "xit('x')": 1, "test.todo('x')": 1,
		"{skip: true}": 1, "#[ignore]": 1, "@Disabled\n": 1, "  pending 'x'": 1, "this.skip()": 1,
		"f(skip_blank=True)": 0, "errors='ignore'": 0, "# TODO": 0, "only_once()": 0, "exit('x')": 0,
		"a.skip_to(3)": 0} {
		if got := skipped(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestReplaceFunction: in Go one function is taken as the branch has it, and the others stay.
func TestReplaceFunction(t *testing.T) {
	base := []byte("package a\n\nfunc TestOld(t *T) {\n\tGone()\n}\n\nfunc TestKeep(t *T) { keep() }\n")
	branch := []byte("package a\n\nfunc TestOld(t *T) {\n\tNew()\n}\n\nfunc TestKeep(t *T) { weak() }\n")
	got, ok := replaceFunction(base, branch, 4, goDefinitions(branch))
	if want := strings.Replace(string(base), "Gone", "New", 1); !ok || string(got) != want {
		t.Errorf("%t\n%s", ok, got)
	}
	got, ok = replaceFunction(base, branch, 4, nil) // the branch removed it
	if !ok || strings.Contains(string(got), "Gone") || !strings.Contains(string(got), "keep()") {
		t.Errorf("%t\n%s", ok, got)
	}
	if _, ok := replaceFunction(base, branch, 1, nil); ok {
		t.Error("no function is at the first line")
	}
}
