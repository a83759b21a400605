package convert

import (
	"markmill/notebooks/blocks"
	"markmill/notebooks/lazyregexp"
)

// In Quarto's form and in Markmill's own, the text between two steps is one cell of Markdown. Where a notebook has
// several cells there, raw cells, or metadata, HTML comments mark them as in Jupytext Markdown: they are invisible and
// do not change what runs.

// prose makes cells of the lines between two steps.
func (t *text) prose(first, next int) []Cell {
	var cells []Cell
	flush := func(a, b int) {
		if a, b = t.trimmed(a, b); a < b {
			cells = append(cells, Cell{Type: "markdown", Source: join(t.lines[a:b]), at: t.at(a)})
		}
	}
	start := first
	open := map[string]bool{} // the regions that nothing ends any more: the rest is not looked through for each
	for i := first; i < next; i++ {
		if end := t.fences[i]; end > 0 {
			i = end - 1
			continue
		}
		region := regionStart.FindStringSubmatch(t.lines[i].Text)
		if region == nil || open[region[1]] {
			continue
		}
		end := regionEnd(t.lines[:next], region[1], i+1)
		if end < 0 {
			open[region[1]] = true
			continue
		}
		flush(start, i)
		c := regionCell(region)
		c.Source, c.at = join(t.lines[i+1:end]), t.at(i)
		cells = append(cells, c)
		i, start = end, end+1
	}
	flush(start, next)
	return cells
}

// regionCell returns the cell that a line begins, as regionStart matches it.
func regionCell(match []string) Cell {
	title, fields := titledOptions(match[2])
	if title != "" {
		fields.Set("title", quoted(title))
	}
	switch match[1] {
	case "raw":
		return Cell{Type: "raw", Metadata: fields}
	case "region":
	default:
		fields.Set("region_name", quoted(match[1]))
	}
	return Cell{Type: "markdown", Metadata: fields}
}

// regionEnds are the lines that end the regions that regionStart knows.
var regionEnds = lazyregexp.New(`^<!--\s*#end(region|markdown|md|raw)\s*-->\s*$`)

// regionEnd returns the line that ends a region, from a line on; -1 without one.
func regionEnd(lines []blocks.Line, name string, from int) int {
	for i := from; i < len(lines); i++ {
		if found := regionEnds.FindStringSubmatch(lines[i].Text); found != nil && found[1] == name {
			return i
		}
	}
	return -1
}

// proseText writes a cell that is no code; bare says that nothing marks it. after is set where the cell before it is
// bare, too.
func (d *Document) proseText(c *Cell, after bool) (text string, bare bool) {
	region, fields := d.region(c)
	if c.Type == "markdown" && len(fields) == 0 && region == "region" && !after && !edgeBlank.MatchString(c.Source) {
		t := textOfCell(c.Source)
		if got := t.prose(0, len(t.lines)); len(got) == 1 && got[0].Source == c.Source && len(got[0].Metadata) == 0 &&
			!t.crlf {
			return c.Source + "\n", true
		}
	}
	return regionText(region, fields, c.Source), false
}

// region returns what the comments around a cell call it, and the metadata that they hold.
func (d *Document) region(c *Cell) (name string, fields Object) {
	fields = d.fields(c)
	if c.Type == "raw" {
		return "raw", fields
	}
	if name = fields.text("region_name"); name == "md" || name == "markdown" {
		return name, fields.without("region_name")
	}
	return "region", fields
}

// regionText returns the text of a cell between the comments that mark it.
func regionText(name string, fields Object, source string) string {
	title, fields := fields.readableTitle()
	options := optionText(title, fields)
	if options != "" {
		options = " " + options
	}
	return "<!-- #" + name + options + " -->\n" + source + "\n<!-- #end" + name + " -->\n"
}

// between writes the cells that are not code, and the empty lines between all cells. The first cell may be in the
// header already.
func (d *Document) between(p *page, inHeader bool) {
	after := false
	for i := range d.Cells {
		switch c := &d.Cells[i]; {
		case i == 0 && inHeader:
		case c.Type == "code":
			after = false
		default:
			p.cells[i], after = d.proseText(c, after)
		}
	}
	p.space()
}
