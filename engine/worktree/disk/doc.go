// Package disk reads and writes files below a folder without following a symbolic link that is put in the way.
//
// On Linux a Folder is a descriptor and everything in it is reached relative to that; os.Root would not do, since it
// follows links that stay inside, and returns fewer fields of a file's stat. Elsewhere a Folder is a path.
package disk
