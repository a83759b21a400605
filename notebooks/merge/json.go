package merge

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// object is a JSON object with its spelling.
type object struct {
	members []member
	tail    string // the space before }
}

// member is a member: lead is its name with the space around it.
type member struct{ name, lead, value string }

func readObject(raw string) *object {
	o := &object{}
	at := 1
	for _, v := range ipynb.Members(ipynb.Value{Raw: codec.Raw(raw), Span: codec.Span{Start: 0, End: len(raw)}}) {
		lead := raw[at:v.Span.Start]
		if len(o.members) > 0 {
			_, lead, _ = strings.Cut(lead, ",")
		}
		o.members = append(o.members, member{v.Name, lead, string(v.Raw)})
		at = v.Span.End
	}
	o.tail = raw[at : len(raw)-1]
	return o
}

func (o *object) String() string {
	var b strings.Builder
	b.WriteString("{")
	for i, v := range o.members {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(v.lead)
		b.WriteString(v.value)
	}
	if len(o.members) > 0 {
		b.WriteString(o.tail)
	}
	b.WriteString("}")
	return b.String()
}

func (o *object) find(name string) int {
	return slices.IndexFunc(o.members, func(v member) bool { return v.name == name })
}

// values returns the members by their names; the last of two equal names wins.
func (o *object) values() map[string]string {
	out := make(map[string]string, len(o.members))
	for _, v := range o.members {
		out[v.name] = v.value
	}
	return out
}

func (o *object) set(name, value string) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = value
	}
}

// leadOf spells a name as the first member spells its own.
func (o *object) leadOf(name string) string {
	space := ""
	if len(o.members) > 0 {
		space = spaceOf(o.members[0].lead)
	}
	return space + quoted(name) + ": "
}

// insert adds a member after the last of the named ones, or first.
func (o *object) insert(v member, behind ...string) {
	at := 0
	for _, name := range behind {
		at = max(at, o.find(name)+1)
	}
	o.members = slices.Insert(o.members, at, v)
}

// special merges a member in a way of its own; fromY says whose spelling of the object is kept.
type special func(name string, b, x, y string, fromY bool) (value string, ok bool)

// object merges JSON objects by their members. What is not changed keeps its spelling and its place.
func (m *merger) object(path, b, x, y string, fromY bool, special special) string {
	ob := &object{}
	if strings.HasPrefix(b, "{") {
		ob = readObject(b)
	}
	ox, oy := readObject(x), readObject(y)
	into, other := ox, oy
	if fromY {
		into, other = oy, ox
	}
	out := &object{tail: into.tail}
	if len(into.members) == 0 {
		out.tail = other.tail
	}
	bs, xs, ys := ob.values(), ox.values(), oy.values()
	var clashes []clash
	done := map[string]bool{} // a repeated name counts once
	merge := func(v member, list *[]member) bool {
		done[v.name] = true
		vb, vx, vy := bs[v.name], xs[v.name], ys[v.name]
		value, ok := "", false
		if special != nil {
			value, ok = special(v.name, vb, vx, vy, fromY)
		}
		if !ok {
			value = m.value(joinPath(path, v.name), vb, vx, vy)
			clashes = append(clashes, m.clashed(v.name)...)
		}
		if value == "" {
			return false
		}
		*list = append(*list, member{v.name, v.lead, value})
		return true
	}
	var kept []member
	at := map[string]int{} // of a member that is kept: the place behind it
	for _, v := range into.members {
		if !done[v.name] && merge(v, &kept) {
			at[v.name] = len(kept)
		}
	}
	// What only the other side has comes behind the member that it follows there.
	more, behind := make([][]member, len(kept)+1), 0
	for _, v := range other.members {
		if n, ok := at[v.name]; ok {
			behind = n
		} else if !done[v.name] {
			merge(v, &more[behind])
		}
	}
	for i, list := range more {
		if i > 0 {
			out.members = append(out.members, kept[i-1])
		}
		out.members = append(out.members, list...)
	}
	switch {
	case path == "metadata" && len(clashes) > 0:
		out.record(clashes)
	case path != "":
		m.clashes = clashes
	}
	return out.String()
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// value merges JSON values; "" means absent.
func (m *merger) value(path, b, x, y string) string {
	switch {
	case x == y, b == y:
		return x
	case b == x:
		return y
	case sameJSON(x, y), sameJSON(b, y):
		return x
	case sameJSON(b, x):
		return y
	case strings.HasPrefix(x, "{") && strings.HasPrefix(y, "{"):
		return m.object(path, b, x, y, false, nil)
	}
	if strings.HasSuffix(path, "tags") {
		if tags, ok := mergeTags(b, x, y); ok {
			return tags
		}
	}
	ours, theirs := x, y
	if m.swapped {
		ours, theirs = y, x
	}
	switch {
	case m.opt.Favor == Theirs:
		return theirs
	case m.opt.Favor == Mark && !volatile(path):
		m.result.Conflicts = append(m.result.Conflicts, Conflict{Step: path,
			Msg: fmt.Sprintf("ours has %s, theirs has %s; ours was kept", shown(ours), shown(theirs))})
		m.clashes = []clash{{b: b, ours: ours, theirs: theirs}}
	}
	return ours
}

func sameJSON(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return codec.Same(codec.Raw(a), codec.Raw(b))
}

// shown returns a value for a message.
func shown(raw string) string {
	if raw == "" {
		return "nothing"
	}
	return notebooks.Cut(strings.Join(strings.Fields(raw), " "), 60)
}

// mergeTags merges lists of texts as sets: without what one side took out, with what one side added.
func mergeTags(b, x, y string) (string, bool) {
	const base, sides = 1, 2 + 4
	var all []string
	in := map[string]int{} // 1 is the base, 2 is x, 4 is y
	for i, raw := range []string{b, x, y} {
		var tags []string
		if raw != "" && codec.UnmarshalForeign([]byte(raw), &tags) != nil {
			return "", false
		}
		for _, tag := range tags {
			in[tag] |= 1 << i
		}
		if i > 0 {
			all = append(all, tags...)
		}
	}
	var out []string
	for _, tag := range all {
		if in[tag]&base == 0 || in[tag]&sides == sides {
			out = append(out, quoted(tag))
		}
		in[tag] = base // it is decided
	}
	return "[" + strings.Join(out, ", ") + "]", true
}

// volatile reports whether programs write a piece of metadata on their own: conflicts there need no decision.
func volatile(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "."), func(name string) bool {
		return slices.Contains(volatileNames, name)
	})
}

var volatileNames = []string{"language_info", "collapsed", "scrolled", "trusted", "execution", "ExecuteTime",
	"executionInfo", "papermill", "widgets", "toc", "varInspector", "markmill",
	"pycharm", "colab", "outputId", "vscode",
	"signature", "orig_nbformat", "display_name"}
