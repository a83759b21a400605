package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/check"
	"markmill/cmd/markmill/new"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/render/plain"
)

type (
	createArgs struct {
		Notebook string `json:"notebook" jsonschema:"path of the new notebook (.md or .ipynb)"`
		Content  string `json:"content,omitempty" jsonschema:"the whole notebook; without it a template is used"`
		Kind     string `json:"kind,omitempty" jsonschema:"template: task (a change and its test, the default) or health"`
		Replace  bool   `json:"replace,omitempty" jsonschema:"replace the notebook that is there"`
	}
	editArgs struct {
		Notebook string  `json:"notebook" jsonschema:"path of the notebook"`
		Step     string  `json:"step" jsonschema:"id of the step"`
		Code     string  `json:"code" jsonschema:"the whole new code of the step, without its fence"`
		Was      *string `json:"was,omitempty" jsonschema:"the code that is replaced; the edit is refused if it is another"`
	}
)

type addArgs struct {
	Notebook string `json:"notebook" jsonschema:"path of the notebook"`
	Step     string `json:"step" jsonschema:"id of the new step"`
	After    string `json:"after,omitempty" jsonschema:"id of the step before it; default: the last place"`
	Language string `json:"language" jsonschema:"such as bash or python"`
	Code     string `json:"code" jsonschema:"the code of the step, without its fence"`
	Test     bool   `json:"test,omitempty" jsonschema:"the step is a test"`
	Prose    string `json:"prose,omitempty" jsonschema:"Markdown before the step"`
}

// NotebookDocument is what the tools that write notebooks give.
type NotebookDocument struct {
	Notebook string    `json:"notebook"`         // path below the root of the server
	Step     string    `json:"step,omitzero"`    // that was edited
	Was      *string   `json:"was,omitempty"`    // the code that was replaced
	Dropped  bool      `json:"dropped,omitzero"` // outputs of an earlier run were taken out
	Check    codec.Raw `json:"check"`            // what check finds in it now
}

// maxNotebook bounds a notebook that is edited, in bytes.
const maxNotebook = 16 << 20

