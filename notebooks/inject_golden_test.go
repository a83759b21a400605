package notebooks_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/inject"
	"markmill/notebooks/params"
)

// better says how Markmill's text differs from papermill's, and why: by the case, and by its language
// ("" is all). docs/papermill.md lists the same.
var better = []struct{ language, id, why string }{
	{"", "dict_int_key", "in Python the keys stay integers"},
	{"", "dict_bool_none_key", "papermill stops: it sorts keys of different types"},
	{"R scala julia csharp fsharp powershell", "float_nan float_inf float_ninf list_mixed",
		"nan and inf are no words of these languages"},
	{"R julia csharp", "str_latin1 str_nbsp", `\xe9 is a byte, or the beginning of a longer escape: \u00e9`},
	{"scala fsharp", "str_latin1 str_nbsp", `\u00e9 in all of .NET and the JVM`},
	{"scala julia csharp fsharp R", "str_nul str_ctrl", `\x00 may go on, or is no escape: \u0000`},
	{"scala", "str_emoji", `\U is no escape: two surrogates`},
	{"julia", "str_dollar list_strs_special", "$ begins an expression, which ran"},
	{"powershell", "dict_special_key list_strs_special str_dollar " + unescaped,
		"$ begins an expression, which ran; the backslash is no escape: `"},
	{"matlab", "dict_nested dict_special_key " + unescaped,
		"quoted text has no escapes; a list in the values of a map is one value"},
	{"scala csharp fsharp", "int_2e63 int_huge", "beyond 64 bits"},
	{"powershell", "int_2e63 int_huge", "beyond 64 bits"},
	{"R matlab", "int_huge", "its numbers are doubles: refused, not rounded"},
	{"csharp", "none list_empty list_nested list_mixed list_of_dicts dict_nested",
		"null is said; arrays whose items have no common type"},
	{"fsharp", "list_nested list_of_dicts dict_nested", "items of several types are boxed"},
	{"bash", "list_mixed list_nested dict_empty dict_simple dict_nested dict_special_key list_of_dicts str_nul",
		"null within a list was lost; what is nested is JSON; NUL is refused"},
}

// unescaped are cases that no escape can spell, because backslash is not special.
const unescaped = "str_backslash str_backslash_n_literal str_backslash_quote str_bidi str_bom str_cjk str_combining " +
	"str_crlf str_ctrl str_emoji str_latin1 str_lsep str_nbsp str_newline str_nul str_tab str_trailing_backslash " +
	"str_trailing_newline str_unicode_escape_literal"

