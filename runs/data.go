package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"markmill/notebooks/codec"
)

// DataFile is a file or link that Git ignores and that a run wrote, outside of the folders in which tools keep what
// they can make again.
type DataFile struct {
	Path   string `json:"path"` // in the worktree, as records show paths
	Bytes  int64  `json:"bytes"`
	Digest Digest `json:"digest,omitzero"` // of the content, or of the target of a link
	Link   bool   `json:"link,omitzero"`
	// Named says that data: names the file: it belongs to the work, and goes into the checkout.
	Named   bool `json:"data,omitzero"`
	Removed bool `json:"removed,omitzero"` // the run removed it; only of files that data: names
	Secret  bool `json:"secret,omitzero"`  // its bytes show the value of a secret of the run
	// Left says why the file is never put into the checkout, whoever wants it there; "" of all others.
	Left string `json:"left,omitzero"`
	// Published says that it was put into the checkout, or removed there. All others are kept beside the record.
	Published bool `json:"published,omitzero"`
}

// DataWritten is the data of data.written.
type DataWritten struct {
	Files []DataFile `json:"files"`
	// Read are those of the data that the run read which an earlier run wrote.
	Read []DataRead `json:"read,omitempty"`
}

// DataRead is a file of data: that a run read, and the run that wrote it.
type DataRead struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Digest   Digest    `json:"digest"`
	Run      RunID     `json:"run"`
	Notebook string    `json:"notebook"`
	Time     time.Time `json:"time"` // when it was put into the checkout
}

// Split returns the files that were kept beside the record, and those that were put into the checkout.
func (d *DataWritten) Split() (kept, published []DataFile) {
	if d == nil {
		return nil, nil
	}
	for _, f := range d.Files {
		switch {
		case f.Published:
			published = append(published, f)
		case !f.Removed:
			kept = append(kept, f)
		}
	}
	return kept, published
}

// HasData reports whether files are kept beside the record.
func (r *Record) HasData() bool {
	dir := r.DataDir()
	return dir != "" && exists(dir)
}

// Keeps reports whether a file is kept beside the record now.
func (r *Record) Keeps(path string) bool {
	return r.HasData() && exists(filepath.Join(r.DataDir(), filepath.FromSlash(path)))
}

// Names of the folder that keeps what a run wrote beside its record.
const (
	DataFolder = "data"       // in the store: a folder a run
	dataFiles  = "files"      // by their paths in the worktree
	dataLayers = "upper"      // what is being written, a folder for each folder of data:
	dataLayer  = "files"      // in each of them
	dataList   = "files.json" // DataWritten, before the first file is put into the checkout
)

func (s Store) dataDir(id RunID) string { return filepath.Join(s.dataHome(), DataFolder, string(id)) }

// Worker is the store of the nth worker of a queue. It has the records of its jobs until they are published. What they
// wrote and Git ignores stays, in s, where it is looked for once the record is fetched; and s knows who made a file.
func (s Store) Worker(n int) Store {
	return Store{Dir: filepath.Join(s.Dir, workersFolder, strconv.Itoa(n)), Writer: s.Writer}
}

// workersFolder has a store a worker.
var workersFolder = filepath.Join("queue", "workers")

// dataHome is the folder of the store that has the data of the runs of s.
func (s Store) dataHome() string {
	if up := filepath.Dir(s.Dir); strings.HasSuffix(up, string(filepath.Separator)+workersFolder) {
		return filepath.Dir(filepath.Dir(up))
	}
	return s.Dir
}

// working reports whether a run is alive, here or in a worker.
func (s Store) working(id RunID) bool {
	list, _ := filepath.Glob(filepath.Join(s.Dir, workersFolder, "*", filepath.Base(s.runs()), string(id)))
	return slices.ContainsFunc(append(list, s.Path(id)), Alive)
}

// dataDir is where a record's data is; "" of a record that is not in a store.
func (r *Record) dataDir() string {
	store, name, is := storeOf(r.path)
	if r.archive != nil || !is {
		return ""
	}
	return store.dataDir(RunID(name))
}

