package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"markmill/render/plain"
)

// Suite holds the tests of one notebook.
type Suite struct {
	Name  string
	Host  string
	Start time.Time
	Time  time.Duration
	Cases []Case
	Out   string // what was printed, for people
}

// Case is one test. At most one of Failure, Error and Skipped is set.
type Case struct {
	Name    string
	Class   string
	Time    time.Duration
	Failure *Words // what was tested is not as it should be
	Error   *Words // it could not be tested
	Skipped bool
}

// Words holds the one-line message and the text of a failure.
type Words struct{ Message, Type, Text string }

// Bounds of texts in bytes, because some readers refuse larger files.
const (
	maxText = 64 << 10
	maxOut  = 256 << 10
	maxLine = 1 << 10
)

// Elements of the schemas, in their order.
type xmlSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Time     string     `xml:"time,attr"`
	Suites   []xmlSuite `xml:"testsuite"`
}

type xmlSuite struct {
	Name       string    `xml:"name,attr"`
	Package    string    `xml:"package,attr"`
	ID         int       `xml:"id,attr"`
	Host       string    `xml:"hostname,attr"`
	Timestamp  string    `xml:"timestamp,attr"`
	Tests      int       `xml:"tests,attr"`
	Failures   int       `xml:"failures,attr"`
	Errors     int       `xml:"errors,attr"`
	Skipped    int       `xml:"skipped,attr"`
	Time       string    `xml:"time,attr"`
	Properties struct{}  `xml:"properties"`
	Cases      []xmlCase `xml:"testcase"`
	Out        string    `xml:"system-out"`
	Err        string    `xml:"system-err"`
}

type xmlCase struct {
	Name    string    `xml:"name,attr"`
	Class   string    `xml:"classname,attr"`
	Time    string    `xml:"time,attr"`
	Skipped *struct{} `xml:"skipped"`
	Error   *xmlWords `xml:"error"`
	Failure *xmlWords `xml:"failure"`
}

type xmlWords struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// Report renders the file.
func Report(name string, suites []Suite) ([]byte, error) {
	all := xmlSuites{Name: line(name)}
	var total time.Duration
	for i, s := range suites {
		x := xmlSuite{Name: line(s.Name), Package: line(s.Name), ID: i, Host: line(s.Host), Tests: len(s.Cases),
			Time:      seconds(s.Time),
			Timestamp: s.Start.UTC().Format("2006-01-02T15:04:05"), Out: text(s.Out, maxOut)}
		for _, c := range s.Cases {
			one := xmlCase{Name: line(c.Name), Class: line(c.Class), Time: seconds(c.Time), Failure: c.Failure.xml(),
				Error: c.Error.xml()}
			switch {
			case c.Failure != nil:
				x.Failures++
			case c.Error != nil:
				x.Errors++
			case c.Skipped:
				x.Skipped++
				one.Skipped = &struct{}{}
			}
			x.Cases = append(x.Cases, one)
		}
		all.Tests, all.Failures, all.Errors = all.Tests+x.Tests, all.Failures+x.Failures, all.Errors+x.Errors
		total += s.Time
		all.Suites = append(all.Suites, x)
	}
	all.Time = seconds(total)
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	// The encoder writes line ends and tabs as character references. Text cannot contain one, because its & is &amp;.
	b = bytes.ReplaceAll(b, []byte("&#xA;"), []byte{'\n'})
	b = bytes.ReplaceAll(b, []byte("&#x9;"), []byte{'\t'})
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func (w *Words) xml() *xmlWords {
	if w == nil {
		return nil
	}
	return &xmlWords{line(w.Message), line(w.Type), text(w.Text, maxText)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", max(d, 0).Seconds()) }

// line converts words to one line that XML can hold.
func line(s string) string {
	return cut(plain.OneLine(s), maxLine, "…")
}

// text converts text to what XML can hold, and cuts long text at the end.
func text(s string, limit int) string {
	var b strings.Builder
	for each := range strings.Lines(s) {
		b.WriteString(plain.Escape(strings.TrimRight(each, "\r\n")))
		b.WriteByte('\n')
	}
	return cut(b.String(), limit, fmt.Sprintf("\n… cut here: there are %d bytes more\n", b.Len()-limit))
}

func cut(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + mark
}