// create writes a notebook that is not there, or replaces one.
func (s *server) create(_ context.Context, _ *mcp.CallToolRequest, in createArgs) (answer, error) {
	path, err := child.Root(s.root).Writable(in.Notebook)
	if err != nil {
		return answer{}, err
	}
	if form := notebooks.FormOfName(path); form != notebooks.FormNative && form != notebooks.FormJupyter {
		return answer{}, fmt.Errorf("a new notebook ends in .md or .ipynb, and %s does not", path)
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	doc := NotebookDocument{Notebook: path}
	if _, err := os.Lstat(filepath.Join(s.root, path)); !errors.Is(err, fs.ErrNotExist) {
		if !in.Replace || in.Content == "" {
			return answer{}, fmt.Errorf("%s is there already; give replace=true with the whole content, choose "+
				"another path, or use edit_step", path)
		}
		if err := s.replaced(path); err != nil {
			return answer{}, err
		}
	}
	text := []byte(in.Content)
	if in.Content == "" {
		if _, text, err = new.Content(cmp.Or(in.Kind, "task"), path); err != nil {
			return answer{}, err
		}
	}
	return s.write(doc, text)
}

// replaced returns an error for a file that is no notebook, which is not replaced.
func (s *server) replaced(path string) error {
	src, err := s.source(path)
	if err != nil {
		return err
	}
	if nb, err := parsed(filepath.ToSlash(path), src); err != nil || len(nb.Steps) == 0 {
		return fmt.Errorf("%s is no notebook with steps, and is not replaced", path)
	}
	return nil
}

// write writes a notebook, where outputs may go. It refuses one with mistakes, or without a step; of a notebook that
// had mistakes before, no more than these may be left.
func (s *server) write(doc NotebookDocument, text []byte) (answer, error) {
	found, err := s.checked(doc.Notebook, text)
	if err == nil {
		doc.Check, err = views.Document("check", found)
	}
	if err != nil {
		return answer{}, errors.New("nothing is written: " + program.EscapeLines(err.Error()))
	}
	return answer{doc: doc, more: "Use check for all mistakes."}, nil
}

func (s *server) checked(path string, text []byte) (after check.CheckedNotebooks, err error) {
	file, err := s.app.OpenOutput("NOTEBOOK", path)
	if err != nil {
		return after, err
	}
	defer file.Close()
	before := check.CheckedNotebooks{}
	if _, err := os.Stat(s.app.Path(path)); err == nil {
		before.Add(check.Check(s.app, files.File{Path: path, Named: true}))
	}
	after.Findings = []check.Finding{}
	src, _, err := program.SourceOf(path, text, false, false)
	if err != nil {
		return after, err
	}
	nb, err := check.CheckSource(s.app, path, src)
	switch after.Add(nb, err); {
	case after.Errors > before.Errors:
		return after, err
	case nb == nil || len(nb.Steps) == 0: // it may have been damaged already
		return after, program.BadInput(path, "would have no step")
	}
	return after, file.Write(text)
}

// source are the bytes of a notebook that is changed.
func (s *server) source(path string) ([]byte, error) {
	path, err := s.existing(path)
	if err != nil {
		return nil, err
	}
	full := filepath.Join(s.root, path)
	if info, err := os.Lstat(full); err != nil || info.Size() > maxNotebook {
		return nil, errors.Join(err, fmt.Errorf("%s is longer than %d bytes", path, maxNotebook))
	}
	return os.ReadFile(full)
}

// opened reads a notebook that is changed, without what runs left in it. whole are its bytes.
func (s *server) opened(name string) (nb *notebooks.Notebook, doc NotebookDocument, whole []byte, err error) {
	path, err := child.Root(s.root).Writable(name)
	if err != nil {
		return nil, doc, nil, err
	}
	if whole, err = s.source(path); err != nil {
		return nil, doc, nil, err
	}
	doc.Notebook = path
	src, name := whole, filepath.ToSlash(path)
	if !notebooks.IsJupyterName(path) {
		stripped := region.Strip(name, whole)
		if len(stripped.Problems) > 0 {
			return nil, doc, nil, stripped.Problems
		}
		src = stripped.Source
		doc.Dropped = len(src) != len(whole)
	}
	nb, err = parsed(name, src)
	return nb, doc, whole, err
}

// stepOf is a step of a notebook by its id.
func stepOf(nb *notebooks.Notebook, id string) (*notebooks.Step, error) {
	if step := nb.Step(notebooks.StepID(id)); step != nil {
		return step, nil
	}
	var ids []notebooks.StepID
	for _, s := range nb.Steps {
		ids = append(ids, s.ID)
	}
	return nil, fmt.Errorf("%s has no step %q; it has %v", nb.Name, id, ids)
}

// add adds a step behind another.
func (s *server) add(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (answer, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	before, doc, _, err := s.opened(in.Notebook)
	if err != nil {
		return answer{}, err
	}
	if notebooks.IsJupyterName(doc.Notebook) || before.Form.Script() {
		return answer{}, fmt.Errorf("add_step changes notebooks in Markdown; replace %s with new_notebook",
			doc.Notebook)
	}
	if _, err := steps([]string{in.Step}); err != nil {
		return answer{}, err
	}
	attributes := "#" + in.Step
	if in.Test {
		attributes += " .test"
	}
	if !languageWord.MatchString(in.Language) {
		return answer{}, fmt.Errorf("%s is no name of a language", plain.OneLine(plain.Cut(in.Language, 200)))
	}
	at, place := len(before.Source), len(before.Steps)
	if in.After != "" {
		step, err := stepOf(before, in.After)
		if err != nil {
			return answer{}, err
		}
		at, place = step.Fence.End, slices.Index(before.Steps, step)+1
	}
	code := in.Code
	if code != "" && !strings.HasSuffix(code, "\n") {
		code += "\n"
	}
	fence := strings.Repeat("`", max(3, longestRun(code)+1))
	text := "\n"
	if prose := strings.TrimSpace(in.Prose); prose != "" {
		text += prose + "\n\n"
	}
	text += fence + in.Language + " {" + attributes + "}\n" + code + fence + "\n"
	if at > 0 && before.Source[at-1] != '\n' {
		text = "\n" + text
	}
	next := slices.Concat(before.Source[:at], []byte(text), before.Source[at:])
	after, err := parsed(before.Name, next)
	if err != nil {
		return answer{}, err
	}
	same := len(after.Steps) == len(before.Steps)+1 && string(after.Steps[place].ID) == in.Step &&
		string(after.Steps[place].Code) == code
	for i := 0; same && i < len(before.Steps); i++ {
		now := after.Steps[i]
		if i >= place {
			now = after.Steps[i+1]
		}
		same = now.ID == before.Steps[i].ID && bytes.Equal(now.Code, before.Steps[i].Code)
	}
	if !same {
		return answer{}, fmt.Errorf("step %s would be several steps here, or none (prose holds no steps, "+
			"and an id stands once); replace %s with new_notebook", in.Step, doc.Notebook)
	}
	doc.Step = in.Step
	return s.write(doc, next)
}

// languageWord matches the name of a language.
var languageWord = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+_-]*$`)

// longestRun is the length of the longest run of backquotes at the begin of a line.
func longestRun(code string) (longest int) {
	for line := range strings.Lines(code) {
		text := strings.TrimLeft(line, " ")
		longest = max(longest, len(text)-len(strings.TrimLeft(text, "`")))
	}
	return longest
}

