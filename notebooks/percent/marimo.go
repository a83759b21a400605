package percent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/markdown"
)

// marimo's notebooks in Python hold each cell in a function: what it uses are the arguments, what it sets it returns.
//
//	@app.cell(hide_code=True)
//	def load(mo):
//	    frame = mo.read()
//	    return (frame,)

var (
	marimoApp  = lazyregexp.New(`(?m)^app = marimo\.App\(`)
	marimoCell = lazyregexp.New(
		`^(?:@app\.(?:cell|function|class_definition)\b|with app\.setup\b|app\._unparsable_cell\()`)
	// a text in which another call seems to end is code to marimo
	marimoCallEnd = lazyregexp.New(`(?:"""|''')\s*\)`)

	marimoDef = lazyregexp.New(`^(?:async )?def (\w+)\(`)
)

// isMarimo reports whether a script is a notebook of marimo's.
func isMarimo(lang Language, src []byte) bool {
	return lang.Name == "python" && marimoApp.Match(src)
}

// marimoIndent is that of a cell in its function.
const marimoIndent = "    "

// marimo reads the cells, and warns where marimo would run them in another order.
func (r *parser) marimo() {
	order := marimoOrder{setBy: map[string]int{}}
	inside := r.insideStrings()
	top := func(i int) bool { // the line begins a statement of the file
		text := r.lines[i].Text
		return !inside[i] && text != "" && !strings.ContainsAny(text[:1], " \t)#")
	}
	for i := 0; i < len(r.lines); {
		if !top(i) || !marimoCell.MatchString(r.lines[i].Text) {
			i++
			continue
		}
		next := i + 1
		for decorated := r.lines[i].Text[0] == '@'; next < len(r.lines) && (!top(next) || decorated); next++ {
			decorated = decorated && !(top(next) && !strings.HasPrefix(r.lines[next].Text, "@"))
		}
		end := next
		for end > i && isBlank(r.lines[end-1].Text) {
			end--
		}
		r.marimoCell(i, end, inside, &order)
		c := &r.Cells[len(r.Cells)-1]
		if c.At.End = len(r.Source); next < len(r.lines) {
			c.At.End = r.lines[next].At
		}
		i = next
	}
	r.warn(0, r.lines[0].At, markdown.MarimoOrder, "")
	for _, u := range order.uses {
		if by, ok := order.setBy[u.name]; ok && by > u.cell {
			r.warn(u.line, r.lines[u.line].At, fmt.Sprintf("the cell uses %s, which the cell in line %d sets", u.name,
				r.Cells[by].Line), "move that cell before this one")
		}
	}
}

// marimoOrder is which cell sets a name, and which use it.
type marimoOrder struct {
	setBy map[string]int
	uses  []marimoUse
}

type marimoUse struct {
	name       string
	cell, line int
}

// insideStrings says of each line whether it begins inside a text of the language.
func (r *parser) insideStrings() []bool {
	q := r.Language.Strings()
	inside := make([]bool, len(r.lines))
	for i, l := range r.lines {
		inside[i] = q.Inside()
		q.Read(l.Text)
	}
	return inside
}

