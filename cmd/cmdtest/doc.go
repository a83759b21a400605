// Package cmdtest tests both programs as people use them: it runs the built program, on the scripts that lie beside
// each command (cmd/*/*/testdata/*.txtar), and in tests of its own. One package, so that one test binary links
// everything. It has no code of the programs.
package cmdtest