// edit replaces the code of a step.
func (s *server) edit(_ context.Context, _ *mcp.CallToolRequest, in editArgs) (answer, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	before, doc, whole, err := s.opened(in.Notebook)
	if err != nil {
		return answer{}, err
	}
	path, name, src := doc.Notebook, filepath.ToSlash(doc.Notebook), before.Source
	jupyter := notebooks.IsJupyterName(path)
	if jupyter {
		src = whole
	}
	step, err := stepOf(before, in.Step)
	if err != nil {
		return answer{}, err
	}
	doc.Step = in.Step
	was := string(step.Code)
	if doc.Was = &was; in.Was != nil && strings.TrimRight(*in.Was, "\n") != strings.TrimRight(was, "\n") {
		return answer{}, fmt.Errorf("the code of step %s is another than was says; read it again with inspect", in.Step)
	}
	code := in.Code
	if code != "" && !strings.HasSuffix(code, "\n") {
		code += "\n"
	}
	var next []byte
	switch {
	case jupyter:
		next, err = editedCell(name, src, step.ID, code)
	case before.Form.Script():
		err = fmt.Errorf("edit_step changes notebooks in Markdown and Jupyter's; edit the file %s itself", path)
	default:
		next, err = editedFence(before, step, code)
	}
	if err == nil {
		err = onlyStep(name, before, next, step.ID, code)
	}
	if err != nil {
		return answer{}, err
	}
	return s.write(doc, next)
}

// parsed reads the steps of a notebook, also of one with mistakes.
func parsed(name string, src []byte) (*notebooks.Notebook, error) {
	if !notebooks.IsJupyterName(name) {
		nb, err := forms.Parse(name, src)
		if nb == nil {
			return nil, err
		}
		return nb, nil
	}
	book, err := ipynb.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return book.Runnable()
}

// editedFence replaces the code of a fence. The fence becomes longer where the code has one that would end it.
func editedFence(nb *notebooks.Notebook, step *notebooks.Step, code string) ([]byte, error) {
	fence := string(nb.Source[step.Fence.Start:step.Fence.End])
	open, _, _ := strings.Cut(fence, "\n")
	indent := open[:len(open)-len(strings.TrimLeft(open, " \t"))]
	mark := open[len(indent):]
	mark = mark[:len(mark)-len(strings.TrimLeft(mark, mark[:1]))]
	begin := nb.LineStart(step.CodeLine) - step.Fence.Start
	end := strings.LastIndex(strings.TrimRight(fence, "\r\n"), "\n") + 1
	if len(mark) < 3 || begin < len(open) || end < begin || !strings.Contains(fence[end:], mark) {
		return nil, fmt.Errorf("the fence of step %s has no end, or is spelled in an unusual way; edit the file itself",
			step.ID)
	}
	var b strings.Builder
	longest := len(mark) - 1
	for line := range strings.Lines(code) {
		text := strings.TrimLeft(line, " ")
		if run := len(text) - len(strings.TrimLeft(text, mark[:1])); run > longest {
			longest = run
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	longer := strings.Repeat(mark[:1], longest+1)
	head := indent + longer + fence[len(indent)+len(mark):begin]
	tail := strings.Replace(fence[end:], strings.TrimSpace(fence[end:]), longer, 1)
	out := bytes.Clone(nb.Source[:step.Fence.Start])
	out = append(out, head+b.String()+tail...)
	return append(out, nb.Source[step.Fence.End:]...), nil
}

// editedCell replaces the code of a cell, and keeps what stands before it in the cell: options and magic commands.
func editedCell(name string, src []byte, id notebooks.StepID, code string) ([]byte, error) {
	book, err := ipynb.Parse(name, src)
	if err != nil {
		return nil, err
	}
	cells, err := book.StepCells(false)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(cells, func(c ipynb.StepCell) bool { return c.Step.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%s has no cell for step %s; edit the file itself", name, id)
	}
	was := strings.TrimRight(string(cells[i].Step.Code), "\n")
	head, ok := strings.CutSuffix(strings.TrimRight(cells[i].Cell.Source, "\n"), was)
	if !ok {
		return nil, fmt.Errorf("the cell of step %s is not its code alone; edit the file itself", id)
	}
	at, text := cells[i].Cell.SourceAt, head+strings.TrimRight(code, "\n")
	value := codec.RawOf(text)
	if bytes.HasPrefix(bytes.TrimSpace(at.Raw), []byte("[")) {
		line := src[bytes.LastIndexByte(src[:at.Span.Start], '\n')+1 : at.Span.Start]
		indent := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
		if value, err = codec.IndentAs(codec.RawOf(ipynb.Lines(text)), indent, " "); err != nil {
			return nil, err
		}
	}
	return ipynb.Apply(src, []ipynb.Edit{{Span: at.Span, Text: string(value)}}), nil
}

// onlyStep returns an error if an edit changed more than the code of one step.
func onlyStep(name string, before *notebooks.Notebook, next []byte, id notebooks.StepID, code string) error {
	after, err := parsed(name, next)
	if err != nil {
		return fmt.Errorf("with this code %s cannot be read: %w", name, err)
	}
	same := slices.EqualFunc(before.Steps, after.Steps, func(x, y *notebooks.Step) bool {
		return x.ID == y.ID && x.Lang == y.Lang && (x.ID == id || bytes.Equal(x.Code, y.Code))
	})
	if now := after.Step(id); !same || now == nil || string(now.Code) != code {
		return fmt.Errorf("the code of step %s would change more than that step (an option line #| or a magic command "+
			"belongs to the cell); edit the file %s itself", id, name)
	}
	return nil
}
