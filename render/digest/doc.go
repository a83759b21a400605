// Package digest says how the checks and runs of notebooks were in a period: as data, and as the document that
// comments, mails, pages and the terminal show. It reads the index of the runs and the notebooks in their records.
package digest
