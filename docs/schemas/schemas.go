// Package schemas holds the JSON Schemas of what the commands print with --json. TestSchemas of cmd/cli makes them
// from the Go types.
package schemas

import "embed"

// Files are the schemas, NAME.json each.
//
//go:embed *.json
var Files embed.FS
