package runs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Types of a scrap.
const (
	ScrapText  = "text"
	ScrapJSON  = "json"
	ScrapTable = "table"
	ScrapImage = "image"
	ScrapFile  = "file"
)

var scrapTypes = []string{ScrapText, ScrapJSON, ScrapTable, ScrapImage, ScrapFile, ScrapCheck}

// ReadScraps reads the JSON lines that steps append to their scraps file. offset is how many bytes the whole lines
// take, for the next call to begin there: a last line without its newline is still being written. A line that is no
// scrap is an error that names the line, and the lines after it are read all the same; several errors are an
// ErrorList.
func ReadScraps(r io.Reader) (scraps []ScrapData, offset int64, err error) {
	in := bufio.NewReader(r)
	var bad notebooks.ErrorList
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return scraps, offset, err
		}
		offset += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		scrap, err := readScrap(line)
		if err != nil {
			bad = append(bad, &notebooks.Error{
				Kind: notebooks.KindInput, File: "scraps", Line: number, Msg: err.Error(), Err: err,
				Hint: `record scraps with glue, or append lines such as {"name":"n","type":"json","value":1}`,
			})
			continue
		}
		scraps = append(scraps, scrap)
	}
	if len(bad) > 0 {
		return scraps, offset, bad
	}
	return scraps, offset, nil
}

func readScrap(line []byte) (ScrapData, error) {
	var scrap ScrapData
	if err := codec.Unmarshal(line, &scrap); err != nil {
		return scrap, fmt.Errorf("not a JSON object of a scrap: %w", err)
	}
	file := scrap.Type == ScrapImage || scrap.Type == ScrapFile
	switch {
	case scrap.Name == "":
		return scrap, errors.New("a scrap without a name")
	case !slices.Contains(scrapTypes, scrap.Type):
		return scrap, fmt.Errorf("scrap %q is of the unknown type %q; the types are %q", scrap.Name,
			scrap.Type, scrapTypes)
	case file && scrap.File == "":
		return scrap, fmt.Errorf("scrap %q is of type %s and names no file", scrap.Name, scrap.Type)
	case !file && len(scrap.Value) == 0:
		return scrap, fmt.Errorf("scrap %q is of type %s and has no value", scrap.Name, scrap.Type)
	case scrap.Type == ScrapText && scrap.Value.Kind() != '"':
		return scrap, fmt.Errorf("scrap %q is of type text and its value is no string", scrap.Name)
	}
	if scrap.Type == ScrapCheck {
		_, err := CheckOf(scrap.Name, scrap.Value)
		return scrap, err
	}
	return scrap, nil
}

// Reads reads the list of what a step read.
func (r *Record) Reads(d *ReadsData) ([]notebooks.Input, error) {
	if d == nil {
		return nil, nil
	}
	if d.File == "" {
		var list []notebooks.Input
		for _, name := range d.Again {
			in := notebooks.Input{Path: name, Again: notebooks.AgainFile}
			if folder, ok := strings.CutSuffix(name, "/"); ok {
				in = notebooks.Input{Path: folder, Again: notebooks.AgainFolder}
			}
			list = append(list, in)
		}
		return list, nil
	}
	data, err := r.ReadFile(d.File)
	if err != nil {
		return nil, err
	}
	if got := DigestOf(data); got != d.Digest {
		return nil, fmt.Errorf("%s has changed: its journal says %s, and its bytes give %s", d.File, d.Digest, got)
	}
	var list []notebooks.Input
	for line := range bytes.Lines(data) {
		var in notebooks.Input
		if err := codec.Unmarshal(line, &in); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", d.File, len(list)+1, err)
		}
		list = append(list, in)
	}
	return list, nil
}
