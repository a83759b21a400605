// Package html renders pages for a browser: one file that loads nothing, of a notebook, an output notebook, a Jupyter
// notebook, a comparison, or the document of a view (package view).
//
// It owns the layout with its style and script, the rendering of regions and documents, the colors of code and terminal
// output, pictures as data: URIs, and the rules for Markdown and HTML on a page.
//
// What always holds: nothing from a notebook becomes a script, or is loaded from anywhere. Properties and values of a
// list become classes of a style. Formulas are text in the page; its second script, on pages that have one, makes
// elements of MathML of them. The writer escapes every text; HTML from a notebook is parsed and written again from a
// list of allowed elements and attributes; pictures are <img> with data: URIs, which run nothing; and a
// Content-Security-Policy with the hashes of the page's own styles and scripts forbids the rest, should any of that
// fail. Text on a page is bounded, and a cut says where the whole text is; the markup around very many small outputs is
// not bounded (100,000 of them in a comparison make 41 MB). A page is a pure function of the notebook's bytes and the
// pictures beside it.
//
// It uses neither html/template nor a lexer library: the former adds 6 MB to the program, the latter 5 MB and 13 ms
// to every start (measured with chroma 2.27); the usual sanitizer adds 4 ms.
//
// It may import notebooks and the packages of render, and never engine.
package html
