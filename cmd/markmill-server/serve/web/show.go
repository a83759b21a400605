package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/review"
	"markmill/runs"
	"markmill/runs/index"
)

// frame is what every page has around its body.
type frame struct {
	Title   string
	Here    string   // address of the entry of the menu
	Session *session // nil: nobody has signed in
	Root    string   // name of the repository's folder
	User    string
	Body    any
}

// notice is a page of one sentence.
type notice struct{ Words, Link, Label string }

// MayRun and MayApprove say which buttons a page has.
func (f *frame) MayRun() bool { return f.Session != nil && f.Session.role >= run }

func (f *frame) MayApprove() bool { return f.Session != nil && f.Session.role >= approve }

// Named reports whether the session is of a person of the tokens file.
func (f *frame) Named() bool { return f.Session != nil && f.Session.credential != "" }

// Role is what the browser may do.
func (f *frame) Role() role { return f.Session.role }

// Token is the token of the forms of a page.
func (f *frame) Token() string {
	if f.Session == nil {
		return ""
	}
	return f.Session.form
}

var functions = template.FuncMap{
	"mark":         func(s runs.Status) string { return result.RunMark(s) },
	"class":        func(s runs.Status) string { return classOf(string(s)) },
	"words":        func(s runs.Status) string { return result.StatusWords(string(s)) },
	"when":         func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") },
	"machine":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"took":         took,
	"short":        func(id runs.RunID) string { return id.Short() },
	"value":        value,
	"size":         plain.Size,
	"line":         plain.OneLine,
	"counted":      plain.Counted,
	"grouped":      plain.Grouped,
	"rows":         func(f *frame, rows []homeRow) rowsOf { return rowsOf{f, rows, f.Body.(*homeBody).Clock} },
	"count64":      func(n int64) string { return plain.Grouped(int(n)) },
	"priorities":   func() []queue.Priority { return queue.Priorities },
	"muting":       newMuting,
	"receiptClass": receiptClass,
	"statedClass":  func(s review.State) string { return classOf(string(s)) },
}

// value is a value on one line, for a cell.
func value(v codec.Raw) string {
	if len(v) == 0 {
		return ""
	}
	return plain.Cut(plain.OneLine(index.Text(v)), 80)
}

// templates are the pages, by the name of their file.
var templates = func() map[string]*template.Template {
	files, err := assets.ReadDir("pages")
	if err != nil {
		panic(err) // they are embedded
	}
	all := map[string]*template.Template{}
	for _, f := range files {
		name := f.Name()
		if name == "frame.html" {
			continue
		}
		all[name[:len(name)-len(".html")]] = template.Must(template.New("frame.html").Funcs(functions).
			ParseFS(assets, "pages/frame.html", "pages/"+name))
	}
	return all
}()

// show answers with a page.
func show(w http.ResponseWriter, status int, name string, f *frame) {
	var b bytes.Buffer
	if err := templates[name].Execute(&b, f); err != nil {
		http.Error(w, "this page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the reader may have gone
}

// page answers with a page of the workbench.
func (s *server) page(w http.ResponseWriter, r *http.Request, name, title string, body any) error {
	show(w, http.StatusOK, name, s.auth.frame(r, title, body))
	return nil
}

// frame is the frame of a page for the session of a request, if it has one.
func (a *auth) frame(r *http.Request, title string, body any) *frame {
	f := &frame{Title: title, Body: body}
	if session := sessionOf(r); session != nil {
		f.Here, f.Session, f.Root, f.User = r.URL.Path, session, a.root, cmp.Or(session.name, a.user)
	}
	return f
}

// ask asks the index of the runs.
func (s *server) ask(ctx context.Context, do func(*index.Index) error) error {
	x, err := index.Open(ctx, s.store, index.Options{})
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// classOf is the class of a status in the style: pass, fail, timeout (waiting), skip.
func classOf(status string) string {
	switch status {
	case "pass", "partial", "current":
		return "pass"
	case "fail", "failed", "damaged", "edited", "critical", "error":
		return "fail"
	case "blocked", "interrupted", "timeout", "outdated", "warn":
		return "timeout"
	case "running":
		return "edit"
	}
	return "skip"
}

// took is a duration for people: 400 ms, 1.2 s, 12 s, 3 min 5 s, 2 h 10 min.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}
