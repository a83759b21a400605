package mergereview

import (
	"fmt"

	"markmill/cmd/internal/files"
	"markmill/render/plain"
	"markmill/render/review"
)

// View returns the review as a reader meets it: what the merge turns red first.
func (r *Review) View() *review.View {
	v := &review.View{Sign: "✗", Base: title(r.Base), Head: title(r.Head)}
	if r.Verdict == "conflict" {
		v.Verdict = fmt.Sprintf("%s and %s conflict in %s", r.Base.Name, r.Head.Name,
			plain.Counted(len(r.Conflicts), "file"))
		for _, name := range r.Conflicts {
			v.Findings = append(v.Findings, review.Line{Sign: "✗", Path: name, Words: "conflicts",
				Command: "git merge " + plain.Shell(r.Head.Name)})
		}
		return v
	}
	v.Table = [][]string{{"notebook", r.Base.Name, r.Head.Name, "the two merged"}}
	red, touched := 0, 0
	var together, others []review.Line
	for i := range r.Notebooks {
		n := &r.Notebooks[i]
		if n.Touched == nil && n.Merged.State != Red {
			continue
		}
		touched++
		v.Table = append(v.Table, []string{n.Notebook, string(n.Base.State), string(n.Head.State),
			string(n.Merged.State)})
		if n.Merged.State == Green {
			continue
		}
		l := review.Line{Sign: "!", Path: n.Notebook, Words: string(n.Merged.State) + " on the merged tree",
			Command: "markmill show " + files.Short(n.Merged.Run)}
		if n.Merged.State == Red || n.Merged.State == Broken {
			l.Sign = "✗"
			red++
		}
		if n.Together {
			l.Words = fmt.Sprintf("green on %s and on %s, and red together", r.Base.Name, r.Head.Name)
		}
		if n.Merged.Words != "" {
			l.Words += ": " + n.Merged.Words
		}
		if n.Touched != nil {
			l.Words += "; as on neither side: " + plain.Some(n.Touched, 3)
		}
		if n.Merged.Run == "" {
			l.Command = "markmill check --show " + plain.Shell(n.Notebook)
		}
		if n.Together {
			together = append(together, l)
		} else {
			others = append(others, l)
		}
	}
	v.Findings = append(together, others...)
	v.Verdict = plain.Counted(red, "objection")
	if r.Verdict == "pass" {
		v.Sign, v.Verdict = "✓", "no objection"
	}
	if touched == 0 {
		v.Table = nil
	}
	v.Notes = []string{fmt.Sprintf("the merge touches %s, and %d not", plain.Counted(touched, "notebook"),
		len(r.Notebooks)-touched)}
	return v
}

func title(r Revision) string { return review.Revision(r).Title() }
