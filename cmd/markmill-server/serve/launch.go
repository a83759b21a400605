package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/markmill/child"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// launchTime is how long a new run has to make its record before the page answers.
const launchTime = 20 * time.Second

// inspected is what markmill check --show says of a notebook (docs/schemas/inspect.json).
type inspected struct {
	Title      string           `json:"title"`
	Parameters []inspectedParam `json:"parameters"`
	Steps      []inspectedStep  `json:"steps"`
	Gates      map[string]any   `json:"gates"`
}

// secret is the type of a parameter whose value no record holds.
const secret = string(notebooks.TypeSecret)

// Secret reports whether the value comes from the environment of the workbench, and not from the form.
func (p *inspectedParam) Secret() bool { return p.Type == secret }

type inspectedParam struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Default  codec.Raw   `json:"default"`
	Help     string      `json:"help"`
	Required bool        `json:"required"`
	Enum     []codec.Raw `json:"enum"`
	Min      codec.Raw   `json:"min"`
	Max      codec.Raw   `json:"max"`
	Env      string      `json:"env"`
}

type inspectedStep struct {
	ID   string `json:"id"`
	Lang string `json:"lang"`
}

// formBody is the data of the form of a new run.
type formBody struct {
	Notebook  string
	Notebooks []string
	Output    string
	Inspected *inspected
	Values    map[string]string
	Problem   string
	// Of a job.
	Queue, Priority, Labels string
}

// Gate is a line of the contract on the form.
type Gate struct{ Name, Value string }

// Gates are the limits under which the notebook runs, sorted by name.
func (b *formBody) Gates() (list []Gate) {
	for name, value := range b.Inspected.Gates {
		if name == "narrowed" {
			continue
		}
		list = append(list, Gate{strings.ReplaceAll(name, "_", " "), fmt.Sprint(value)})
	}
	slices.SortFunc(list, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// form shows the form of a notebook's parameters; without a notebook, the notebooks.
func (s *server) form(w http.ResponseWriter, r *http.Request) {
	b := &formBody{Notebook: r.URL.Query().Get("notebook"), Values: map[string]string{}}
	if from := r.URL.Query().Get("from"); from != "" {
		_, dir, err := s.store.Find(from)
		var earlier *runs.Run
		if err == nil {
			earlier, _, err = runs.At(dir).Load()
		}
		if err != nil {
			s.failed(w, r, http.StatusNotFound, err)
			return
		}
		b.Notebook, b.Values = earlier.Started.SourcePath, again(earlier)
	}
	s.showForm(w, r, http.StatusOK, b)
}

// again are the values that a run was given, without secrets.
func again(run *runs.Run) map[string]string {
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

func (s *server) showForm(w http.ResponseWriter, r *http.Request, code int, b *formBody) {
	if b.Notebook == "" {
		home, err := s.homeBody(r.Context())
		if err != nil {
			s.failed(w, r, http.StatusInternalServerError, err)
			return
		}
		for _, row := range slices.Concat(home.Rows, home.Idle) {
			if row.Runnable {
				b.Notebooks = append(b.Notebooks, row.Notebook)
			}
		}
		slices.Sort(b.Notebooks)
	} else if err := s.inspect(r.Context(), b); err != nil && b.Problem == "" {
		b.Problem = err.Error()
	}
	show(w, code, "new", s.frame(r, "New run", b))
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

func (s *server) inspect(ctx context.Context, b *formBody) error {
	if err := s.inside(b.Notebook); err != nil {
		return err
	}
	doc, err := s.program.Document(ctx, "inspect", "--json", "--", "./"+b.Notebook)
	if err != nil {
		return err
	}
	b.Inspected = &inspected{}
	return codec.Unmarshal(doc, b.Inspected)
}

// launch begins the run that the form asks for. Its arguments are the fields param.NAME that are not empty.
func (s *server) launch(w http.ResponseWriter, r *http.Request) {
	b := entered(r.PostForm)
	id, err := s.start(r.Context(), b.Notebook, b.Output, b.Values)
	if err != nil {
		b.Problem = err.Error()
		s.showForm(w, r, http.StatusConflict, b)
		return
	}
	http.Redirect(w, r, "/runs/"+string(id), http.StatusSeeOther)
}

// here is a path below the root as the commands take it, under which runs are found again: ./ stands before what would
// be something else.
func here(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// entered is what the form of a new run has been filled in with.
func entered(form url.Values) *formBody {
	b := &formBody{Notebook: form.Get("notebook"), Output: strings.TrimSpace(form.Get("output")),
		Queue: strings.TrimSpace(form.Get("queue")), Priority: form.Get("priority"),
		Labels: strings.TrimSpace(form.Get("labels")), Values: map[string]string{}}
	for field, values := range form {
		if name, found := strings.CutPrefix(field, "param."); found && values[0] != "" {
			b.Values[name] = values[0]
		}
	}
	return b
}

// start starts a run of a notebook and returns its id.
func (s *server) start(ctx context.Context, notebook, output string, values map[string]string) (runs.RunID, error) {
	args, err := s.arguments([]string{"run", "--events=-"}, notebook, output, values)
	if err != nil {
		return "", err
	}
	return s.spawn(ctx, args)
}

// arguments are those of a command that takes a notebook, an output and the values of parameters.
func (s *server) arguments(args []string, notebook, output string, values map[string]string) ([]string, error) {
	if err := s.inside(notebook); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "--parameters="+name+"="+values[name])
	}
	args = append(args, "--", here(notebook))
	if output != "" {
		rel, err := child.Root(s.Root).Output(output, filepath.FromSlash(notebook))
		if err != nil {
			return nil, problem("%v", err)
		}
		args = append(args, rel)
	}
	return args, nil
}

// begin starts a command that makes a run, and shows the run.
func (s *server) begin(w http.ResponseWriter, r *http.Request, args []string) {
	id, err := s.spawn(r.Context(), args)
	if err != nil {
		s.failed(w, r, http.StatusConflict, err)
		return
	}
	http.Redirect(w, r, "/runs/"+string(id), http.StatusSeeOther)
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
	var event struct {
		Data struct {
			RunID runs.RunID `json:"run_id"`
		} `json:"data"`
	}
	if codec.Unmarshal(line, &event) != nil {
		return ""
	}
	return event.Data.RunID
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	file, err := os.CreateTemp("", "markmill-server-*")
	if err == nil {
		_ = os.Remove(file.Name()) // Windows keeps it until it is closed
	}
	return file, err
}
