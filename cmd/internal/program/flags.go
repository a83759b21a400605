package program

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/render"
	"markmill/render/sheet"
)

// RepoFlag adds --repo, for commands that work on the repository around the working directory.
func (w *World) RepoFlag(f *pflag.FlagSet) {
	f.StringVar(&w.Repo, "repo", "", "`FOLDER` of the Git repository (default: the one around the working directory)")
}

// ReasonFlag adds --reason, which CheckReason demands.
func ReasonFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "reason", "", "`TEXT`: the reason, for the record and those who read it")
}

// CheckReason returns an error for an action without a reason, or with one longer than 2,000 bytes.
func CheckReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return Usagef("--reason is needed: others read it")
	case len(reason) > 2000:
		return Usagef("--reason has %d bytes; give at most 2000", len(reason))
	}
	return nil
}

// ParamFlags are papermill's options for parameters. stdin is set if one of them reads standard input.
func (a *App) ParamFlags(f *pflag.FlagSet, given *[]params.Given, stdin *bool) {
	ParameterFlag(f, given)
	f.VarP(givenFlag{given, "NAME=VALUE", pair("-r", true)}, "parameters-raw", "r",
		"a parameter, always a string; also -r NAME VALUE")
	f.VarP(givenFlag{given, "FILE", func(path string) ([]params.Given, error) {
		*stdin = *stdin || path == "-"
		return a.fileParams(path)
	}}, "parameters-file", "f", "parameters from a YAML or JSON file (- is standard input)")
	f.VarP(givenFlag{given, "YAML", func(v string) ([]params.Given, error) {
		return params.ParseGiven("-y", "-y",
			[]byte(v))
	}},
		"parameters-yaml", "y", "parameters from YAML text")
	f.VarP(givenFlag{given, "BASE64", base64Params}, "parameters-base64", "b", "parameters from base64 of YAML text")
}

// ParameterFlag is -p.
func ParameterFlag(f *pflag.FlagSet, given *[]params.Given) {
	f.VarP(givenFlag{given, "NAME=VALUE", pair("-p", false)}, "parameters", "p",
		"a parameter, read by its declared type; also -p NAME VALUE")
}

// Limit parses a time limit: a number of seconds, or a duration.
func Limit(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil { // a number of seconds, perhaps; 10m is no 10ms
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d <= 0 {
		return 0, Usagef("%s %s is no time limit; give seconds, or 90s, 10m, 1h", flag, text)
	}
	return d, nil
}

// LimitNS is limit in nanoseconds.
func LimitNS(flag, text string) (int64, error) {
	d, err := Limit(flag, text)
	return int64(d), err
}

func WordOr(words []string, fallback string) string {
	if len(words) == 0 {
		return fallback
	}
	return words[0]
}

// TimeOption reads a time or an age.
func TimeOption(option, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit := units[text[len(text)-1]]
	if n, err := strconv.ParseUint(text[:len(text)-1], 10, 32); err == nil && unit > 0 &&
		time.Duration(n) < (100*365*24*time.Hour)/unit {
		return now.Add(-time.Duration(n) * unit), nil
	}
	return time.Time{}, Usagef(
		"%s %s: give a date (2026-01-31), a time (2026-01-31T12:00:00Z), or an age: 30m, 12h, 7d, 2w", option, text)
}

// Grid is a table for a terminal.
type Grid struct{ sheet.Sheet }

func NewGrid(columns ...string) *Grid { return &Grid{sheet.Sheet{Columns: columns}} }

// Add adds a row of texts and numbers.
func (l *Grid) Add(cells ...any) {
	row := make([]codec.Raw, len(cells))
	for i, cell := range cells {
		text, err := codec.Marshal(cell)
		if err != nil {
			text = []byte(`"?"`) // a name that is not UTF-8
		}
		row[i] = text
	}
	l.Rows = append(l.Rows, row)
}

func Took(seconds float64) string {
	return render.Duration(time.Duration(seconds * float64(time.Second)))
}