// marimoCell reads the cell in the lines from first to before end.
func (r *parser) marimoCell(first, end int, inside []bool, order *marimoOrder) {
	c := Cell{Kind: Code, At: notebooks.Span{Start: r.lines[first].At}, Line: first + 1, Lang: r.Lang}
	number, body := len(r.Cells), first
	var head strings.Builder // decorators, and the line that opens the function
	for ; body < end && strings.HasPrefix(r.lines[body].Text, "@app."); body++ {
		for head.WriteString(r.lines[body].Text); body+1 < end && !inside[body+1] &&
			strings.ContainsAny(r.lines[body+1].Text[:min(1, len(r.lines[body+1].Text))], " )"); {
			body++
			head.WriteString(r.lines[body].Text)
		}
	}
	options, whole := head.String(), !strings.HasPrefix(head.String(), "@app.cell") && head.Len() > 0
	if !whole {
		var opening strings.Builder
		for more := true; more && body < end; body++ {
			text := strings.TrimRight(r.lines[body].Text, " \t")
			opening.WriteString(text)
			more = !strings.HasSuffix(text, ":") && !strings.HasPrefix(text, "app.")
		}
		if m := marimoDef.FindStringSubmatch(opening.String()); m != nil {
			if name := m[1]; strings.Trim(name, "_") != "" {
				c.Metadata = append(c.Metadata, marimoField("name", strconv.Quote(name), c.At.Start))
			}
			for _, name := range marimoNames(opening.String()[len(m[0]):]) {
				order.uses = append(order.uses, marimoUse{name, number, first})
			}
		} else {
			options = opening.String()
		}
	}
	// marimo indents a text, too, if all is
	shallow := slices.ContainsFunc(r.lines[body:end], func(l blocks.Line) bool {
		return !isBlank(l.Text) && !strings.HasPrefix(l.Text, marimoIndent)
	})
	content := make([]string, 0, end-body)
	for i := body; i < end; i++ {
		text := r.lines[i].Text
		if !whole {
			if strings.HasPrefix(text, marimoIndent+"return") && !inside[i] {
				var names strings.Builder
				for ; i < end; i++ {
					names.WriteString(r.lines[i].Text)
				}
				for _, name := range marimoNames(strings.TrimSpace(names.String())[len("return"):]) {
					order.setBy[name] = number
				}
				break
			}
			if !inside[i] || !shallow {
				text = strings.TrimPrefix(text, marimoIndent)
			}
		}
		content = append(content, text)
	}
	c.CodeLine = body + 1
	switch inner, skip, ok := marimoText(content, options); {
	case ok:
		content = inner
		c.CodeLine += skip
		if !strings.HasPrefix(options, "app.") {
			c.Kind = Markdown
		}
	case whole:
		if m := marimoDef.FindStringSubmatch(content[0]); m != nil {
			order.setBy[m[1]] = number
		}
	}
	for len(content) > 0 && isBlank(content[len(content)-1]) {
		content = content[:len(content)-1]
	}
	if tags := marimoTags(options); tags != "" && c.Kind == Code {
		c.Metadata = append(c.Metadata, marimoField("tags", tags, c.At.Start))
	}
	c.Source = strings.Join(content, "\n")
	r.Cells = append(r.Cells, c)
}

func marimoField(name, value string, at int) notebooks.Option {
	return notebooks.Option{Name: name, Value: codec.Raw(value), At: at}
}

// cutF takes the f off a literal, which then has holes.
func cutF(text string) (rest string, formatted bool) {
	for _, prefix := range []string{"f", "rf", "fr"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && rest != "" && strings.ContainsAny(rest[:1], `"'`) {
			return rest, true
		}
	}
	return text, false
}

// marimoTags returns the tags that the options of a cell stand for, as JSON.
func marimoTags(options string) string {
	var tags []string
	for _, o := range []struct{ option, tag string }{{"hide_code=True", notebooks.TagHideInput},
		{"disabled=True", notebooks.TagSkip}} {
		if strings.Contains(options, o.option) {
			tags = append(tags, strconv.Quote(o.tag))
		}
	}
	if tags == nil {
		return ""
	}
	return "[" + strings.Join(tags, ", ") + "]"
}

// marimoNames returns the names in a list of arguments, or of a return.
func marimoNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" \t,():", r) })
}

// marimoText returns the lines of the text that a cell is: mo.md(r"""…"""), or one that is no Python.
func marimoText(content []string, options string) (inner []string, skip int, ok bool) {
	all := strings.TrimSpace(strings.Join(content, "\n"))
	switch call, is := strings.CutPrefix(all, "mo.md("); {
	case is && strings.HasSuffix(call, ")"):
		all = strings.TrimSuffix(call, ")")
	case strings.HasPrefix(options, "app."):
		end := max(strings.LastIndex(all, `"""`), strings.LastIndex(all, `'''`))
		if end < 0 {
			return nil, 0, false
		}
		all = all[:end+len(`"""`)]
	default:
		return nil, 0, false
	}
	all, formatted := cutF(all)
	inner, skip, ok = quotedText(strings.Split(all, "\n"))
	text := strings.Join(inner, "\n")
	if !ok || marimoCallEnd.MatchString(text) || strings.Contains(text, all[max(len(all)-3, 0):]) || formatted &&
		strings.ContainsAny(text, "{}") {
		return nil, 0, false
	}
	indent := ""
	for i, line := range inner {
		if rest := strings.TrimLeft(line, " "); i == 0 || rest != "" && len(line)-len(rest) < len(indent) {
			indent = line[:len(line)-len(rest)]
		}
	}
	for i := range inner {
		inner[i] = strings.TrimPrefix(inner[i], indent)
	}
	for len(inner) > 0 && isBlank(inner[len(inner)-1]) {
		inner = inner[:len(inner)-1]
	}
	return inner, skip, true
}