// DataDir is the folder that keeps the files that the run wrote and that are not in the checkout, by their paths in the
// worktree, as records show them. "" of a record that is not in a store, which has none.
func (r *Record) DataDir() string {
	if dir := r.dataDir(); dir != "" {
		return filepath.Join(dir, dataFiles)
	}
	return ""
}

// DataLayer makes the empty folder for what a run writes into a folder of data:, and returns it, and the folder in it
// where the files are.
func (r *Record) DataLayer(folder string) (upper, files string, err error) {
	upper = filepath.Join(r.dataDir(), dataLayers, url.PathEscape(folder))
	return upper, filepath.Join(upper, dataLayer), os.MkdirAll(upper, 0o700)
}

// SettleData moves what an interrupted run wrote into folders of data: to where its data is kept. The run must not be
// alive. It removes folders that are empty.
func (r *Record) SettleData() error {
	dir := r.dataDir()
	half, _ := filepath.Glob(filepath.Join(dir, TempPrefix+"*")) // a list that a kill cut
	for _, name := range half {
		_ = os.Remove(name)
	}
	layers, err := os.ReadDir(filepath.Join(dir, dataLayers))
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, layer := range layers {
		folder, derr := url.PathUnescape(layer.Name())
		root := filepath.Join(dir, dataLayers, layer.Name(), dataLayer)
		err = errors.Join(err, derr, EachFile(root, func(name string, _ fs.FileInfo) error {
			return r.KeepData(filepath.Join(root, name), folder+"/"+filepath.ToSlash(name))
		}))
	}
	if err == nil {
		err = r.DropLayers()
	}
	return err
}

// DropLayers removes what is left of the layers, all of whose files were moved, and the folder of the data if nothing
// is kept.
func (r *Record) DropLayers() error {
	dir := r.dataDir()
	if dir == "" {
		return nil
	}
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	upper := filepath.Join(dir, dataLayers)
	_ = filepath.WalkDir(upper, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() { // that in which an overlay prepares its files has no rights
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	err := os.RemoveAll(upper)
	var folders []string
	files := filepath.Join(dir, dataFiles)
	_ = filepath.WalkDir(files, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder) // one that is not empty stays
	}
	if err == nil && !exists(files) {
		err = os.RemoveAll(dir)
	}
	return err
}

// EachFile visits the regular files and links below a folder, by their paths in it. A folder that is not there is
// empty.
func EachFile(root string, visit func(name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return visit(name, info)
	})
}

// KeepData moves a file of the worktree beside the record, by its path in the worktree as records show it.
func (r *Record) KeepData(from, name string) error {
	dir := r.DataDir()
	if dir == "" {
		return cannotWrite(r.path, errors.New("the record is in no store"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cannotWrite(dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer root.Close()
	if up := filepath.Dir(filepath.FromSlash(name)); up != "." {
		if err := root.MkdirAll(up, 0o700); err != nil {
			return cannotWrite(dir, err)
		}
	}
	return Move(from, filepath.Join(dir, filepath.FromSlash(name)))
}

// Move renames a file or link. To another file system it is copied: the copy is on the disk before it gets its name,
// and then the original is removed.
func Move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		if err != nil {
			return cannotWrite(to, err)
		}
		return nil
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(to), TempPrefix+filepath.Base(to))
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(to, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, temp)
		}
	} else {
		err = copyTo(from, temp, info)
	}
	if err == nil {
		err = os.Rename(temp, to)
	}
	if err != nil {
		_ = os.Remove(temp)
		return cannotWrite(to, err)
	}
	return os.Remove(from)
}

// copyTo copies a file with its time, and waits for the disk.
func copyTo(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(info.Mode().Perm()), os.Chtimes(to, info.ModTime(), info.ModTime()), out.Sync(),
		out.Close())
}

// overlap is how much of a file is searched again with what follows: no secret in any spelling is longer.
const overlap = 64 << 10

