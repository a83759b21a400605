// Package notebook is the group of the commands that work on notebooks as files: each has a folder of its own below.
package notebook
