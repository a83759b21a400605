package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/api"
	"markmill/cmd/internal/child"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/check"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// launchTime is how long a new run has to make its record before the page answers.
const launchTime = 20 * time.Second

// secret is the type of a parameter whose value no record holds: it comes from the environment of the workbench.
const secret = string(notebooks.TypeSecret)

// formBody is the data of the form of a new run.
type formBody struct {
	Notebook  string
	Notebooks []string
	Output    string
	Inspected *api.Inspected
	Values    map[string]string
	Problem   string
	// Of a job.
	Queue, Priority string
	Labels          []string
}

// Gate is a line of the contract on the form.
type Gate struct{ Name, Value string }

// Gates are the limits under which the notebook runs, sorted by name.
func (b *formBody) Gates() (list []Gate) {
	var gates map[string]any
	_ = codec.Unmarshal(codec.RawOf(b.Inspected.Gates), &gates) // it was read from JSON
	delete(gates, "narrowed")
	for name, value := range gates {
		list = append(list, Gate{strings.ReplaceAll(name, "_", " "), fmt.Sprint(value)})
	}
	slices.SortFunc(list, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// form shows the form of a notebook's parameters; without a notebook, the notebooks.
func (s *server) form(w http.ResponseWriter, r *http.Request) error {
	b := &formBody{Notebook: r.URL.Query().Get("notebook"), Values: map[string]string{}}
	if from := r.URL.Query().Get("from"); from != "" {
		_, dir, err := s.store.Find(from)
		var earlier *runs.Run
		if err == nil {
			earlier, _, err = runs.At(dir).Load()
		}
		if err != nil {
			return refused(http.StatusNotFound, err)
		}
		b.Notebook, b.Values = earlier.Started.SourcePath, givenValues(earlier)
	}
	return s.showForm(w, r, http.StatusOK, b)
}

// givenValues are the values that a run was given, without secrets.
func givenValues(run *runs.Run) map[string]string {
	values := map[string]string{}
	for _, p := range run.Contract.Parameters {
		if p.Given && p.Type != secret {
			values[p.Name] = valueText(p.Value)
		}
	}
	return values
}

// valueText is a value as -p takes it.
func valueText(v codec.Raw) string {
	var text string
	if codec.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

func (s *server) showForm(w http.ResponseWriter, r *http.Request, code int, b *formBody) error {
	if b.Notebook == "" {
		home, err := s.homeBody(r.Context())
		if err != nil {
			return err
		}
		for _, row := range slices.Concat(home.Rows, home.Idle) {
			if row.Runnable {
				b.Notebooks = append(b.Notebooks, row.Notebook)
			}
		}
		slices.Sort(b.Notebooks)
	} else if err := s.inspect(b); err != nil && b.Problem == "" {
		b.Problem = program.EscapeLines(err.Error())
	}
	show(w, code, "new", s.auth.frame(r, "New run", b))
	return nil
}

// inside checks that a name leads to a file below the root, also through links.
func (s *server) inside(name string) error {
	if name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\:\x00") {
		return problem("%q is no path below the root of the repository", name)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil {
		return problem("there is no notebook %s", name)
	}
	return nil
}

func (s *server) inspect(b *formBody) error {
	if err := s.inside(b.Notebook); err != nil {
		return err
	}
	doc, err := check.Inspected(s.app, "./"+b.Notebook)
	if err == nil {
		b.Inspected = &doc
	}
	return err
}

// launch begins the run that the form asks for. Its arguments are the fields param.NAME that are not empty.
func (s *server) launch(w http.ResponseWriter, r *http.Request) error {
	return s.requested(w, r, false, func(b *formBody) error {
		args, err := s.arguments([]string{"run", "--events=-"}, b)
		if err != nil {
			return err
		}
		id, err := s.spawn(r.Context(), args)
		if err != nil {
			return err
		}
		return done(w, r, "/runs/"+string(id), http.StatusCreated, map[string]runs.RunID{"run_id": id})
	})
}

// requested reads what a form asks for, or a program, and begins it. If it cannot begin, a browser is shown the form
// again, with why.
func (s *server) requested(w http.ResponseWriter, r *http.Request, job bool, begin func(*formBody) error) error {
	b, err := entered(r, job)
	if err != nil {
		return refused(http.StatusBadRequest, err)
	}
	if err = begin(b); err == nil || isAPI(r) {
		return refused(http.StatusConflict, err)
	}
	b.Problem = err.Error()
	return s.showForm(w, r, http.StatusConflict, b)
}

// here is a path below the root as the commands take it, under which runs are found again: ./ stands before what would
// be something else.
func here(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// entered is what the form of a new run has been filled in with. A program sends it as JSON, and of a queue only for a
// job.
func entered(r *http.Request, job bool) (*formBody, error) {
	b := &formBody{Values: map[string]string{}}
	if form := r.PostForm; !isAPI(r) {
		b.Notebook, b.Output = form.Get("notebook"), strings.TrimSpace(form.Get("output"))
		b.Queue, b.Priority = strings.TrimSpace(form.Get("queue")), form.Get("priority")
		b.Labels = strings.FieldsFunc(form.Get("labels"), func(c rune) bool { return c == ',' || c == ' ' })
		for field, values := range form {
			if name, found := strings.CutPrefix(field, "param."); found && values[0] != "" {
				b.Values[name] = values[0]
			}
		}
		return b, nil
	}
	type run struct {
		Notebook   string               `json:"notebook"`
		Output     string               `json:"output"`
		Parameters map[string]codec.Raw `json:"parameters"`
	}
	var in struct {
		run
		Queue    string   `json:"queue"`
		Priority string   `json:"priority"`
		Labels   []string `json:"labels"`
	}
	to := any(&in.run)
	if job {
		to = &in
	}
	if err := body(r, to); err != nil {
		return nil, err
	}
	b.Notebook, b.Output, b.Queue, b.Priority = in.Notebook, in.Output, in.Queue, in.Priority
	b.Labels = in.Labels
	for name, value := range in.Parameters {
		b.Values[name] = valueText(value)
	}
	return b, nil
}

// arguments are those of a command that takes a notebook, an output and the values of parameters.
func (s *server) arguments(args []string, b *formBody) ([]string, error) {
	if err := s.inside(b.Notebook); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(b.Values)) {
		args = append(args, "--parameters="+name+"="+b.Values[name])
	}
	args = append(args, "--", here(b.Notebook))
	if b.Output != "" {
		rel, err := child.Root(s.Root).Output(b.Output, filepath.FromSlash(b.Notebook))
		if err != nil {
			return nil, problem("%v", err)
		}
		args = append(args, rel)
	}
	return args, nil
}

// spawn starts a command that makes a run and prints its events, and returns the id of the run when its record has
// begun. The run goes on when the workbench ends: it writes to files that nobody else has, and is in a session of its
// own.
func (s *server) spawn(ctx context.Context, args []string) (runs.RunID, error) {
	events, err := scratch()
	if err != nil {
		return "", err
	}
	defer events.Close()
	said, err := scratch()
	if err != nil {
		return "", err
	}
	defer said.Close()
	cmd := exec.Command(s.Program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.Root, events, said, child.Environ(ctx)
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(launchTime)
	for {
		if id := firstRun(events); id != "" {
			return id, nil
		}
		select {
		case err := <-ended:
			if id := firstRun(events); id != "" {
				return id, nil
			}
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			text, _ := io.ReadAll(io.NewSectionReader(said, 0, 16<<10))
			return "", child.Said(code, string(text))
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			return "", problem("the run has made no record within %s; look at the list of runs", launchTime)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// firstRun is the run that the first event names; "" if there is none yet.
func firstRun(events *os.File) runs.RunID {
	line, err := bufio.NewReader(io.NewSectionReader(events, 0, 1<<20)).ReadBytes('\n')
	if err != nil || !bytes.HasSuffix(line, []byte("\n")) {
		return ""
	}
	var event runs.Event
	var begun runs.RunStartedData
	if codec.Unmarshal(line, &event) != nil || codec.Unmarshal(event.Data, &begun) != nil {
		return ""
	}
	return begun.RunID
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	file, err := os.CreateTemp("", "markmill-server-*")
	if err == nil {
		_ = os.Remove(file.Name()) // Windows keeps it until it is closed
	}
	return file, err
}
