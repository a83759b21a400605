package repo

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/rules"
)

const attributesFile = ".gitattributes"

// attributes are what the .gitattributes of a tree say, by folder.
type attributes struct {
	conv   *rules.Converter
	chains map[string]*rules.Chain
}

func newAttributes() *attributes {
	return &attributes{conv: rules.NewTreeConverter(), chains: map[string]*rules.Chain{}}
}

// Attributes names what .gitattributes makes of the bytes of a file when it is checked out, "" if nothing. Of a folder
// it is a digest of what those above the folder make of the files in it.
func (v *View) Attributes(name string) (string, error) {
	if name = quote.Raw(name); !isPath(name) || name == "." {
		return "", nil
	}
	r, err := v.chain(path.Dir(name))
	if err != nil {
		return "", err
	}
	blob, _, err := v.Entry(name)
	if err != nil || blob != "" {
		return v.attrs.conv.Checkout(r, name, path.Base(name)), err
	}
	if !v.attrs.conv.Changes() {
		return "", nil
	}
	var all strings.Builder
	err = v.paths(name, func(file, _ string) {
		if words := v.attrs.conv.Checkout(r, file, path.Base(file)); words != "" {
			all.WriteString(file + "\x00" + words + "\x00")
		}
	})
	if err != nil || all.Len() == 0 {
		return "", err
	}
	f := v.files.src.Format
	return string(f.OID(f.Sum("blob", []byte(all.String())))), nil
}

// chain returns the attributes that hold in a folder.
func (v *View) chain(dir string) (*rules.Chain, error) {
	if r, known := v.attrs.chains[dir]; known {
		return r, nil
	}
	r := &rules.Chain{}
	if dir != "." {
		up, err := v.chain(path.Dir(dir))
		if err != nil {
			return nil, err
		}
		r.Up, r.Prefix = up, len(dir)+1
	}
	data, link, err := v.Read(path.Join(dir, attributesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && !link { // Git follows none
		r.Set(attributesFile, data, v.attrs.conv)
	}
	v.attrs.chains[dir] = r
	return r, nil
}

// Read reads a file, or the target of a link. Where neither is, the error is fs.ErrNotExist.
func (v *View) Read(name string) (data []byte, link bool, err error) {
	if !isPath(name) {
		return nil, false, fs.ErrNotExist
	}
	entries, err := v.folder(path.Dir(name))
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if e.Name != path.Base(name) || !isFile(e.Mode) && e.Mode != disk.ModeLink {
			continue
		}
		_, edited := v.edits[name]
		if _, dirty := v.files.dirty[name]; dirty && !edited {
			_, data, err = v.files.contentOnDisk(name)
		} else {
			data, err = v.files.read("blob", e.OID)
		}
		return data, e.Mode == disk.ModeLink, err
	}
	return nil, false, fs.ErrNotExist
}
