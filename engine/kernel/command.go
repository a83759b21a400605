package kernel

import (
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks"
)

// command is a kernel of the configuration: any program, run once a step. It keeps no state
// but what its steps write to files.
type command struct {
	name string
	argv []string
}

// fileMark is what stands in an argument for the path of a file with the step's code.
const fileMark = "{file}"

// CommandPrefix begins the names of kernels that are a command of the configuration.
const CommandPrefix = "command:"

// NewCommand makes a kernel that runs argv once a step. In each argument, {file} is replaced by
// the path of a file that holds the step's code, "{file.sql}" by one that ends in .sql; where no
// argument has it the code is the program's standard input. Parameters are in the JSON file that
// MARKMILL_PARAMS names (an object of names and values), and the scalar ones in the
// environment as MARKMILL_PARAM_<name>.
func NewCommand(name string, argv []string) Kernel {
	return &command{name: CommandPrefix + strings.TrimPrefix(name, CommandPrefix), argv: slices.Clone(argv)}
}

func (k *command) Name() string { return k.name }

// CanHold refuses what a variable of the environment cannot hold.
func (k *command) CanHold(b notebooks.Bound) error {
	if _, in := paramVariable(b); in && strings.ContainsRune(shellText(b.Value), 0) {
		return cannot(b, k.name, "its value holds a NUL, which the environment cannot", "hand it over in a file")
	}
	return nil
}

// paramVariable names the environment variable of a parameter; lists, maps and odd names have none.
func paramVariable(b notebooks.Bound) (name string, ok bool) {
	if b.Value.Type == notebooks.TypeList || b.Value.Type == notebooks.TypeMap || !shellName.MatchString(b.Param.Name) {
		return "", false
	}
	return "MARKMILL_PARAM_" + b.Param.Name, true
}

// extension is what the file of a step's code ends in, asked for by an argument such as
// "{file.sql}".
func (k *command) extension() (ext string, inFile bool) {
	for _, a := range k.argv {
		if strings.Contains(a, fileMark) {
			return "", true
		}
		if _, rest, ok := strings.Cut(a, "{file."); ok {
			if end := strings.IndexByte(rest, '}'); end > 0 && filepath.Base(rest[:end]) == rest[:end] {
				return "." + rest[:end], true
			}
		}
	}
	return "", false
}

// arguments are argv with the file's path in place.
func (k *command) arguments(ext, path string) []string {
	mark := fileMark
	if ext != "" {
		mark = "{file" + ext + "}"
	}
	out := make([]string, len(k.argv))
	for i, a := range k.argv {
		out[i] = strings.ReplaceAll(a, mark, path)
	}
	return out
}
