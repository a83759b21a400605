// Package fresh decides whether the result of a run still holds in another tree.
//
// It owns the comparison of the inputs in a manifest with a tree, and the words that say what changed. What always
// holds: it never says that a result is current where one of its inputs differs or cannot be looked up.
//
// It may import notebooks, and nothing that reads files or starts programs: the tree is handed in.
package fresh
