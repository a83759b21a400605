// Package digest says how the checks and runs of notebooks were in a time: as data, as text for a terminal, and as
// Markdown. The page is render/html's. It reads the index of the runs and the notebooks in their records.
package digest
