package help

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
)

// FlagHint adds the nearest known option to the message about an unknown one.
func FlagHint(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) { // the error of the value says where it is
		var list notebooks.ErrorList
		var one *notebooks.Error
		var u program.Usage
		if cause := value.Unwrap(); errors.As(cause, &list) || errors.As(cause, &one) || errors.As(cause, &u) {
			return cause
		}
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		option := "--" + missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" {
			option = "-" + missing.GetSpecifiedName()
		}
		kind := strings.ToUpper(missing.GetFlag().Value.Type())
		return program.Usagef("%s needs a value: %s %s; see %s --help", option, option, kind, c.CommandPath())
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" {
		other := strings.ToLower(unknown.GetSpecifiedName())
		if f := c.Flags().ShorthandLookup(other); f != nil && other != unknown.GetSpecifiedName() {
			return program.Usagef("unknown option -%s; did you mean -%s?", unknown.GetSpecifiedName(), other)
		}
		if words := instead(c, unknown.GetSpecifiedName()); words != "" {
			return program.Usagef("unknown option -%s; %s", unknown.GetSpecifiedName(), words)
		}
		return program.Usagef("unknown option -%s; see %s --help", unknown.GetSpecifiedName(), c.CommandPath())
	}
	word, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return program.Usagef("%s; see %s --help", err, c.CommandPath())
	}
	if words := instead(c, word); words != "" {
		return program.Usagef("unknown option --%s; %s", word, words)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := notebooks.Suggest(word, known); near != "" {
		return program.Usagef("unknown option --%s; did you mean --%s?", word, near)
	}
	return program.Usagef("unknown option --%s; see %s --help", word, c.CommandPath())
}
