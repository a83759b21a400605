//go:build !linux

package disk

// Mark does nothing: what is read is not seen here.
func (f *Folder) Mark(string) error { return nil }

func (f *Folder) LstatRead(name string) (Stat, bool, error) {
	st, err := f.Lstat(name)
	return st, false, err
}

func (f *Folder) StatRead() (Stat, bool, error) {
	st, err := f.Stat()
	return st, false, err
}
