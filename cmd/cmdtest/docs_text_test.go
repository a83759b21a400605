package cmdtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// document is the text of a document, or of one section of it.
type document string

func readDoc(t *testing.T, name string) document {
	t.Helper()
	b, err := os.ReadFile(docs + name)
	if err != nil {
		t.Fatal(err)
	}
	return document(b)
}

// section is what stands below a heading, up to the next of its level.
func (d document) section(t *testing.T, heading string) document {
	t.Helper()
	var out []string
	level := 0
	fenced := ""
	for _, line := range strings.Split(string(d), "\n") {
		if mark := fenceMark.FindString(line); mark != "" {
			if fenced == "" {
				fenced = mark
			} else if strings.HasPrefix(mark, fenced) {
				fenced = ""
			}
		}
		title := strings.TrimLeft(line, "#")
		if depth := len(line) - len(title); depth > 0 && fenced == "" {
			if level > 0 && depth <= level {
				return document(strings.Join(out, "\n"))
			}
			if level == 0 && strings.Trim(title, " `") == heading {
				level = depth
			}
		}
		if level > 0 {
			out = append(out, line)
		}
	}
	if level == 0 {
		t.Fatalf("there is no section %q", heading)
	}
	return document(strings.Join(out, "\n"))
}

var fenceMark = regexp.MustCompile("^`{3,}")

// hasRow says that a row of a table begins with the name.
func (d document) hasRow(name string) bool {
	row := regexp.MustCompile("(?m)^\\| (`[^`|]+`, )*`" + regexp.QuoteMeta(name) + "`[ ,]")
	return row.MatchString(string(d))
}

// mentions says that the name stands in a code span or a fence, as a word of its own.
func (d document) mentions(name string) bool {
	code := strings.Join(codePart.FindAllString(string(d), -1), "\n")
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(code)
}

var codePart = regexp.MustCompile("(?s)```+.*?```+|`[^`\n]+`")

// fence is the code of the only block of a language in the section.
func (d document) fence(t *testing.T, lang string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```"+lang+"\n(.*?\n)```\n").FindAllStringSubmatch(string(d)+"\n", -1)
	if len(found) != 1 {
		t.Fatalf("the section has %d fences of %s", len(found), lang)
	}
	return found[0][1]
}
