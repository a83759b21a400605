package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/docs"
)

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
