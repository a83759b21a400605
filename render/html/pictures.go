package html

import (
	"bytes"
	"encoding/base64"
	"errors"
	"html"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"

	"markmill/notebooks/lazyregexp"
)

// Bounds of the pictures on a page, in bytes.
const (
	maxPicture  = 8 << 20
	maxPictures = 48 << 20 // of all of a page
)

// pictures holds the pictures of a page. Each is embedded once, however often it is shown.
type pictures struct {
	files    fs.FS             // the folder of the notebook; nil without one
	attached map[string][]byte // to the cell that is written, by name
	left     int
}

// tag renders a picture, or words if it cannot be shown.
func (p *pictures) tag(src, alt, width string) markup {
	data, why := p.load(src)
	if why != "" {
		name := src
		if strings.HasPrefix(src, "data:") {
			name = "data:"
		}
		if len(name) > 200 {
			name = name[:200] + "…"
		}
		return sprintf(`<span class="nopic">Picture %s (%s): %s</span>`, alt, cleanLine(name), why)
	}
	return embedded(data, alt, width)
}

// missing matches the words in the place of a picture.
var missing = lazyregexp.New(`<span class="nopic">([^<]*)</span>`)

// Missing returns what a page says in the place of pictures that it does not hold.
func Missing(page []byte) (words []string) {
	for _, m := range missing.FindAllStringSubmatch(string(page), -1) {
		words = append(words, html.UnescapeString(m[1]))
	}
	return words
}

// embed embeds a picture, or returns words if the page is full.
func (p *pictures) embed(data []byte, alt, width string) markup {
	if len(data) > maxPicture || len(data) > p.left {
		return sprintf(`<span class="nopic">Picture %s: left out, because it is too `+
			`large for this page (%s)</span>`, alt,
			size(len(data)))
	}
	p.left -= len(data)
	return embedded(data, alt, width)
}

func embedded(data []byte, alt, width string) markup {
	size := markup("")
	if w, err := strconv.Atoi(strings.TrimSuffix(width, "px")); err == nil && w > 0 && w <= 4000 {
		size = sprintf(` width="%d"`, w)
	}
	// An <img> neither runs scripts nor loads anything, even from an SVG.
	return sprintf(`<img src="data:%s;base64,%s" alt="%s"%s>`, pictureType(data),
		markup(base64.StdEncoding.EncodeToString(data)), alt, size)
}

// load reads a picture from the notebook's folder, or from the notebook itself.
func (p *pictures) load(src string) (data []byte, why string) {
	attached, isAttachment := strings.CutPrefix(src, "attachment:")
	switch u, err := url.Parse(src); {
	case isAttachment:
		if decoded, err := url.PathUnescape(attached); err == nil {
			attached = decoded
		}
		if data = p.attached[attached]; data == nil {
			return nil, "is not attached"
		}
	case strings.HasPrefix(src, "data:image/"):
		data, err = decodeData(src)
		if err != nil {
			return nil, "cannot be read"
		}
	case err != nil:
		return nil, "its address cannot be read"
	case u.Scheme != "" || u.Host != "":
		return nil, "not loaded, because this page loads nothing"
	case p.files == nil:
		return nil, "not at hand"
	default:
		data, err = p.read(path.Clean(u.Path))
		switch {
		case errors.Is(err, errTooLarge):
			return nil, "larger than 8 MiB"
		case err != nil:
			return nil, "not found beside the notebook"
		}
	}
	switch {
	case pictureType(data) == "":
		return nil, "no PNG, JPEG, GIF, WebP or SVG"
	case len(data) > p.left:
		return nil, "left out, because this page holds enough pictures"
	}
	p.left -= len(data)
	return data, ""
}

var errTooLarge = errors.New("larger than a picture of a page")

// read reads a file of the folder. Its file system does not let paths escape.
func (p *pictures) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	info, err := fs.Stat(p.files, name) // before it is opened: opening a pipe waits for its other end
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := p.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = errTooLarge
	}
	return data, err
}

func decodeData(src string) ([]byte, error) {
	_, body, ok := strings.Cut(src, ";base64,")
	if !ok || len(body) > base64.StdEncoding.EncodedLen(maxPicture) {
		return nil, errTooLarge
	}
	body = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \n\r\t", r) {
			return -1
		}
		return r
	}, body)
	return base64.StdEncoding.DecodeString(body)
}

// pictureType returns the media type of a picture by its content, "" if it is not a picture.
func pictureType(data []byte) markup {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case bytes.Contains(data[:min(len(data), 4096)], []byte("<svg")):
		return "image/svg+xml"
	}
	return ""
}
