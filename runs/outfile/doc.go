// Package outfile writes the files that Markmill leaves for people, outside its store.
//
// There are two kinds. A setting (Setting, New) is a file that a command owns and names itself, as git install and
// schedule install do. Everything else is an output: OUTPUT and its pictures, --events, --html, what convert and
// test --update write. An output is opened (Open) before the first step runs. It holds the folder as a descriptor
// and is written by that descriptor only, so a step that replaces the folder or the file by a link changes nothing
// elsewhere.
//
// It owns the list of files that no output may be (reserved), which links are followed, the names of files that are
// being written, and the folders that a command with several runs may write into (Held). What always holds: an output
// has its old bytes or its new ones, and is where its path led when it was opened. Only runs may be imported, and
// notebooks.
package outfile
