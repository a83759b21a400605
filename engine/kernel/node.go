package kernel

import (
	"cmp"
	"context"
	_ "embed" // the driver
	"strings"

	"markmill/notebooks"
)

//go:embed drivers/node.js
var nodeDriver []byte

var nodeKeywords = strings.Fields(`
	await break case catch class const continue debugger default delete do else enum export extends
	false finally for function if implements import in instanceof interface let new null package private
	protected public return static super switch this throw true try typeof var void while with yield
	arguments eval`)

var nodeReserved = []reserved{
	{"__mm_*", "Markmill's own driver uses it"},
	{"globalThis undefined NaN Infinity Object", "it is JavaScript's own"},
	{"Array Function Promise __proto__ constructor", "it is JavaScript's own"},
	{"global process console require module exports", "it is Node's own"},
	{"glue", "it records a scrap"},
	{"scrap", "it reads a scrap"},
	{"scraps", "it holds the scraps"},
}

// node runs JavaScript in Node.
type node struct{}

func (node) Name() string { return "node" }

func (node) Languages() []string { return []string{"node", "nodejs", "javascript", "js", "cjs"} }

// ValidateParam returns an error for names that are not JavaScript variables or that would shadow the driver's globals.
func (k node) ValidateParam(b notebooks.Bound) error {
	return validateName(b, k.Name(), "JavaScript", "_$", nodeKeywords, nodeReserved)
}

// Start starts the interpreter with its driver, which is written into the private folder.
func (k node) Start(ctx context.Context, o Options) (Session, error) {
	return open(ctx, k, o, &script{conversation: conversation{
		params: wireParams,
		command: func(s *session) ([]string, error) {
			const driver = "driver.js"
			argv := []string{cmp.Or(o.Program, "node"), s.path(driver), o.Private, o.Scraps}
			return argv, s.write(driver, nodeDriver)
		},
	}})
}
