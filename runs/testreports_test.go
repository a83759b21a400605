package runs

import (
	"reflect"
	"strings"
	"testing"
)

func TestCountJUnit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       *TestCounts
	}{
		{"as pytest writes it",
			`<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="9">` +
				`<testcase name="a"/><testcase name="b"><failure message="no">x</failure></testcase>` +
				`<testcase name="c"><skipped type="pytest.xfail"/></testcase>` +
				`<testcase name="d"><system-out>failure</system-out><error/></testcase></testsuite></testsuites>`,
			reported("junit", 1, 2, 1)},
		{"one suite in another, a test that failed and in its teardown, too",
			`<testsuite><testsuite><testcase name="a">` +
				`<failure/><error/></testcase></testsuite><testcase name="b"><properties><property name="failure"/></properties>` +
				`</testcase></testsuite>`, reported("junit", 1, 1, 0)},
		{"a second try that passed", `<testsuite><testcase><flakyFailure/></testcase></testsuite>`,
			reported("junit", 1, 0, 0)},
		{"no tests", "<testsuites/>", reported("junit", 0, 0, 0)},
		{"skipped does not hide a failure", `<testsuite><testcase><failure/><skipped/></testcase></testsuite>`,
			reported("junit", 0, 1, 0)},
		{"cut off", `<testsuite><testcase/>`, nil},
		{"another document", `<svg><testcase/></svg>`, nil},
		{"no document", "531 passed in 1.0s", nil},
		{"nothing", "", nil},
	} {
		if got := CountJUnit(strings.NewReader(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestCountGoEvents(t *testing.T) {
	event := func(action, pkg, test string) string {
		return `{"Time":"2026-01-01T00:00:00Z","Action":"` + action + `","Package":"` + pkg + `","Test":"` + test +
			`"}` + "\n"
	}
	whole := `{"Action":"start","Package":"p"}` + "\n" + event("run", "p", "TestA") + event("run", "p", "TestA/sub") +
		`{"Action":"output","Package":"p","Test":"TestA","Output":"` + strings.Repeat("x", 2*maxEvent) + `"}` + "\n" +
		"a line that something else printed\n" +
		event("pass", "p", "TestA/sub") + event("pass", "p", "TestA") +
		event("run", "q", "TestA") + event("fail", "q", "TestA") + event("run", "p", "TestB") + event("skip",
		"p", "TestB") +
		`{"Action":"fail","Package":"p"}` + "\n"
	for _, c := range []struct {
		name, text string
		want       *TestCounts
	}{
		{"two packages with tests of one name", whole, reported("go", 1, 1, 1)},
		{"died in a test", whole + event("run", "p", "TestC"), nil},
		{"from the middle", event("pass", "p", "TestA"), nil},
		{"no tests", `{"Action":"skip","Package":"p"}` + "\n", nil},
	} {
		if got := CountGoEvents(strings.NewReader(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		if !IsGoEvents([]byte("cut off\"}\n" + c.text)) {
			t.Errorf("%s: not known as go test -json", c.name)
		}
	}
	if IsGoEvents([]byte("--- PASS: TestA\n{\"a\": 1}\n")) {
		t.Error("plain text is taken for go test -json")
	}
}
