package cmdtest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"
)

// spellings are the ways in which a value is looked for. They are made without the package that masks.
func spellings(value string) map[string]string {
	quoted := func(v string, escapeHTML bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		_ = e.Encode(v) // a string has a JSON form
		return strings.TrimSuffix(b.String()[1:], "\"\n")
	}
	backslashed := func(special string) string {
		var b strings.Builder
		for _, r := range value {
			if strings.ContainsRune(special, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		return b.String()
	}
	wide := func(order func(unit uint16) []byte) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(value)) {
			b = append(b, order(unit)...)
		}
		return string(b)
	}
	var latin, nul []byte
	for _, r := range value {
		latin = append(latin, byte(r))
		nul = append(append(nul, string(r)...), 0)
	}
	digits, json := hex.EncodeToString([]byte(value)), quoted(value, false)
	ascii, marked := strings.Trim(strconv.QuoteToASCII(value), `"`), html.EscapeString(value)
	var pairs []string
	for i := 0; i < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	out := map[string]string{
		"plain": value, "JSON": json, "JSON for HTML": quoted(value, true), "JSON in JSON": quoted(json, false),
		"JSON of ASCII": ascii, "JSON with slashes": strings.ReplaceAll(json, "/", `\/`),
		"Go": strings.Trim(strconv.Quote(value), `"`), "Python": backslashed(`\'`), "JavaScript": backslashed("\\'`"),
		"shell's quotes": strings.ReplaceAll(value, `'`, `'\''`), "shell's escapes": backslashed(` '"\<>&;|()*?[]#~=%$`),
		"shell's double quotes": backslashed("\"\\$`"),
		"HTML":                  marked,
		"HTML with names":       strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(marked),
		"XML":                   strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(marked),
		"query":                 url.QueryEscape(value), "path": url.PathEscape(value),
		"query without +":  strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		"URL with slashes": strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(value), "+", "%20"), "%2F", "/"),
		"hexadecimal":      digits, "HEXADECIMAL": strings.ToUpper(digits),
		"hexadecimal with colons": strings.Join(pairs, ":"),
		"hexadecimal with spaces": strings.Join(pairs, " "), "Latin-1": string(latin), "NUL between": string(nul),
		"UTF-16LE": wide(func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }),
		"UTF-16BE": wide(func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }),
	}
	for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding,
		"base64url": base64.RawURLEncoding} {
		for shift, skip := range []int{0, 2, 3} { // what the bytes before it do not change
			text := enc.EncodeToString(append(make([]byte, shift), value...))
			out[fmt.Sprintf("%s after %d bytes", name, shift)] = text[skip : (shift+len(value))*8/6]
		}
	}
	return out
}

// hides is the command of scripts that fails if a file below one of some paths, its name or the target of a link shows
// a value in any spelling: hides VALUE PATH...
func hides(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: hides VALUE PATH...")
	}
	known, files, found := spellings(args[0]), 0, false
	look := func(what string, text []byte) {
		unwrapped := bytes.Join(bytes.Fields(text), nil)
		for spelling, needle := range known {
			if bytes.Contains(text, []byte(needle)) || bytes.Contains(unwrapped, []byte(needle)) {
				ts.Logf("%s shows the value: %s", what, spelling)
				found = true
			}
		}
	}
	for _, top := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(top), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			look("the name of "+name, []byte(d.Name()))
			switch {
			case d.Type()&fs.ModeSymlink != 0:
				target, err := os.Readlink(name)
				look("the link "+name, []byte(target))
				return err
			case !d.Type().IsRegular():
				return nil
			}
			files++
			text, err := os.ReadFile(name)
			look(name, text)
			return err
		}))
	}
	if found {
		ts.Fatalf("the value is not hidden")
	}
	if files == 0 {
		ts.Fatalf("there is no file")
	}
}

func TestSpellings(t *testing.T) {
	const value = "it's \"a\\b\" <&> t\u00f6k-en/4711=="
	known := spellings(value)
	if len(known) < 30 {
		t.Errorf("%d spellings", len(known))
	}
	for spelling, want := range map[string]string{
		"JSON":                    "it's \\\"a\\\\b\\\" <&> t\u00f6k-en/4711==",
		"JSON of ASCII":           `it's \"a\\b\" <&> t\u00f6k-en/4711==`,
		"base64 after 0 bytes":    base64.StdEncoding.EncodeToString([]byte(value))[:37],
		"hexadecimal with colons": "69:74:27:73:20",
	} {
		if !strings.HasPrefix(known[spelling], want) {
			t.Errorf("%s: %q, want %q", spelling, known[spelling], want)
		}
	}
}
