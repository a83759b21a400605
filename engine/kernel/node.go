package kernel

import (
	_ "embed" // the driver
	"slices"

	"markmill/notebooks"
)

//go:embed drivers/node.js
var nodeDriver []byte

// node is a kernel of JavaScript as Node runs it.
type node struct{}

func newNode() Kernel { return node{} }

func (node) Name() string { return "node" }

// CanHold refuses names that are no variable of JavaScript or that would hide what it stands on.
func (k node) CanHold(b notebooks.Bound) error {
	name := b.Param.Name
	switch {
	case !identifier(name, "_$"):
		return cannot(b, k.Name(), "it is not an identifier of JavaScript", "rename the parameter")
	case slices.Contains(nodeKeywords, name):
		return cannot(b, k.Name(), "it is a word of JavaScript itself", "rename the parameter")
	}
	if why := reservedName(nodeReserved, name); why != "" {
		return cannot(b, k.Name(), why, "rename the parameter")
	}
	return nil
}