// DigestData reads a file or the target of a link that is kept, and says whether its bytes show a secret of the run.
// One that changes meanwhile is an error.
func (r *Record) DigestData(path string) (f DataFile, err error) {
	was, err := os.Lstat(path)
	if err != nil {
		return f, err
	}
	var in io.Reader
	if was.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return f, err
		}
		f.Link, in = true, strings.NewReader(target)
	} else {
		file, err := os.Open(path)
		if err != nil {
			return f, err
		}
		defer file.Close()
		in = file
	}
	sum, mask := NewHasher(), r.writer.mask
	buf, held := make([]byte, min(1<<20, was.Size()+1)), 0 // one of its own size: there may be many small files
	for {
		n, err := in.Read(buf[held:])
		sum.Write(buf[held : held+n])
		if mask != nil && n > 0 && !f.Secret {
			f.Secret = mask.In(buf[:held+n])
			if keep := min(held+n, overlap); keep < len(buf) {
				copy(buf, buf[held+n-keep:held+n])
				held = keep
			}
		}
		if f.Secret {
			held = 0
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f, err
		}
	}
	f.Bytes, f.Digest = sum.Bytes(), sum.Digest()
	now, err := os.Lstat(path)
	if err == nil && (!os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) || was.Size() != now.Size()) {
		err = fmt.Errorf("%s changes while it is read", path)
	}
	return f, err
}

// ListData notes what is kept and what of it is about to be put into the checkout. If the run is killed meanwhile, its
// record is completed from that.
func (r *Record) ListData(data *DataWritten) error {
	return r.writer.WriteJSON(filepath.Join(r.dataDir(), dataList), data)
}

// DataBytes is how much data is kept of a run.
func (s Store) DataBytes(id RunID) (n int64) {
	_ = EachFile(s.dataDir(id), func(_ string, info fs.FileInfo) error { n += info.Size(); return nil })
	return n
}

// PruneData removes the data of runs until at most so many bytes are kept, that of the oldest runs first, and never
// that of the newest or of a run that is alive. Records stay; that of a job need not be here. It returns their ids.
func (s Store) PruneData(most int64) (gone []RunID, err error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, DataFolder))
	if err != nil {
		return nil, nil // nothing is kept
	}
	times := func(d fs.DirEntry) (began, kept time.Time) {
		began, _ = startOf(RunID(d.Name()))
		if info, err := d.Info(); err == nil {
			kept = info.ModTime() // of runs that began in the same second
		}
		return began, kept
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		began, kept := times(a)
		other, last := times(b)
		return cmp.Or(other.Compare(began), last.Compare(kept))
	})
	var sum int64
	for i, d := range entries {
		id := RunID(d.Name())
		if sum += s.DataBytes(id); i == 0 || sum <= most || s.working(id) {
			continue
		}
		if err := os.RemoveAll(s.dataDir(id)); err != nil {
			return gone, cannotWrite(s.dataDir(id), err)
		}
		gone = append(gone, id)
	}
	return gone, nil
}

// data checks the files that are kept beside the record by their digests.
func (c *check) data() {
	kept, _ := c.v.Run.Data.Split()
	dir := At(c.v.Dir).DataDir()
	if len(kept) == 0 {
		return
	}
	if _, err := os.Lstat(dir); dir == "" || err != nil {
		c.v.note("the %d files that the run wrote and Git ignores are not kept here, and were not checked", len(kept))
		return
	}
	for _, f := range kept {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		got, err := At(c.v.Dir).DigestData(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.v.note("%s is not kept any more: apply --data moved it into the checkout, or it was removed", f.Path)
		case err != nil:
			c.v.find(f.Path, "is kept beside the record, and cannot be read: %s", cause(err))
		case got.Digest != f.Digest:
			c.v.find(f.Path, "has changed: the journal says %s and its bytes give %s", f.Digest, got.Digest)
		}
	}
}

