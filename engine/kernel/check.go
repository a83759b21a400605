package kernel

import (
	"fmt"
	"io"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

const checkUsage = `usage: check NAME ok|warn|critical|error [--value NUMBER] [--unit UNIT] [--message TEXT]

Reports what a step tagged check found. The last report of a name counts.
  --value     what was measured
  --unit      the unit of that: %, ms, GiB
  --message   what a reader should know
`

// CheckMain is the command check. Like glue it appends to the file that MARKMILL_SCRAPS names. It returns 0 whatever
// the check found, 1 when it could not be recorded, 2 when it was called wrongly.
func CheckMain(args []string, _ io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	var words []string
	var data runs.CheckData
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--help" || word == "-h" {
			fmt.Fprint(stdout, checkUsage)
			return 0
		}
		flag, value, given := strings.Cut(word, "=")
		if flag != "--value" && flag != "--unit" && flag != "--message" {
			words = append(words, word)
			continue
		}
		if !given {
			if len(args) == 0 {
				fmt.Fprintf(stderr, "check: %s needs a value\n%s", flag, checkUsage)
				return 2
			}
			value, args = args[0], args[1:]
		}
		switch flag {
		case "--value":
			if data.Value = codec.Raw(strings.TrimSpace(value)); !data.Value.IsValid() || data.Value.Kind() != '0' {
				fmt.Fprintf(stderr, "check: --value %q is no number; say it in --message\n", value)
				return 2
			}
		case "--unit":
			data.Unit = strings.ToValidUTF8(value, "\uFFFD")
		case "--message":
			data.Message = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	if len(words) != 2 {
		fmt.Fprint(stderr, checkUsage)
		return 2
	}
	data.State = runs.CheckState(words[1])
	entry, err := data.Scrap(strings.ToValidUTF8(words[0], "\uFFFD"))
	if err != nil {
		fmt.Fprintf(stderr, "check: %v\n%s", err, checkUsage)
		return 2
	}
	if err := appendScrap(getenv("MARKMILL_SCRAPS"), entry); err != nil {
		fmt.Fprintf(stderr, "check: %s: %v\n", words[0], err)
		return 1
	}
	return 0
}
