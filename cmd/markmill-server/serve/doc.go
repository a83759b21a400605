// Package serve has the options of the workbench, and the tokens of people. What it serves is in web.
package serve
