package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/outdated"
	"markmill/cmd/internal/program"
	gate "markmill/cmd/internal/status"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/check"
	"markmill/cmd/markmill/diff"
	"markmill/cmd/markmill/list"
	"markmill/cmd/markmill/notebook/scraps"
	"markmill/cmd/markmill/review"
	"markmill/cmd/markmill/show"
	"markmill/cmd/markmill/status"
	"markmill/cmd/markmill/verify"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// tool is one line of the table.
type tool struct {
	name  string
	reads bool
	add   func(*server, *mcp.Server) error
}

// hints are what a client may show or ask its user for.
type hints struct{ reads, writes, runs bool }

var (
	reads  = hints{reads: true}
	writes = hints{writes: true}
	starts = hints{runs: true}
)

// documentSchema is the schema of what every tool gives. docs/schemas has more for each document, for programs: a model
// that is shown what comes needs none, and clients hand it all schemas with every request.
func documentSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Required: []string{"schema", "untrusted"},
		Properties: map[string]*jsonschema.Schema{"schema": {Type: "string"}, "untrusted": {Type: "string"},
			"shortened": {Type: "string"}}}
}

// define makes a tool. In has its arguments, from which the library makes the schema that it holds calls to; document
// names what it gives.
func define[In any](name, title string, h hints, document, about string,
	do func(*server, context.Context, *mcp.CallToolRequest, In) (answer, error)) tool {
	return tool{name, h.reads, func(s *server, to *mcp.Server) error {
		takes, err := argumentsOf[In]()
		if err != nil {
			return err
		}
		no, open := false, h.runs
		mcp.AddTool(to, &mcp.Tool{Name: name, Title: title, Description: about, InputSchema: takes,
			OutputSchema: documentSchema(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: h.reads, DestructiveHint: &no, IdempotentHint: h.reads,
				OpenWorldHint: &open}},
			func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
				call := func() (answer, error) { return do(s, ctx, req, in) }
				if h.reads {
					tool := call
					call = func() (answer, error) { return s.read(ctx, tool) }
				}
				got, err := call()
				if err != nil {
					return nil, nil, errors.New(forPersons(err.Error()))
				}
				// The library would write numbers of what it is given as output anew, as floating point.
				result, err := got.result(document)
				return result, nil, err
			})
		return nil
	}}
}