func TestAgainstPapermill(t *testing.T) {
	raw := recorded(t)
	var file struct {
		Injection []struct {
			ID       string    `json:"id"`
			Language string    `json:"language"`
			Params   codec.Raw `json:"params"`
			Injected *string   `json:"injected"`
		} `json:"injection"`
	}
	if err := codec.UnmarshalForeign(raw, &file); err != nil {
		t.Fatal(err)
	}
	same, differ := 0, 0
	for _, c := range file.Injection {
		text := string(c.Params)
		for from, to := range map[string]string{`"nan"`: ".nan", `"inf"`: ".inf", `"-inf"`: "-.inf"} {
			text = regexp.MustCompile(`\{\s*"\$float":\s*`+regexp.QuoteMeta(from)+`\s*\}`).ReplaceAllString(text, to)
		}
		if regexp.MustCompile(`"\$(tuple|set|datetime|bytes_b64|dict_items)"`).MatchString(text) {
			continue // no value of a notebook; keys of other types have a test of their own
		}
		given, err := params.ParseGiven("-y", "", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		bound, err := params.Bind("", nil, given, params.Options{AllowUnknown: true})
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		got, err := inject.Cell(c.Language, bound, true)
		switch {
		case err == nil && c.Injected != nil && got == *c.Injected:
			same++
		case excused(c.Language, c.ID):
			differ++
		case c.Injected == nil:
			t.Errorf("%s: papermill stops, here it is %q, %v", c.ID, got, err)
		default:
			t.Errorf("%s:\n got %q %v\nwant %q", c.ID, got, err, *c.Injected)
		}
	}
	t.Logf("%d cells equal papermill's, %d differ for a reason", same, differ)
	if same < 450 {
		t.Errorf("only %d cells are papermill's", same)
	}
}

// recorded returns papermill's recorded cases.
func recorded(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/papermill/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func excused(language, id string) bool {
	id = id[strings.Index(id, "/")+1:]
	for _, b := range better {
		if (b.language == "" || contains(b.language, language)) && (b.id == "" || contains(b.id, id)) {
			return true
		}
	}
	return false
}

func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}

func str(text string) notebooks.Value {
	return notebooks.Value{Type: notebooks.TypeString, Text: text}
}

func TestWherePapermillIsWrong(t *testing.T) {
	integer := func(s string) notebooks.Value { return notebooks.Value{Type: notebooks.TypeInt, Text: s} }
	list := func(items ...notebooks.Value) notebooks.Value {
		return notebooks.Value{Type: notebooks.TypeList, List: items}
	}
	null := notebooks.Value{Type: notebooks.TypeNull}
	nan := notebooks.Value{Type: notebooks.TypeFloat}
	nan.Float = nan.Float / nan.Float
	keys := notebooks.Value{Type: notebooks.TypeMap, Entries: []notebooks.Entry{{Key: integer("1"), Value: str("a")},
		{Key: null, Value: str("b")}}}
	for _, c := range []struct {
		language string
		value    notebooks.Value
		want     string
	}{
		{"python", keys, `x = {1: "a", None: "b"}`},
		{"python", notebooks.Value{Type: notebooks.TypeBytes, Text: "a\"\xff"}, `x = b"a\"\xff"`},
		{"python", notebooks.Value{Type: notebooks.TypeDate, Text: "2024-01-02T03:04:05Z"},
			`x = __import__("datetime").datetime.fromisoformat("2024-01-02T03:04:05+00:00")`},
		{"R", nan, `x = NaN`},
		{"R", str("caf\u00e9"), `x = "caf\u00e9"`},
		{"R", str("a\x00"), ""},
		{"R", integer("9007199254740993"), ""},
		{"R", integer("9007199254740992"), "x = 9007199254740992"},
		{"julia", str("$(run(`id`))"), "x = \"\\$(run(`id`))\""},
		{"scala", str("\U0001f60d"), `val x = "\ud83d\ude0d"`},
		{"scala", integer("9223372036854775808"), `val x = BigInt("9223372036854775808")`},
		{"csharp", str("\u00e9b"), `var x = "\u00e9b";`},
		{"csharp", list(integer("1"), str("a")), `var x = new object[] { 1, "a" };`},
		{"csharp", null, `var x = (object)null;`},
		{"fsharp", list(integer("1"), null), `let x = [ box (1); box (None) ]`},
		{"powershell", str("$(rm x) ` \" \n"), "$x = \"`$(rm x) `` `\" `n\""},
		{"powershell", str("curly \u201d; rm x"), "$x = \"curly `\u201d; rm x\""},
		{"matlab", str("a\n\"b\\"), `x = "a" + newline + """b\";`},
		{"matlab", str("\t"), `x = "" + char(9);`},
		{"bash", list(list(integer("1")), null), `x=('[1]' '')`},
		{"bash", str("a\x00b"), ""},
	} {
		got, err := inject.Cell(c.language, []notebooks.Bound{{Param: notebooks.Param{Name: "x"}, Value: c.value}},
			true)
		_, got, _ = strings.Cut(got, "\n")
		if got = strings.TrimSuffix(got, "\n"); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: got %s, %v; want %s", c.language, got, err, c.want)
		}
	}
}

func TestInvalidNames(t *testing.T) {
	for language, names := range map[string][]string{
		"python": {"my-name", "1a", "a.b", "class", "", "x = 1; import os; y", "a\nb"},
		"bash":   {"PATH", "a.b", "x;ls", "é"},
		"R":      {"1a", ".1", "a b", "a`b", "_", "...", "..1", "x=1;y"}, "scala": {"a.b", "_", "a`"},
		"julia":      {"a.b", "while", "a!=b", "é x"},
		"powershell": {"null", "Home", "a-b", "a}b"}, "matlab": {"größe", "_a", "end"}, "csharp": {"@x", "a b"},
		"fsharp": {"a``b", "_"}, "cobol": {"x"},
	} {
		for _, name := range names {
			var list notebooks.ErrorList
			var one *notebooks.Error
			if got, err := inject.Cell(language, []notebooks.Bound{{Param: notebooks.Param{Name: name},
				Value: str("v")}},
				true); !errors.As(err, &list) && !errors.As(err, &one) {
				t.Errorf("%s took %q: %s", language, name, got)
			}
		}
	}
}

