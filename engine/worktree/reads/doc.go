// Package reads watches which files and folders of a worktree are opened.
//
// It owns the watches of inotify and the set of what was opened since it was last taken. What always holds: a path that
// was opened is in the set, or Take says that events were lost. Access times, which see what inotify does not (files
// opened by way of another name), are those of package snapshot.
package reads