// recoverData lists what is kept of a run that was interrupted before it could, and what it had put into the checkout.
func (r *Record) recoverData(run *Run) (*DataWritten, error) {
	if err := r.SettleData(); err != nil {
		return nil, err
	}
	dir := r.DataDir()
	if run.Data != nil || dir == "" {
		return nil, nil
	}
	var data DataWritten
	listed := map[string]bool{}
	if text, err := os.ReadFile(filepath.Join(r.dataDir(), dataList)); err == nil {
		if err := codec.Unmarshal(text, &data); err != nil {
			return nil, err
		}
	}
	for i := range data.Files {
		f := &data.Files[i]
		listed[f.Path] = true
		there := exists(filepath.Join(run.Started.Repository, filepath.FromSlash(f.Path)))
		f.Published = f.Named && !r.Keeps(f.Path) && there != f.Removed
	}
	err := EachFile(dir, func(name string, _ fs.FileInfo) error {
		if listed[filepath.ToSlash(name)] {
			return nil
		}
		f, err := r.DigestData(filepath.Join(dir, name))
		f.Path = filepath.ToSlash(name)
		data.Files = append(data.Files, f)
		return err
	})
	if err != nil || len(data.Files) == 0 {
		return nil, err
	}
	return &data, nil
}

// KnownFile is what is known of a file of the checkout that data: names: its content, and which run put it there.
type KnownFile struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Mtime    int64     `json:"mtime"` // nanoseconds since 1970
	Inode    uint64    `json:"inode"`
	Digest   Digest    `json:"digest,omitzero"`
	Run      RunID     `json:"run,omitzero"` // "" is none
	Notebook string    `json:"notebook,omitzero"`
	Sweep    SweepID   `json:"sweep,omitzero"` // that the run is of
	Time     time.Time `json:"time"`           // when it was put there
}

func (s Store) knownFile(path string) string {
	return filepath.Join(s.dataHome(), "known", DigestOf([]byte(path)).Hex()[:32]+".json")
}

// Known is what is known of a file of the checkout by its path; nil if that is nothing. The file may be another by now.
func (s Store) Known(path string) *KnownFile {
	text, err := os.ReadFile(s.knownFile(path))
	var k KnownFile
	if err != nil || codec.Unmarshal(text, &k) != nil || k.Path != path {
		return nil
	}
	return &k
}

// Know notes what is known of a file.
func (s Store) Know(k KnownFile) error {
	file := s.knownFile(k.Path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cannotWrite(file, err)
	}
	_ = os.Remove(file) // a rename onto a file makes some file systems wait for the disk, and losing this loses little
	return s.Writer.WriteJSON(file, k)
}

// smallData is the size up to which a file is hashed each time.
const smallData = 1 << 20

// coarse is how far apart two changes of a file may be that have the same time.
const coarse = 20 * time.Millisecond

// DataDigest is the digest of a file or of the target of a link of the checkout. A large file is hashed once, and then
// known by its size, time and inode.
func (s Store) DataDigest(root, path string) (string, error) {
	at := filepath.Join(root, filepath.FromSlash(path))
	was, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	if was.IsDir() {
		return "", nil
	}
	k := KnownFile{Path: path, Bytes: was.Size(), Mtime: was.ModTime().UnixNano(), Inode: inodeOf(was)}
	by := s.Known(path)
	same := by != nil && by.Bytes == k.Bytes && by.Mtime == k.Mtime && by.Inode == k.Inode
	if same && by.Digest != "" && was.Size() > smallData {
		return string(by.Digest), nil
	}
	f, err := (&Record{}).DigestData(at)
	if err != nil {
		return "", err
	}
	if was.Size() > smallData && !same && time.Since(was.ModTime()) > coarse {
		k.Digest, k.Time = f.Digest, was.ModTime()
		_ = s.Know(k) // it is hashed again otherwise
	}
	return string(f.Digest), nil
}

// Publishing calls do while no other process puts data into the checkout.
func (s Store) Publishing(do func() error) error {
	dir := filepath.Join(s.dataHome(), DataFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cannotWrite(dir, err)
	}
	done, err := exclusive(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer done()
	return do()
}
