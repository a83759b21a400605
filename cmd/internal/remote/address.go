package remote

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
)

// address is the location of a notebook.
type address struct {
	scheme string
	host   string // of http, https and abs
	bucket string // of storage; Azure calls it a container
	key    string // within the bucket
	query  string // of abs: a shared access signature
	url    *url.URL
}

// others are schemes of papermill and other tools, and what to write instead.
var others = map[string]string{
	"s3a": "write s3://", "s3n": "write s3://", "gcs": "write gs://", "azure": "write az://CONTAINER/BLOB",
	"wasb": "write az://CONTAINER/BLOB", "wasbs": "write az://CONTAINER/BLOB", "abfs": "write az://CONTAINER/BLOB",
	"abfss": "write az://CONTAINER/BLOB",
	"adl":   "Azure Data Lake Storage Gen1 was shut down; give the file of its successor as az://CONTAINER/BLOB",
	"hdfs": "Markmill has no client of Hadoop; copy it with hdfs dfs -get and -put, or pipe it: " +
		"hdfs dfs -cat FILE | markmill run - OUTPUT",
	"file": "give the path alone",
}

// Is reports whether a path is an address: whether it begins with a scheme.
func Is(path string) bool {
	scheme, _, found := strings.Cut(path, "://")
	return found && len(scheme) > 1 && !strings.ContainsFunc(scheme, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-.", r))
	})
}

// Name returns an address as messages and records show it: without user, password, query and fragment, which may
// contain credentials.
func Name(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	authority, file, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case "s3", "gs", "az": // what looks like a query is part of the key
	default:
		if i := strings.IndexAny(authority, "?#"); i >= 0 {
			return scheme + "://" + authority[:i]
		}
		if i := strings.IndexAny(file, "?#"); i >= 0 {
			file = file[:i]
		}
	}
	if slash {
		file = "/" + file
	}
	return scheme + "://" + authority + file
}

// Beside returns the address of a file next to another, or in a folder next to it.
func Beside(text, name string) string {
	shown := Name(text)
	end := strings.LastIndexByte(shown, '/')
	tail := ""
	if a, err := parse(text); err == nil {
		switch {
		case a.query != "":
			tail = "?" + a.query
		case a.url != nil: // the user and the signature are for the folder too, or are refused
			u := *a.url
			u.Path, u.RawPath = path.Join(path.Dir(u.Path), name), ""
			return u.String()
		}
	}
	return shown[:end+1] + name + tail
}

func parse(text string) (address, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	a := address{scheme: strings.ToLower(scheme)}
	wrong := func(msg, hint string) (address, error) {
		return a, &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Msg: msg, Hint: hint}
	}
	switch a.scheme {
	case "http", "https":
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return wrong("is no address", "write "+a.scheme+"://HOST/PATH, with %20 for a space")
		}
		a.url, a.host = u, u.Host
		if strings.EqualFold(u.Host, "github.com") && slices.Contains(strings.Split(u.Path, "/"), "blob") {
			return wrong("is a page that shows a file, and not the file", "give the address behind its button Raw")
		}
		return a, nil
	case "s3", "gs", "az":
		a.bucket, a.key, _ = strings.Cut(rest, "/")
	case "abs":
		file := ""
		a.host, file, _ = strings.Cut(rest, "/")
		file, a.query, _ = strings.Cut(file, "?")
		a.bucket, a.key, _ = strings.Cut(file, "/")
	default:
		if hint, ok := others[a.scheme]; ok {
			return wrong("this address is of a kind that Markmill does not read or write", hint)
		}
		return wrong(fmt.Sprintf("there is no %s:// here", a.scheme),
			"a notebook can be at a local path, s3://, gs://, az://, http:// or https://")
	}
	what := map[string]string{"s3": "s3://BUCKET/KEY", "gs": "gs://BUCKET/OBJECT", "az": "az://CONTAINER/BLOB",
		"abs": "abs://ACCOUNT.blob.core.windows.net/CONTAINER/BLOB"}[a.scheme]
	switch {
	case strings.ContainsAny(a.bucket+a.host, "@"):
		return wrong("credentials do not belong in this address",
			"give them as docs/papermill.md says under \"Remote paths\", and write "+what)
	case a.bucket == "", a.key == "", strings.HasSuffix(a.key, "/"), a.scheme == "abs" && a.host == "":
		return wrong("names no file", "write "+what)
	}
	return a, nil
}
