// Package junit writes test reports for CI systems in JUnit's XML, as Ant's task introduced it.
//
// It owns the order of elements and the attributes that both schemas in use accept (Ant's, as Windy Road wrote it
// down, and Jenkins's), the counts, and the bounds on text.
//
// What always holds: the file is well-formed XML 1.0 whatever the texts hold. Control characters are escaped.
//
// It may import render/plain, and nothing else of this module.
package junit