// turn waits until this call may read, and returns what ends its turn.
func (s *server) turn(ctx context.Context) (end func(), err error) {
	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// read calls a tool that reads.
func (s *server) read(ctx context.Context, call func() (answer, error)) (got answer, err error) {
	end, err := s.turn(ctx)
	if err != nil {
		return got, err
	}
	defer end()
	if got, err = call(); err != nil {
		err = errors.New(program.EscapeLines(err.Error()))
	}
	return got, err
}

// argumentsOf is the schema of arguments. An argument that is left out is not null: some clients know one type a value.
func argumentsOf[In any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	for _, p := range schema.Properties {
		if len(p.Types) == 2 && p.Types[0] == "null" {
			p.Type, p.Types = p.Types[1], nil
		}
	}
	return schema, nil
}

// These are the arguments of the tools.
type (
	notebookArgs struct {
		Notebook string `json:"notebook" jsonschema:"path of the notebook"`
	}
	pathsArgs struct {
		Paths []string `json:"paths,omitempty" jsonschema:"notebooks and folders; default: the whole repository"`
		At    string   `json:"at,omitempty" jsonschema:"a revision of Git to compare with instead of the checkout"`
	}
	checkArgs struct {
		Paths []string `json:"paths" jsonschema:"notebooks and folders"`
	}
	runArgs struct {
		Run string `json:"run,omitempty" jsonschema:"id of a run, a part of one, or last (the default)"`
	}
	logArgs struct {
		Run    string `json:"run,omitempty" jsonschema:"id of a run, a part of one, or last (the default)"`
		Step   string `json:"step" jsonschema:"id of the step"`
		Stream string `json:"stream,omitempty" jsonschema:"stdout (the default) or stderr"`
		From   *int64 `json:"from,omitempty" jsonschema:"first byte to show; without it the end is shown"`
	}
	changesArgs struct {
		Run  string `json:"run,omitempty" jsonschema:"id of a run, a part of one, or last (the default)"`
		Step string `json:"step,omitempty" jsonschema:"id of a step; default: all steps"`
		From *int64 `json:"from,omitempty" jsonschema:"first byte to show (default 0)"`
	}
	diffArgs struct {
		A string `json:"a" jsonschema:"the old one: a run, a notebook, or REV:PATH"`
		B string `json:"b" jsonschema:"the new one: a run, a notebook, or REV:PATH"`
	}
	verifyArgs struct {
		What string `json:"what,omitempty" jsonschema:"a run (default: last) or an output notebook"`
	}
	scrapsArgs struct {
		Of   []string `json:"of,omitempty" jsonschema:"runs and output notebooks (default: the last run)"`
		Name []string `json:"name,omitempty" jsonschema:"only values with these names; * stands for anything"`
	}
	listArgs struct {
		Limit    int      `json:"limit,omitempty" jsonschema:"at most so many (default 20)"`
		Status   []string `json:"status,omitempty" jsonschema:"pass, fail, blocked, partial, interrupted or running"`
		Notebook string   `json:"notebook,omitempty" jsonschema:"only runs of this notebook"`
	}
	queryArgs struct {
		SQL string `json:"sql" jsonschema:"one SELECT of SQLite"`
	}
	reviewArgs struct {
		Revisions string `json:"revisions,omitempty" jsonschema:"BASE..HEAD or BASE; default: where the checkout left main"`
	}
	gateArgs struct {
		Revision string `json:"revision,omitempty" jsonschema:"REV or BASE..HEAD; default: the checkout"`
	}
)

// tools is the table of what a client can call. It is a function, so that other commands do not make it.
func tools() []tool {
	return []tool{
		define("inspect", "Inspect a notebook", reads, "inspect",
			"Show a notebook's parameters, steps with their code, and gates. Nothing runs.",
			ofNotebook(check.Inspected)),
		define("check", "Check notebooks", reads, "check",
			"Report every mistake in notebooks, with file, line, what was expected and how to fix it. Nothing runs.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in checkArgs) (answer, error) {
				if len(in.Paths) == 0 {
					return answer{}, fmt.Errorf("paths is empty; give a notebook, or . for all")
				}
				paths, err := s.below(in.Paths)
				if err != nil {
					return answer{}, err
				}
				found, err := check.Paths(ctx, s.app, paths, func(path string) bool { // not through links
					_, err := s.existing(path)
					return err == nil
				})
				return answer{doc: found, more: "Check fewer notebooks at once."}, err
			}),
		define("status", "Status of outputs", reads, "status",
			"List notebooks with the state of their outputs: current, outdated (with the "+
				"reason), failed, blocked, partial, unknown, edited, damaged, missing.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in pathsArgs) (answer, error) {
				if in.At != "" {
					if _, err := revision(in.At); err != nil {
						return answer{}, err
					}
				}
				paths, err := s.below(in.Paths)
				if err != nil {
					return answer{}, err
				}
				_, st, err := outdated.StatusOf(ctx, s.app, "", paths, in.At)
				if err != nil {
					return answer{}, err
				}
				return answer{doc: st.ForJSON(), more: "Name a folder in paths."}, nil
			}),
		define("gate", "Gate", reads, "gate",
			"Say whether every output is current, passed and has the proof that the settings "+
				"ask for; if not, why, and the command that fixes each. Call it before you say that you are done.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in gateArgs) (answer, error) {
				var words []string
				if in.Revision != "" {
					rev, err := revision(in.Revision)
					if err != nil {
						return answer{}, err
					}
					words = []string{rev}
				}
				doc, err := s.gate(ctx, words)
				return answer{doc: doc}, err
			}),
		define("run", "Run a notebook", starts, "run",
			"Run a notebook in a Git worktree of its own; the checkout stays as it is, but for the output notebook. "+
				"Returns the verdict, and for a run that did not pass its cause: step, line, command, error, end of "+
				"what was printed, fix. Uncommitted changes of other files count with dirty=include. A run that is "+
				"blocked waits for a person.", (*server).runNotebook),
		define("show", "Show a run", reads, "run",
			"Show what a run was asked, did and left: verdict, cause, steps, scraps, changed files.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in runArgs) (answer, error) {
				run, err := s.run(in.Run)
				if err != nil {
					return answer{}, err
				}
				found, err := s.found(run)
				if err != nil {
					return answer{}, err
				}
				return shown(found), nil
			}),
		define("show_output", "Show an output notebook", reads, "notebook",
			"Show an output notebook: its steps, what they printed and their verdicts.",
			ofNotebook(show.Notebook)),
		define("log", "Log of a step", reads, "mcp-text",
			"Show what a step of a run printed, its end first; from gives any other part of it.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in logArgs) (answer, error) {
				switch in.Stream {
				case "", "stdout", "stderr":
				default:
					return answer{}, fmt.Errorf("stream is stdout or stderr; the change of a step is what the tool " +
						"changes gives")
				}
				return s.text(in.Run, in.Step, in.From, show.Streams{Stderr: in.Stream == "stderr"})
			}),
		define("changes", "Changes of a run", reads, "mcp-text",
			"Show what a run, or one of its steps, changed in the worktree, as a patch.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in changesArgs) (answer, error) {
				if in.From == nil {
					in.From = new(int64)
				}
				return s.text(in.Run, in.Step, in.From, show.Streams{Patch: true})
			}),
		define("diff", "Compare", reads, "diff",
			"Compare two notebooks or runs: status, tests, parameters, steps, scraps, changes.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in diffArgs) (answer, error) {
				a, err := s.compared(in.A)
				if err != nil {
					return answer{}, err
				}
				b, err := s.compared(in.B)
				if err != nil {
					return answer{}, err
				}
				doc, err := diff.Document(s.app, []string{a, b})
				return answer{doc: doc}, err
			}),
		define("verify", "Verify a record", reads, "verify",
			"Recompute everything of a run, or of an output notebook, from its bytes.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in verifyArgs) (answer, error) {
				if in.What == "" {
					in.What = "last"
				}
				what, err := s.named(in.What)
				if err != nil {
					return answer{}, err
				}
				if info, err := os.Stat(s.app.Path(what)); err == nil && info.Size() > files.MaxNotebook {
					return answer{}, fmt.Errorf("%s has %d bytes, and a server reads at most %d; markmill verify "+
						"reads it", what, info.Size(), files.MaxNotebook)
				}
				found, _, err := verify.Document(s.app, what, "", false)
				return answer{doc: found}, err
			}),
		define("scraps", "Recorded values", reads, "scraps",
			"Show the values that runs recorded with glue, a row for each run or notebook.",
			func(s *server, _ context.Context, _ *mcp.CallToolRequest, in scrapsArgs) (answer, error) {
				if len(in.Of) == 0 {
					in.Of = []string{"last"}
				}
				words := make([]string, len(in.Of))
				for i, word := range in.Of {
					var err error
					if words[i], err = s.named(word); err != nil {
						return answer{}, err
					}
				}
				found, err := scraps.Document(s.app, words, in.Name)
				return answer{doc: found, more: "Choose values by name, or ask for fewer runs."}, err
			}),
		define("list", "List runs", reads, "runs-list",
			"List the runs that are kept, the newest first, each with why it did not pass.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (answer, error) {
				if in.Limit <= 0 {
					in.Limit = 20
				}
				f := index.Filter{Notebook: in.Notebook, Limit: in.Limit}
				for _, word := range in.Status {
					f.Statuses = append(f.Statuses, runs.Status(word))
					if !slices.Contains(list.Statuses, runs.Status(word)) {
						return answer{}, fmt.Errorf("%s is no status; the statuses are %v",
							plain.OneLine(plain.Cut(word, 200)), list.Statuses)
					}
				}
				found, err := s.list(ctx, f)
				return answer{doc: list.Document(found), more: "Give a smaller limit."}, err
			}),
		define("query", "Query the index of runs", reads, "runs-query",
			"Ask the index of the runs in SQL, read-only. Views: runs, steps, parameters, scraps, checks, tests, "+
				"blockers, changes; SELECT name, sql FROM sqlite_schema shows their columns.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in queryArgs) (answer, error) {
				// A process of its own: a statement may take all memory while it sorts.
				doc, err := s.Document(ctx, "list", "--json", "--query="+in.SQL)
				return answer{doc: doc, more: "Choose fewer columns or rows."}, err
			}),
		define("review", "Review the branch", reads, "review",
			"Show what the reviewer of this branch will see: weakened rules, contracts and tests first, then every "+
				"notebook and output that differs.",
			func(s *server, ctx context.Context, _ *mcp.CallToolRequest, in reviewArgs) (answer, error) {
				if in.Revisions != "" {
					base, head, _ := strings.Cut(strings.Replace(in.Revisions, "...", "..", 1), "..")
					if _, err := revision(base); err != nil {
						return answer{}, err
					}
					if _, err := revision(head + base); err != nil {
						return answer{}, err
					}
				}
				doc, err := review.Document(ctx, s.app, in.Revisions)
				return answer{doc: doc, more: "Give two revisions that are closer to each other."}, err
			}),
		define("outdated", "Run what is outdated", starts, "gate",
			"Run every notebook whose output is not current, each to the output and with the parameters that it has: "+
				"what makes the gate pass after a change of the code. Uncommitted changes count. Returns what the "+
				"gate says afterwards.", (*server).runOutdated),
		define("new_notebook", "Write a notebook", writes, "mcp-notebook",
			"Write a notebook: with the given content, or from a template. One with mistakes is "+
				"refused.", (*server).create),
		define("edit_step", "Edit a step", writes, "mcp-notebook",
			"Replace the code of one step of a notebook (Markdown or Jupyter); everything else stays. A mistake more "+
				"is refused.", (*server).edit),
		define("add_step", "Add a step", writes, "mcp-notebook",
			"Add a step, with prose before it, to a notebook in Markdown; everything else stays. A mistake more is "+
				"refused.", (*server).add),
	}
}

