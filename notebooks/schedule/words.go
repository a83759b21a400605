package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks/lazyregexp"
)

// Words stand for a due time, in braces: {{date}}.
var Words = []string{"date", "time", "datetime", "year", "month", "day", "week", "unix"}

// word is what a word stands for, in the time zone of due. No value has a character that YAML or a path gives a
// meaning, but for the colons of datetime.
func word(name string, due time.Time) string {
	switch name {
	case "date":
		return due.Format(time.DateOnly)
	case "time":
		return due.Format("1504")
	case "datetime":
		return due.Format(time.RFC3339)
	case "year":
		return due.Format("2006")
	case "month":
		return due.Format("01")
	case "day":
		return due.Format("02")
	case "week": // ISO 8601: the week that has its Thursday in the year
		year, week := due.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	return strconv.FormatInt(due.Unix(), 10)
}

var (
	double = lazyregexp.New(`\{\{\s*([a-z_]+)\s*\}\}`)
	either = lazyregexp.New(`\{\{\s*[a-z_]+\s*\}\}|\{[a-z_]+\}`)
)

// Expand puts a due time in the place of {{date}} and its like, in the values of parameters.
func Expand(text string, due time.Time) string { return expand(double, text, due) }

// ExpandPath does so in the path of an output, where {date} is the same, as in OUTPUT of a run. What stands for
// parameters and the run is left as it is, for when these are known.
func ExpandPath(text string, due time.Time) string { return expand(either, text, due) }

func expand(braces *lazyregexp.Regexp, text string, due time.Time) string {
	return braces.ReplaceAllStringFunc(text, func(found string) string {
		if name := strings.TrimSpace(strings.Trim(found, "{}")); slices.Contains(Words, name) {
			return word(name, due)
		}
		return found
	})
}

// Unknown is the first name in double braces that stands for nothing; "" for none.
func Unknown(text string) string {
	for _, found := range double.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(Words, found[1]) {
			return found[1]
		}
	}
	return ""
}
