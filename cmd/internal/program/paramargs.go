package program

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/remote"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/render/plain"
)

// ParamArgs joins papermill's two-argument options (-p NAME VALUE) into one argument each, so that
// the flag package can read them. The value is taken as it is, also when it begins with a dash.
func (h *ParamHints) ParamArgs(args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...), nil
		}
		name, short, pair, attached := ParamOption(arg)
		if name == "" {
			out = append(out, arg)
			continue
		}
		if !attached {
			if i+1 >= len(args) {
				return nil, Usagef("%s needs a parameter: %s NAME=VALUE or %s NAME VALUE", arg, short, short)
			}
			i++
			pair = args[i]
		}
		if !strings.Contains(pair, "=") {
			if i+1 >= len(args) {
				return nil, Usagef("%s %s has no value: write %s %s=VALUE", short, pair, short, pair)
			}
			i++
			h.joined = append(h.joined, [2]string{short + " " + pair, args[i]})
			pair += "=" + args[i]
		} else if i+1 < len(args) {
			h.before = append(h.before, [2]string{short + " " + pair, args[i+1]})
		}
		out = append(out, name+"="+pair)
	}
	return out, nil
}

// ParamOption says which of the two options an argument is, and what part of the parameter it contains.
func ParamOption(arg string) (name, short, pair string, attached bool) {
	for _, o := range []struct{ short, name, other string }{
		{"-p", "--parameters", ""}, {"-r", "--parameters-raw", "--parameters_raw"},
	} {
		switch long, pair, has := strings.Cut(arg, "="); {
		case long == o.name || long == o.other && long != "":
			return o.name, o.short, pair, has
		case strings.HasPrefix(arg, o.short):
			return o.name, o.short, arg[len(o.short):], arg != o.short
		}
	}
	return "", "", "", false
}

// ParamHint adds the likely cause to the message about a wrong number of paths: a parameter took a path as its value,
// or what was meant as its value counts as a path.
func (h *ParamHints) ParamHint(err error, words []string) error {
	if len(words) == 0 && len(h.joined) > 0 {
		last := h.joined[len(h.joined)-1]
		return Usagef("%w; %s took %s as its value: write %s=VALUE", err, last[0], last[1], last[0])
	}
	for _, b := range h.before {
		if len(words) > 2 && slices.Contains(words[2:], b[1]) {
			return behind(err, b)
		}
	}
	return err
}

func behind(err error, b [2]string) error {
	option, _, _ := strings.Cut(b[0], " ")
	return Usagef("%w; %s is a whole parameter, NAME=VALUE, and %s follows it: a name has no =, so write %s NAME "+
		"VALUE or %s NAME=VALUE", err, b[0], b[1], option, option)
}

// OutputHint does the same for an OUTPUT that is wrong.
func (h *ParamHints) OutputHint(err error, output string) error {
	for _, b := range h.before {
		if err != nil && b[1] == output {
			return behind(err, b)
		}
	}
	return err
}

// ValueHint says how to write a value of several words where OUTPUT may be one of them; "" where it is not.
func (h *ParamHints) ValueHint(output string) string {
	if len(h.joined) == 0 || strings.ContainsAny(output, "-./") {
		return ""
	}
	last := h.joined[len(h.joined)-1]
	return "OUTPUT is " + output + "; were it a word of the value, write " + last[0] + " '" + last[1] + " " + output +
		"'"
}

// givenFlag collects the parameter options in the order of the command line.
type givenFlag struct {
	list *[]params.Given
	kind string
	read func(value string) ([]params.Given, error)
}

func (f givenFlag) String() string { return "" }

func (f givenFlag) Type() string { return f.kind }

func (f givenFlag) Set(value string) error {
	given, err := f.read(value)
	*f.list = append(*f.list, given...)
	return err
}

// pair reads NAME=VALUE.
func pair(source string, raw bool) func(string) ([]params.Given, error) {
	return func(value string) ([]params.Given, error) {
		name, text, ok := strings.Cut(value, "=")
		if !ok {
			return nil, Usagef("%s %s has no value: write %s %s=VALUE", source, value, source, value)
		}
		if name == "" {
			return nil, Usagef("%s %s names no parameter: write %s NAME=VALUE or %s NAME VALUE", source, value,
				source, source)
		}
		return []params.Given{{Name: name, Text: text, Raw: raw, Source: source}}, nil
	}
}

// Dashes accepts options with underscores, as papermill has some (--parameters_file).
func Dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// fileParams reads -f: a file, or as papermill does the JSON object itself.
func (in *input) fileParams(path string) ([]params.Given, error) {
	source := "-f " + path
	if strings.HasPrefix(strings.TrimSpace(path), "{") {
		return params.ParseGiven("-f", "-f", []byte(path))
	}
	var data []byte
	var err error
	switch {
	case path == "":
		return nil, Usagef("-f names no file: write -f FILE, a YAML or JSON file, or - for standard input")
	case remote.Is(path):
		data, err = in.Remote().Read(context.Background(), path, files.MaxNotebook)
		source = "-f " + Name(path)
		path = Name(path)
		if err != nil {
			return nil, err
		}
	default:
		data, err = in.ReadInput(path, "a file of parameters", MaxParams)
	}
	var pathErr *fs.PathError
	switch {
	case err == nil:
	case !errors.As(err, &pathErr):
		return nil, &notebooks.Error{Kind: notebooks.KindInput, Msg: "-f: " + plain.Escape(Name(path)) +
			" " + err.Error()}
	default:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, Hint: "name a YAML or JSON file", Err: err,
			Msg: "-f: open " + plain.Escape(path) + ": " + pathErr.Err.Error()}
	}
	return params.ParseGiven(source, path, data)
}

func base64Params(text string) ([]params.Given, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindParameter, Hint: "give base64 of YAML text", Err: err,
			Msg: "-b: not base64: " + err.Error()}
	}
	return params.ParseGiven("-b", "-b", data)
}

// switched is an option that sets a switch to a value. The last one on the command line counts.
type switched struct {
	to    *bool
	value bool
}

func (s switched) String() string { return strconv.FormatBool(s.to != nil && *s.to == s.value) }

func (s switched) Type() string { return "bool" }

func (s switched) IsBoolFlag() bool { return true }

func (s switched) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err == nil {
		*s.to = on == s.value
	}
	return err
}

// OnOff adds a switch with a name for on and one for off, as papermill has them. Help does not show the one that is the
// default.
func OnOff(f *pflag.FlagSet, to *bool, on, off string, otherwise bool, usage, notUsage string) {
	*to = otherwise
	for _, name := range []string{on, off} {
		flag := f.VarPF(switched{to, name == on}, name, "", usage)
		flag.NoOptDefVal = "true"
		flag.Hidden = otherwise == (name == on)
		if name == off {
			flag.Usage = notUsage
		}
	}
}

// PipeHint adds to the message about a missing NOTEBOOK how to read a pipe, as papermill does without it.
func PipeHint(err error, words int) error {
	info, statErr := os.Stdin.Stat()
	if words > 0 || statErr != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return err
	}
	return Usagef("%w; to read the notebook from the pipe and write the output to standard output: markmill run - -",
		err)
}
