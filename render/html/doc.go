// Package html makes pages for a browser: one file that loads nothing, of a notebook, an output notebook, a Jupyter
// notebook, a comparison, or a review.
//
// It owns the page (its style and script, the order of what stands in it), the reading of an output notebook's regions
// for it, the colours of code and of terminals, pictures as data: URIs, and what of Markdown and HTML may reach a page.
//
// What always holds: nothing of a notebook is a script, a style, or loaded from anywhere. Every text is escaped by the
// writer; HTML of a notebook is read by an HTML parser and written anew from a list of elements and attributes that are
// allowed; pictures are <img> of data: URIs, which run nothing; and a Content-Security-Policy that names the page's own
// style and script by their digests forbids all else, should any of that fail. The text on a page is bounded, and what
// is cut says so, and where the whole is; the markup around very many small outputs is not (100,000 of them in a
// comparison are 41 MB). A page is a pure function of the notebook's bytes and the pictures beside it.
//
// Neither html/template nor a library of lexers stands behind it: the first adds 6 MB to the program, the second 5 MB
// and 13 ms to every start of it (measured with chroma 2.27), the usual sanitizer 4 ms.
//
// It may import notebooks, render/plain, render/diffview and render/review, and never engine.
package html
