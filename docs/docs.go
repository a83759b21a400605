// Package docs holds the documents that programs print.
package docs

import _ "embed"

// ForAgents is what a coding agent must know.
//
//go:embed for-agents.md
var ForAgents string
