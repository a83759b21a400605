// Package judging judges a branch with the judges of its base: the notebooks of BASE run on the code of HEAD with the
// tests, fixtures and settings of BASE put back.
//
// It owns which files are put back (by the table of package engine), what of a notebook runs again and how often, and
// the grade of a test that then fails: an objection, a decision for a person, or a note.
//
// What always holds: contract and settings are those of BASE, so that a branch does not choose who judges it; an
// agent's step never runs; what could not be judged is told and is no pass. The user's checkout is only read; each run
// has a record in the store like any other.
//
// It may import everything but cmd/cmdtest.
package judging
