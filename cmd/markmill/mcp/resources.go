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
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
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
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/list" {
				return next(ctx, method, req)
			}
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
	var kept struct {
		Runs []runs.Entry `json:"runs"`
	}
	doc, err := s.Document(ctx, "list", "--json", fmt.Sprintf("--limit=%d", listedRuns))
	if err == nil {
		err = codec.Unmarshal(doc, &kept)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range kept.Runs {
		list = append(list, &mcp.Resource{URI: runURI + string(r.ID) + "/report.json", Name: string(r.ID),
			MIMEType: "application/json", Description: string(r.Status) + ": " + r.Notebook})
	}
	var there struct {
		Outputs []struct {
			Path  string `json:"path"`
			State string `json:"state"`
		} `json:"outputs"`
	}
	if doc, err = s.Document(ctx, "status", "--json"); err != nil {
		return list, nil // outside a repository there is no status
	}
	if err := codec.Unmarshal(doc, &there); err != nil {
		return nil, err
	}
	for _, o := range there.Outputs {
		if _, err := s.existing(o.Path); o.Path == "" || err != nil {
			continue
		}
		list = append(list, &mcp.Resource{URI: notebookURI + (&url.URL{Path: o.Path}).EscapedPath(), Name: o.Path,
			MIMEType: mimeType(o.Path), Description: "output notebook, " + o.State})
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

func (s *server) readRecord(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	word, file, ok := strings.Cut(strings.TrimPrefix(uri, runURI), "/")
	file, err := url.PathUnescape(file)
	if !ok || err != nil || !runWord.MatchString(word) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	doc, err := s.Document(ctx, "show", "--json", "--", word)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	var shown struct {
		Dir string `json:"run_dir"`
	}
	if err := codec.Unmarshal(doc, &shown); err != nil {
		return nil, err
	}
	record := runs.At(shown.Dir) // from which neither a name nor a link leads out
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
