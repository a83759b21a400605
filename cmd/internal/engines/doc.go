// Package engines makes an engine for a folder, with the settings of the repository around it.
package engines
