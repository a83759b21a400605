package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/cmd/markmill/child"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/runs/outfile"
)

type (
	createArgs struct {
		Notebook string `json:"notebook" jsonschema:"path of the new notebook (.md or .ipynb)"`
		Content  string `json:"content,omitempty" jsonschema:"the whole notebook; without it a template is used"`
		Kind     string `json:"kind,omitempty" jsonschema:"template: task (a change and its test, the default) or health"`
	}
	editArgs struct {
		Notebook string  `json:"notebook" jsonschema:"path of the notebook"`
		Step     string  `json:"step" jsonschema:"id of the step"`
		Code     string  `json:"code" jsonschema:"the whole new code of the step, without its fence"`
		Was      *string `json:"was,omitempty" jsonschema:"the code that is replaced; the edit is refused if it is another"`
	}
)

// NotebookDocument is what the tools new_notebook and edit_step give.
type NotebookDocument struct {
	Notebook string    `json:"notebook"`         // path below the root of the server
	Step     string    `json:"step,omitzero"`    // that was edited
	Was      *string   `json:"was,omitempty"`    // the code that was replaced
	Dropped  bool      `json:"dropped,omitzero"` // outputs of an earlier run were taken out
	Check    codec.Raw `json:"check"`            // what check finds in it now
}

// maxNotebook bounds a notebook that is edited, in bytes.
const maxNotebook = 16 << 20

// checked is the answer of a tool that wrote a notebook.
func (s *server) checked(ctx context.Context, doc NotebookDocument) (answer, error) {
	found, err := s.Document(ctx, "check", "--json", "--", doc.Notebook)
	if err != nil {
		return answer{}, fmt.Errorf("%s is written, and cannot be checked: %w", doc.Notebook, err)
	}
	doc.Check = found
	return answer{doc: made("mcp-notebook", doc), more: "Use check for all mistakes."}, nil
}

// create writes a notebook that is not there.
func (s *server) create(ctx context.Context, _ *mcp.CallToolRequest, in createArgs) (answer, error) {
	path, err := s.inside(in.Notebook)
	if err != nil {
		return answer{}, err
	}
	if form := notebooks.FormOfName(path); form != notebooks.FormNative && form != notebooks.FormJupyter {
		return answer{}, fmt.Errorf("a new notebook ends in .md or .ipynb, and %s does not", path)
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	full := filepath.Join(s.root, path)
	if _, err := os.Lstat(full); !errors.Is(err, fs.ErrNotExist) {
		return answer{}, fmt.Errorf("%s is there already; choose another path, or use edit_step", path)
	}
	if in.Content == "" {
		if in.Kind == "" {
			in.Kind = "task"
		}
		code, words, err := s.Do(ctx, child.Call{Args: []string{"new", "--kind=" + in.Kind, "--", path},
			To: &child.Most{}})
		if err == nil && code != 0 {
			err = child.Said(code, words)
		}
		if err != nil {
			return answer{}, err
		}
		return s.checked(ctx, NotebookDocument{Notebook: path})
	}
	if err := write(full, []byte(in.Content)); err != nil {
		return answer{}, err
	}
	return s.checked(ctx, NotebookDocument{Notebook: path})
}

// write writes a notebook.
func write(path string, data []byte) error {
	file, err := outfile.Open(path, outfile.Rules{})
	if err != nil {
		return err
	}
	return errors.Join(file.Write(data), file.Close())
}

// edit replaces the code of a step.
func (s *server) edit(ctx context.Context, _ *mcp.CallToolRequest, in editArgs) (answer, error) {
	path, err := s.existing(in.Notebook)
	if err != nil {
		return answer{}, err
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	full := filepath.Join(s.root, path)
	if info, err := os.Lstat(full); err != nil || info.Size() > maxNotebook {
		return answer{}, errors.Join(err, fmt.Errorf("%s is longer than %d bytes", path, maxNotebook))
	}
	src, err := os.ReadFile(full)
	if err != nil {
		return answer{}, err
	}
	doc := NotebookDocument{Notebook: path, Step: in.Step}
	name := filepath.ToSlash(path)
	jupyter := notebooks.IsJupyterName(path)
	if !jupyter {
		s := region.Strip(name, src)
		if len(s.Problems) > 0 {
			return answer{}, s.Problems
		}
		doc.Dropped = len(s.Source) != len(src)
		src = s.Source
	}
	before, err := parsed(name, src)
	if err != nil {
		return answer{}, err
	}
	step := before.Step(notebooks.StepID(in.Step))
	if step == nil {
		var ids []notebooks.StepID
		for _, s := range before.Steps {
			ids = append(ids, s.ID)
		}
		return answer{}, fmt.Errorf("%s has no step %q; it has %v", path, in.Step, ids)
	}
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
	if err == nil {
		err = write(full, next)
	}
	if err != nil {
		return answer{}, err
	}
	return s.checked(ctx, doc)
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
