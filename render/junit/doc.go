// Package junit writes the report of tests that CI systems read: JUnit's XML, as Ant's task began it.
//
// It owns the spelling: the order of elements and the attributes that both schemas in use (Ant's, which Windy Road
// wrote down, and Jenkins's) take, the counts, and the bounds on text.
//
// What always holds: the file is well-formed XML 1.0 whatever the texts hold; control characters stand in it
// as escapes.
//
// It may import render/plain, and nothing else of this module.
package junit
