//go:build !linux

package engine

import "io/fs"

func statWords(info fs.FileInfo) any { return info.Size() }
