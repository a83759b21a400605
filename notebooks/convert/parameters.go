package convert

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/inject"
	"markmill/notebooks/markdown"
)

// A block of parameters is YAML in Markmill's own form. In Jupyter it is a cell of code with the tag parameters, which
// gives them their defaults, so that the notebook runs there and under papermill; the block itself stays in the
// metadata of the cell, where a run reads it: types, bounds, help.

// parametersCell makes the cell of a block. Where no code of the language can say the defaults, it is text, and the
// front matter declares them.
func (d *Document) parametersCell(t *text, first, next int, lang string) Cell {
	inner := ""
	if next-first > 2 {
		inner = join(t.lines[first+1 : next-1])
	}
	c := Cell{Type: "code", at: t.at(first)}
	code, ok := parametersCode(inner, lang)
	if !ok {
		c.Type, c.Source = "markdown", join(t.lines[first:next])
		params, _ := yamlObject(inner)
		front := d.Metadata.own().object(keyFront)
		declared := front.object("params")
		for _, f := range params {
			declared.Set(f.Name, f.Value)
		}
		front.setObject("params", declared)
		d.Metadata.setOwn(keyFront, front.Raw())
	} else {
		c.Source = code
		c.Metadata.Set("tags", textList([]string{notebooks.TagParameters}))
	}
	c.Metadata.setOwn(keyBlock, quoted(inner))
	return c
}

// Declares reports whether the cell stands for a block of YAML that declares parameters, and not for a step.
func (c *Cell) Declares() bool { return c.Metadata.own().Has(keyBlock) }

func blockFence(block string) string {
	fence := fenceFor(block)
	if block != "" {
		block += "\n"
	}
	return fence + "yaml {.parameters}\n" + block + fence + "\n"
}

// parametersCode returns the code that assigns a block's defaults; false if the language cannot.
func parametersCode(block, lang string) (string, bool) {
	if !inject.Known(lang) {
		return "", false
	}
	nb, err := markdown.Parse("block.md", []byte(blockFence(block)))
	if err != nil {
		return "", false
	}
	var code []string
	for _, p := range nb.Params {
		if !p.HasDefault {
			continue
		}
		text, err := inject.Cell(lang, []notebooks.Bound{{Param: p, Value: p.Default}}, false)
		if err != nil {
			return "", false
		}
		_, assignment, _ := strings.Cut(text, "\n") // without papermill's comment
		assignment = strings.TrimRight(assignment, "\n")
		if p.Help != "" && !strings.Contains(assignment, "\n") && lang == "python" {
			assignment += "  # " + strings.Join(strings.Fields(p.Help), " ")
		}
		code = append(code, assignment)
	}
	return strings.Join(code, "\n"), true
}

// block returns the parameters block that became the cell; false if its code has changed since.
func (c *Cell) block(lang string) (string, bool) {
	raw := c.Metadata.own().Get(keyBlock)
	if raw == nil {
		return "", false
	}
	block := textOf(raw)
	if c.Type != "code" {
		return block, true
	}
	code, ok := parametersCode(block, lang)
	return block, ok && code == c.Source
}
