package html

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"markmill/notebooks/diff"
	"markmill/render/review"
)

func TestHostileReview(t *testing.T) {
	for _, text := range hostile {
		text = strings.ReplaceAll(text, "HOST", "http://127.0.0.1:1")
		r := &review.Review{Base: review.Revision{Name: text}, Head: review.Revision{Name: text, Commit: "abc"},
			Verdict: "fail", FailOn: review.DefaultFailOn}
		for _, state := range []review.State{review.Current, review.Outdated, review.Unknown, review.Failed,
			review.Missing} {
			r.Notebooks = append(r.Notebooks, &review.Notebook{Path: text, From: text, Change: review.Renamed,
				Conditions: []review.Condition{review.OnRed}, Red: []string{text}, Error: text,
				Outputs: []review.Output{{Path: text, States: []review.State{state}, Status: text, Source: text,
					Problems: []string{text}}},
				Diff: diff.Compare(hostileDocument(text, "x"), hostileDocument(text, "y"), diff.Options{})})
		}
		checkSafe(t, Review(r.View()))
	}
}

// TestReviewLinks: on the page of two notebooks with the same steps, every link has a target and every id is unique.
func TestReviewLinks(t *testing.T) {
	r := &review.Review{Base: review.Revision{Name: "main"}, Head: review.Revision{Name: "head"}}
	for _, name := range []string{"a.md", "b.md"} {
		r.Notebooks = append(r.Notebooks, &review.Notebook{Path: name, Conditions: []review.Condition{review.OnChanged},
			Diff: diff.Compare(hostileDocument("x", "y"), hostileDocument("x", "z"), diff.Options{})})
	}
	root, err := html.Parse(bytes.NewReader(Review(r.View())))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]int{}, map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "href":
				links[strings.TrimPrefix(a.Val, "#")] = true
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %s stands %d times", id, n)
		}
	}
	for link := range links {
		if ids[link] == 0 {
			t.Errorf("the link to %s leads nowhere", link)
		}
	}
	if ids["notebook-1-step-xone"] != 1 || ids["notebook-2-step-xone"] != 1 || !links["notebook-2"] {
		t.Errorf("ids: %v", ids)
	}
}

// TestReviewScreen: the page has the first screen in its order, then the changed code, then the notebooks, folded.
func TestReviewScreen(t *testing.T) {
	v := &review.View{Sign: "?", Verdict: "1 decision · old tests no longer hold", Base: "main", Head: "<fix>",
		Facts: []string{"code 1 file +1 −0"},
		Findings: []review.Line{{Sign: "?", Path: "a.md", Others: 1, Step: "t", Words: "no <longer>",
			Command: "git diff"}},
		More: []review.Line{{Sign: "!", Path: "b.md", Words: "told", ID: "0123456789ab"}}, MoreWords: "1 told",
		Table: [][]string{{"notebook"}, {"4 passed"}}, Notes: []string{"judged 1 notebook"},
		Changed: []review.Patch{{Title: "a.py +1 −0", Text: "+added\n"}}, Unshown: []string{"1 more file", "git show"},
		Folds: []review.Fold{{Sign: "!", Notebook: &review.Notebook{Path: "n.md", Change: review.Untouched},
			Table: [][]string{{"outputs"}, {"2: x, y"}}}}}
	page := Review(v)
	checkSafe(t, page)
	_, body, _ := strings.Cut(string(page), `<main id="main">`)
	for _, words := range []string{"1 decision · old tests", "&lt;fix&gt;", "code 1 file", "<ol",
		"<code>a.md</code> and 1 other", "step <code>t</code>", "no &lt;longer&gt;", "git diff",
		">notebook</th>", ">4 passed</td>", "judged 1 notebook", "<summary>1 more finding: 1 told", "0123456789ab",
		"<summary><code>a.py", "+added", "1 more file", `<details class="notebook `, "<code>n.md</code>", "untouched",
		">2: x, y</td>"} {
		at := strings.Index(body, words)
		if at < 0 {
			t.Fatalf("%s is missing, or not in its place", words)
		}
		body = body[at:]
	}
	if !strings.Contains(string(page), `<span class="pill timeout">? 1 decision</span>`) {
		t.Error("the bar does not say the verdict in short")
	}
}
