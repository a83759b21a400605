// Package rules says what Git's configuration, .gitignore and .gitattributes mean for a path: whether it is ignored,
// and how its content is converted between the worktree and the repository.
//
// The rules are Git's own, byte for byte, and tests compare them with the Git program. Of go-git only the parser of
// configuration files is used. Its gitignore package ignores core.ignoreCase, does not backtrack after "**" ("**/a/b"
// misses a/x/a/b) and is slower; its gitattributes package matches with filepath.Match, which knows neither classes nor
// the case of names.
package rules
