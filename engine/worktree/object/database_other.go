//go:build !unix

package object

// Database, elsewhere than on Unix, has no objects: go-git reads them.
type Database struct{}

// OpenDatabase finds nothing.
func OpenDatabase(*Format, ...string) *Database { return &Database{} }

// Reader reads nothing.
type Reader struct{}

// NewReader makes a reader.
func (*Database) NewReader() *Reader { return &Reader{} }

// Get finds nothing.
func (*Reader) Get(string, Digest) (data []byte, ok bool) { return nil, false }