// Letters beyond ASCII, words of the language, and marks, as the languages' references have their names.
func TestNames(t *testing.T) {
	for language, names := range map[string]map[string]string{
		"python": {"größe": "größe = 1", "e\u0301": "e\u0301 = 1", "変数": "変数 = 1"},
		"R": {"größe": "größe = 1", "if": "`if` = 1", "e\u0301": "`e\u0301` = 1", "my.param": "my.param = 1",
			".hidden": ".hidden = 1", "_x": "x = 1", "変数": "変数 = 1"},
		"julia":      {"größe": "größe = 1", "x²": "x² = 1", "done!": "done! = 1", "e\u0301": "e\u0301 = 1"},
		"scala":      {"größe": "val größe = 1", "type": "val `type` = 1"},
		"csharp":     {"größe": "var größe = 1;", "class": "var @class = 1;"},
		"fsharp":     {"größe": "let größe = 1", "type": "let ``type`` = 1"},
		"powershell": {"größe": "$größe = 1", "e\u0301": "${e\u0301} = 1"},
		"matlab":     {"a_1": "a_1 = 1;"},
		"bash":       {"_a1": "_a1=1", "path": "path=1"},
	} {
		for name, want := range names {
			got, err := inject.Cell(language, []notebooks.Bound{{Param: notebooks.Param{Name: name},
				Value: notebooks.Value{Type: notebooks.TypeInt, Text: "1"}}}, true)
			if _, got, _ = strings.Cut(got, "\n"); err != nil || got != want+"\n" {
				t.Errorf("%s %q: got %q, %v; want %q", language, name, got, err, want)
			}
			if !inject.IsName(language, name) {
				t.Errorf("%s: %q is no name", language, name)
			}
		}
	}
}

// refusedNames are names that papermill writes unchanged, which gives invalid or different code. "" stands for all
// languages.
var refusedNames = map[string]string{
	"":       "name_with_dash name_with_space name_digit_first name_empty name_code_injection name_newline",
	"python": "name_with_dot name_keyword",
	"bash":   "name_with_dot name_unicode",
}

// TestNamesAgainstPapermill checks the recorded names in order: valid names are written, others rejected.
func TestNamesAgainstPapermill(t *testing.T) {
	var file struct {
		Names []struct {
			ID       string         `json:"id"`
			Language string         `json:"language"`
			Items    [][2]codec.Raw `json:"params_items"`
			Injected *string        `json:"injected"`
		} `json:"injection_names"`
	}
	if err := codec.UnmarshalForeign(recorded(t), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Names) < 36 {
		t.Fatalf("only %d names", len(file.Names))
	}
	for _, c := range file.Names {
		var bound []notebooks.Bound
		for _, item := range c.Items {
			var name string
			if err := codec.UnmarshalForeign(item[0], &name); err != nil {
				t.Fatal(err)
			}
			v, err := notebooks.ParseWire(item[1])
			if err != nil {
				t.Fatal(err)
			}
			bound = append(bound, notebooks.Bound{Param: notebooks.Param{Name: name}, Value: v, Given: true})
		}
		got, err := inject.Cell(c.Language, bound, true)
		id := c.ID[strings.Index(c.ID, "/")+1:]
		switch {
		case c.Injected == nil: // of no values papermill makes no cell; the callers do not ask for one
		case contains(refusedNames[""], id) || contains(refusedNames[c.Language], id):
			if err == nil {
				t.Errorf("%s: it is no name, and is written: %q", c.ID, got)
			}
		case err != nil || got != *c.Injected:
			t.Errorf("%s:\n got %q %v\nwant %q", c.ID, got, err, *c.Injected)
		}
	}
}

func TestSecretsAreWrittenOnlyWhenAsked(t *testing.T) {
	secret := []notebooks.Bound{{Param: notebooks.Param{Name: "x"},
		Value: notebooks.Value{Type: notebooks.TypeSecret, Text: "hunter2"}}}
	for reveal, want := range map[bool]string{true: "# Parameters\nx = \"hunter2\"\n",
		false: "# Parameters\nx = \"***\"\n"} {
		if got, err := inject.Cell("python", secret, reveal); got != want || err != nil {
			t.Errorf("%v: %q %v", reveal, got, err)
		}
	}
}
