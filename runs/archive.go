package runs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// archive is a tar archive of one run directory. The files are read from where they are in it.
type archive struct {
	path  string
	top   string            // the folder in the archive that holds the record; "." is none
	files map[string]member // by the name in the record
	names []string          // in lexical order of folders
}

type member struct {
	info   fs.FileInfo
	offset int64
}

// openArchive lists a tar archive. Its files are all below one folder, or all at the top.
func openArchive(file string) (*archive, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	members, err := listTar(f)
	if err != nil {
		return nil, err
	}
	a := &archive{path: file, files: map[string]member{}, top: "."}
	if _, there := members[JournalFile]; !there {
		for name := range members {
			if path.Base(name) == JournalFile && strings.Count(name, "/") == 1 {
				a.top = path.Dir(name)
			}
		}
		if a.top == "." {
			return nil, errNoRecord
		}
	}
	for name, m := range members {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, file := members[dir]; file {
				return nil, fmt.Errorf("%q in it is both a file and a folder", dir)
			}
		}
		inside, below := name, true
		if a.top != "." {
			inside, below = strings.CutPrefix(name, a.top+"/")
		}
		if !below {
			return nil, fmt.Errorf("%q in it is not in the folder of the record, %s", name, a.top)
		}
		a.files[inside] = m
		a.names = append(a.names, inside)
	}
	slices.SortFunc(a.names,
		func(x, y string) int { return slices.Compare(strings.Split(x, "/"), strings.Split(y, "/")) })
	return a, nil
}

// listTar returns the members of an archive that are not folders.
func listTar(f *os.File) (map[string]member, error) {
	members := map[string]member{}
	for in := tar.NewReader(f); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, errNoRecord
		}
		if header.Typeflag == tar.TypeDir || header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name := path.Clean(header.Name)
		_, twice := members[name]
		switch {
		case !filepath.IsLocal(filepath.FromSlash(name)):
			return nil, fmt.Errorf("the name %q in it leads out of it", header.Name)
		case twice:
			return nil, fmt.Errorf("%q is in it twice", name)
		case sparse(header):
			return nil, fmt.Errorf("%q in it is stored as a sparse file: make the archive without --sparse", name)
		case header.Typeflag == tar.TypeLink:
			return nil, fmt.Errorf("%q in it is stored as a hard link: make the archive with --hard-dereference", name)
		}
		offset, err := f.Seek(0, io.SeekCurrent) // tar.Reader reads no further than the header
		if err != nil {
			return nil, err
		}
		members[name] = member{header.FileInfo(), offset}
	}
}

// sparse reports whether the bytes of a file are not all in the archive.
func sparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
}

func (a *archive) walk(visit func(name string, mode fs.FileMode) error) error {
	for _, name := range a.names {
		if err := visit(name, a.files[name].info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) stat(name string) (fs.FileInfo, error) {
	m, found := a.files[path.Clean(name)]
	if !found {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: syscall.ENOENT}
	}
	return m.info, nil
}

func (a *archive) open(name string) (recordFile, error) {
	info, err := a.stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	return &archivedFile{io.NewSectionReader(f, a.files[path.Clean(name)].offset, info.Size()), f, info}, nil
}

// archivedFile is an open file of an archive.
type archivedFile struct {
	*io.SectionReader
	archive *os.File
	info    fs.FileInfo
}

func (f *archivedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *archivedFile) Close() error               { return f.archive.Close() }

// WriteTar writes the record as a tar archive that OpenRecord reads: its files in one folder, which is named by the
// run. The same record gives the same bytes. A run that is alive is ErrLive.
func (r *Record) WriteTar(w io.Writer) error {
	if r.Alive() {
		return ErrLive
	}
	first, err := r.firstEvent()
	if err != nil {
		return cannotRead(r.path, err)
	}
	started, err := decode[RunStartedData](first)
	if err != nil {
		return err
	}
	if !started.RunID.Valid() {
		return cannotRead(r.path, fmt.Errorf("%q is not the id of a run", started.RunID))
	}
	names, err := r.List()
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, name := range names {
		if err := r.addTo(out, path.Join(string(started.RunID), name), name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

func (r *Record) addTo(out *tar.Writer, to, name string) error {
	file, err := r.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// PAX holds the nanoseconds of a time, which Report.Freshness compares.
	header := &tar.Header{
		Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		Name: to, Size: info.Size(), Mode: 0o644, ModTime: info.ModTime(),
	}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}