// ofNotebook is a tool that reads one notebook.
func ofNotebook[T any](read func(*program.App, string) (T, error)) func(*server, context.Context, *mcp.CallToolRequest,
	notebookArgs) (answer, error) {
	return func(s *server, _ context.Context, _ *mcp.CallToolRequest, in notebookArgs) (answer, error) {
		path, err := s.existing(in.Notebook)
		if err != nil {
			return answer{}, err
		}
		found, err := read(s.app, path)
		return answer{doc: found, more: "The notebook itself is the resource " + notebookURI + path + "."}, err
	}
}

// below are files and folders that a client named.
func (s *server) below(names []string) (paths []string, err error) {
	for _, name := range names {
		path, err := s.inside(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// gate is what the gate says of words.
func (s *server) gate(ctx context.Context, words []string) ([]byte, error) {
	g, _, err := status.Gate(ctx, s.app, words, gate.GateOptions{})
	if err != nil {
		return nil, err
	}
	return views.Document("gate", g.ForJSON())
}

// list lists runs.
func (s *server) list(ctx context.Context, f index.Filter) (items []index.Item, err error) {
	store, _, err := s.app.Indexed()
	if err != nil {
		return nil, err
	}
	x, err := index.Open(ctx, store, index.Options{})
	if err != nil {
		return nil, err
	}
	items, err = x.List(f)
	return items, errors.Join(err, x.Close())
}
