package review

import (
	"fmt"
	"strings"
)

// Sign is the sign of a notebook: what the review objects to, what is off, what is well.
func (r *Review) Sign(n *Notebook) string {
	switch {
	case r.Objects(n):
		return "✗"
	case n.Conditions[0] != OnChanged:
		return "!"
	}
	return "✓"
}

// VerdictWords says in one line what the review comes to.
func (r *Review) VerdictWords() string {
	if len(r.Notebooks) == 0 {
		return "no notebook changed"
	}
	words := counted(len(r.Notebooks), "notebook") + " changed"
	if n := r.Objections(); n > 0 {
		return words + fmt.Sprintf(", %d to object to", n)
	}
	return words + ", nothing to object to"
}

// OutputWords says how many outputs stand in which way: "2 fresh, 1 stale".
func (r *Review) OutputWords() string {
	var parts []string
	for _, s := range stateOrder {
		if n := r.Counts.Outputs[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// A Note is one line about a notebook. Subject is a path or a step, and may be empty.
type Note struct {
	Sign    string
	Subject string
	Words   string
}

// Notes are what there is to say of a notebook besides its comparison, what matters most first.
func (n *Notebook) Notes() []Note {
	var out []Note
	if n.Error != "" {
		out = append(out, Note{"✗", "", "cannot be read: " + n.Error})
	}
	for i := range n.Outputs {
		o := &n.Outputs[i]
		sign := "✓"
		if o.bad() {
			sign = "✗"
		}
		out = append(out, Note{sign, o.Path, o.words()})
		for _, p := range o.Problems {
			out = append(out, Note{"!", "", p})
		}
	}
	return out
}

// bad says that something is off with an output.
func (o *Output) bad() bool {
	for _, s := range o.States {
		if s != Fresh && s != Intact && s != Unproven {
			return true
		}
	}
	return false
}

// words say how an output stands, and to what.
func (o *Output) words() string {
	var parts []string
	for _, s := range o.States {
		switch s {
		case Failed:
			parts = append(parts, "its run is "+o.Status)
		case Altered:
			parts = append(parts, "edited: not as its run left it")
		case Damaged:
			parts = append(parts, "damaged")
		case Stale:
			parts = append(parts, "stale: "+orItself(o.Source)+" changed since the run")
		case Missing:
			parts = append(parts, "missing: the output of "+o.Source)
		case Fresh:
			parts = append(parts, "fresh: the output of "+o.Source+" as it is")
		case Intact:
			parts = append(parts, "the output of the text that it holds")
		case Unproven:
			parts = append(parts, "a Jupyter notebook does not prove whose outputs these are")
		}
	}
	return strings.Join(parts, "; ")
}

func orItself(source string) string {
	if source == "" {
		return "the notebook itself"
	}
	return source
}

// Summary says in a few words what became of a notebook: "edited · 1 turned red · output failed, stale".
func (n *Notebook) Summary() string {
	parts := []string{string(n.Change)}
	if n.From != "" {
		parts[0] += " from " + n.From
	}
	if len(n.Red) > 0 {
		parts = append(parts, fmt.Sprintf("%d turned red", len(n.Red)))
	}
	if n.Error != "" {
		parts = append(parts, "cannot be read")
	}
	var states []string
	seen := map[State]bool{}
	for _, s := range stateOrder {
		for i := range n.Outputs {
			if n.Outputs[i].Has(s) && !seen[s] && (s != Fresh || !n.Outputs[i].bad()) {
				seen[s] = true
				states = append(states, string(s))
			}
		}
	}
	if states != nil {
		parts = append(parts, "output "+strings.Join(states, ", "))
	}
	return strings.Join(parts, " · ")
}

// Title is what the two sides are called.
func (r *Review) Title() (base, head string) { return r.Base.title(), r.Head.title() }

func (v Revision) title() string {
	if v.Commit != "" && !strings.HasPrefix(v.Commit, v.Name) {
		return fmt.Sprintf("%s (%.12s)", v.Name, v.Commit)
	}
	return v.Name
}

// failWords says what the review fails on.
func (r *Review) failWords() string {
	words := make([]string, len(r.FailOn))
	for i, c := range r.FailOn {
		words[i] = string(c)
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
