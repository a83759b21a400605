package mcp

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/outdated"
	"markmill/docs"
	"markmill/notebooks"
	"markmill/runs"
	"markmill/runs/index"
)

// The resources of a server.
const (
	runURI      = "markmill://run/"
	notebookURI = "markmill://notebook/"
)

// maxResource bounds a resource, in bytes: a client cannot ask for a part of one.
const maxResource = 1 << 20

func (s *server) addResources(to *mcp.Server) {
	to.AddResourceTemplate(&mcp.ResourceTemplate{Name: "record", URITemplate: runURI + "{run}/{+file}",
		Description: "a file of the record of a run: report.json, output.md, events.jsonl, patch.diff, steps/…"},
		s.readRecord)
	to.AddResourceTemplate(&mcp.ResourceTemplate{Name: "notebook", URITemplate: notebookURI + "{+path}",
		Description: "a notebook or an output notebook below the root of the server"}, s.readNotebook)
	to.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
			defer func() { // this process serves others, too
				if fault := recover(); fault != nil {
					err = fmt.Errorf("this is a fault of Markmill: %v", fault)
				}
			}()
			if method != "resources/list" {
				return next(ctx, method, req)
			}
			end, err := s.turn(ctx)
			if err != nil {
				return nil, err
			}
			defer end()
			list, err := s.resources(ctx)
			return &mcp.ListResourcesResult{Resources: list}, err
		}
	})
}

// listedRuns bounds the runs that resources/list names.
const listedRuns = 20

// resources are the newest runs' output notebooks, and those that lie in the repository.
func (s *server) resources(ctx context.Context) ([]*mcp.Resource, error) {
	list := []*mcp.Resource{guide}
	kept, err := s.list(ctx, index.Filter{Limit: listedRuns})
	if err != nil {
		return nil, err
	}
	for _, r := range kept {
		list = append(list, &mcp.Resource{URI: runURI + string(r.ID) + "/report.json", Name: string(r.ID),
			MIMEType: "application/json", Description: string(r.Status) + ": " + r.Notebook})
	}
	_, there, err := outdated.StatusOf(ctx, s.app, "", nil, "")
	if err != nil {
		return list, nil //nolint:nilerr // outside a repository there is no status
	}
	for _, o := range there.Outputs {
		if _, err := s.existing(o.Path); o.Path == "" || err != nil {
			continue
		}
		list = append(list, &mcp.Resource{URI: notebookURI + (&url.URL{Path: o.Path}).EscapedPath(), Name: o.Path,
			MIMEType: mimeType(o.Path), Description: "output notebook, " + string(o.State)})
	}
	return list, nil
}

func mimeType(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md":
		return "text/markdown"
	case ".json", ".ipynb":
		return "application/json"
	case ".jsonl":
		return "application/jsonl"
	}
	return "text/plain"
}

func (s *server) readRecord(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	word, file, ok := strings.Cut(strings.TrimPrefix(uri, runURI), "/")
	file, err := url.PathUnescape(file)
	if !ok || err != nil || !runWord.MatchString(word) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	_, dir, err := s.app.Find(word)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	record := runs.At(dir) // from which neither a name nor a link leads out
	info, err := record.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if info.Size() > maxResource {
		return nil, tooLong(uri, info.Size())
	}
	text, err := record.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return contents(uri, file, []byte(forPersons(string(text)))), nil
}

func (s *server) readNotebook(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	name, err := url.PathUnescape(strings.TrimPrefix(uri, notebookURI))
	if err != nil || notebooks.FormOfName(name) == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	path, err := s.existing(name)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	full := filepath.Join(s.root, path)
	if info, err := os.Lstat(full); err == nil && info.Size() > maxResource {
		return nil, tooLong(uri, info.Size())
	}
	text, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	if child.IsOutput(path, text) { // else they are its author's words, which an edit says again
		text = []byte(forPersons(string(text)))
	}
	return contents(uri, name, text), nil
}

func tooLong(uri string, size int64) error {
	return fmt.Errorf("%s has %d bytes, and a resource at most %d; the tools log, changes and show give parts", uri,
		size, maxResource)
}

// contents marks what is read as text of others.
func contents(uri, name string, text []byte) *mcp.ReadResourceResult {
	c := &mcp.ResourceContents{URI: uri, MIMEType: mimeType(name), Meta: mcp.Meta{"markmill/untrusted": untrusted}}
	if t := valid(text); t == string(text) {
		c.Text = t
	} else {
		c.MIMEType, c.Blob = "application/octet-stream", text
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

// guideURI is the resource that says how notebooks are written.
const guideURI = "markmill://guide"

var guide = &mcp.Resource{URI: guideURI, Name: "guide", Title: "Guide for coding agents", MIMEType: "text/markdown",
	Description: "how a notebook is written, run and mended, in 40 lines"}

// addGuide offers docs/for-agents.md as a resource and as a prompt.
func addGuide(to *mcp.Server) {
	to.AddResource(guide,
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: guideURI, MIMEType: guide.MIMEType,
				Text: docs.ForAgents}}}, nil
		})
	to.AddPrompt(&mcp.Prompt{Name: guide.Name, Title: guide.Title, Description: guide.Description},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: guide.Description, Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: docs.ForAgents}}}}, nil
		})
}
