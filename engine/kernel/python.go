package kernel

import (
	"cmp"
	"context"
	_ "embed" // the driver
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
)

//go:embed drivers/python.py
var pythonDriver string

//go:embed drivers/python_scraps.py
var pythonScraps string

//go:embed drivers/python_more.py
var pythonRest string

//go:embed drivers/python_ipython.py
var pythonIPython string

// pythonMore is what the driver loads when a step needs it.
var pythonMore = pythonRest + pythonIPython

var pythonKeywords = strings.Fields(`
	False None True and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield`)

var pythonReserved = []reserved{
	{"glue", "it records a scrap"},
	{"scrap", "it reads a scrap"},
	{"scraps", "it holds the scraps"},
	{"display", "it shows a value"},
}

// python runs Python in CPython, with a small driver.
type python struct{}

func (python) Name() string { return "python" }

func (python) Languages() []string {
	return []string{"python", "python3", "py", "py3", "ipython", "ipython3"}
}

// ValidateParam returns an error for names that are not Python variables or that would shadow the driver's globals.
func (k python) ValidateParam(b notebooks.Bound) error {
	if name := b.Param.Name; strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return invalidParam(b, k.Name(), "Python keeps names of this form for itself", "rename the parameter")
	}
	return validateName(b, k.Name(), "Python", "_", pythonKeywords, pythonReserved)
}

// pythonStart compiles the driver under a name by which tracebacks are trimmed. It is an argument, as in any -c
// program, and leaves "" (the working directory) first on sys.path.
const pythonStart = `import sys;D=sys.argv[1:];sys.argv[1:]=[];sys.argv[0]="";G={};` +
	`exec(compile(D[0],"<markmill>","exec"),G);G["_mm_main"](D[1],D[2],D[3])`

// Start starts the interpreter with its driver.
func (k python) Start(ctx context.Context, o Options) (Session, error) {
	return open(ctx, k, o, &script{orders: true, conversation: conversation{
		params: pythonParams,
		command: func(*session) ([]string, error) {
			program := cmp.Or(o.Program, "python3")
			return []string{program, "-c", pythonStart, pythonScraps + pythonDriver, o.Private, o.Scraps, pythonMore},
				nil
		},
	}})
}

// pythonParams puts parameters that need no JSON into a file of their own: kind, name and text, each ended by NUL.
// Python reads them without loading a module first.
func pythonParams(params []notebooks.Bound) (map[string][]byte, error) {
	var plain []byte
	var rest []notebooks.Bound
	for _, p := range params {
		kind, text := "", p.Value.Text
		switch p.Value.Type {
		case notebooks.TypeNull:
			kind = "null"
		case notebooks.TypeBool:
			kind, text = "bool", ""
			if p.Value.Bool {
				text = "1"
			}
		case notebooks.TypeInt:
			kind = "int"
		case notebooks.TypeFloat:
			kind, text = "float", strconv.FormatFloat(p.Value.Float, 'g', -1, 64)
		case notebooks.TypeString, notebooks.TypePath, notebooks.TypeSecret:
			kind = "str"
		}
		const longInt = 600 // digits; above, Python has a limit, which the JSON way lifts
		if kind == "" || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) || kind == "int" &&
			len(text) > longInt {
			rest = append(rest, p)
			continue
		}
		plain = encodeNUL(encodeNUL(encodeNUL(plain, kind), p.Param.Name), text)
	}
	files, err := wireParams(rest)
	if err == nil {
		files["plain"] = plain
	}
	return files, err
}
