// Package program is what every command is given: App, with the streams, the clock and the environment (World), what it
// prints (Console), where records, caches and repositories are (Places) and what the user names (Input). It has the
// exit codes, mistakes of usage, and the options and checks that several commands share.
//
// It imports no command. What one command alone needs is in that command's folder.
package program
