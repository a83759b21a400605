package api_test

import (
	"testing"

	"markmill/engine/worktree/gittest"
)

// The packages below this one are tested here where their exported names suffice: each of their test binaries would
// link the whole engine.
func TestMain(m *testing.M) { gittest.Main(m) }
