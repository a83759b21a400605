// Package mergereview says before a merge which notebooks fail on its result, though both sides are green.
//
// It owns the merge in memory, which notebooks it touches (those with an input, by package render/fresh, that is
// neither as on one side nor as on the other), and the runs on the merged tree.
//
// What always holds: the user's checkout and Git directory are only read. The objects of the merge are in a clone that
// is removed; each run is a run like any other, with a record in the store of the repository. A notebook is passed over
// only where a side that passed has read nothing but what the merged tree has, too.
//
// It may import everything but cmd/cmdtest.
package mergereview
