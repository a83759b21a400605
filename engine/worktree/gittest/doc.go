// Package gittest makes repositories with the Git program, the oracle of the worktree's tests.
package gittest
