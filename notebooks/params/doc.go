// Package params reads the parameters of notebooks: their declarations (YAML or JSON blocks, assignments in code) and
// the values given to a run, by declared type (Bind).
//
// A value keeps its author's spelling: 007 stays text where a string is declared. No error shows a secret. The types
// Param, Value and Bound are in notebooks.
package params
