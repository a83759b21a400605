package merge

import "strings"

// clashMember is the member that records metadata conflicts, in nbdime's format: both sides' diffs against the base, of
// which ours was applied.
const clashMember = "nbdime-conflicts"

// clash is a conflict in metadata: of a member of the object at hand, or of members within it.
type clash struct {
	name            string
	named           bool
	b, ours, theirs string // "" if absent
	within          []clash
}

// clashed takes the conflicts that were found since the last call as those of a member.
func (m *merger) clashed(name string) []clash {
	found := m.clashes
	m.clashes = nil
	switch {
	case len(found) == 0:
		return nil
	case !found[0].named:
		found[0].name, found[0].named = name, true
		return found
	}
	return []clash{{name: name, named: true, within: found}}
}

// record stores conflicts in their metadata.
func (o *object) record(found []clash) {
	lead := o.leadOf(clashMember)
	value := `{"local_diff": ` + clashDiff(found, func(c clash) string { return c.ours }) +
		`, "remote_diff": ` + clashDiff(found, func(c clash) string { return c.theirs }) + "}"
	if o.find(clashMember) >= 0 { // from an earlier, unresolved merge
		o.set(clashMember, value)
		return
	}
	o.members = append(o.members, member{clashMember, lead, value})
}

// clashDiff returns a side's diff, in nbdime's form.
func clashDiff(found []clash, of func(clash) string) string {
	var ops []string
	for _, c := range found {
		op := `{"key": ` + quoted(c.name) + `, "op": `
		switch value := of(c); {
		case c.within != nil:
			op += `"patch", "diff": ` + clashDiff(c.within, of)
		case value == "":
			op += `"remove"`
		case c.b == "":
			op += `"add", "value": ` + value
		default:
			op += `"replace", "value": ` + value
		}
		ops = append(ops, op+"}")
	}
	return "[" + strings.Join(ops, ", ") + "]"
}
