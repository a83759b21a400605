package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseConfig(t *testing.T) {
	cfg, err := ParseConfig("markmill.yaml",
		[]byte("kernels:\n  lua: {command: [lua, \"{file}\"], languages: [lua]}\n"+
			"  python: {program: python3.12}\noutput: \"{{name}}.out.md\"\nretention: {runs: 3}\n"))
	if err != nil || cfg.Kernels["lua"].Command[0] != "lua" || cfg.Kernels["python"].Program != "python3.12" ||
		cfg.Retention.Runs != 3 {
		t.Fatalf("%+v, %v", cfg, err)
	}
	if _, err := ParseConfig("markmill.yaml", nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	for text, want := range map[string]string{
		"kernel:\n  lua: {}\n":                        `markmill.yaml:1:1: unknown key "kernel"`,
		"kernels:\n  lua:\n    comand: [lua]\n":       `markmill.yaml:3:5: unknown key "comand"`,
		"kernels:\n  x: {program: a, command: [b]}\n": "both program and command",
		"retention: {runs: many}\n":                   "markmill.yaml",
		"retention: {data: -1}\n":                     "retention: a number is negative",
		"output: [\n":                                 "markmill.yaml",
		"output: a\noutput: b\n":                      "markmill.yaml",
	} {
		if _, err := ParseConfig("markmill.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestConfigKeysAreThoseOfTheType(t *testing.T) {
	for i := range reflect.TypeFor[Config]().NumField() {
		field := reflect.TypeFor[Config]().Field(i)
		key := field.Tag.Get("yaml")
		if key != "" && key != "-" && !slices.Contains(configKeys[""], key) {
			t.Errorf("%s: the key %q of markmill.yaml is not known", field.Name, key)
		}
	}
}
