package api_test

import (
	"testing"

	"markmill/engine/worktree/gittest"
)

func TestMain(m *testing.M) { gittest.Main(m) }
