// Package help prints the help of a command, with its options under headings, and says what an option of another
// program is called here. The headings are tables. It imports no command.
package help
