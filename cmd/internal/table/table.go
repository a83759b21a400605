package table

import (
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/program"
	"markmill/render/sheet"
)

// SettleTable checks where a table goes and in which form.
func SettleTable(a *program.App, opt *Options) error {
	if err := opt.settle(); err != nil {
		return err
	}
	if opt.Format == "parquet" && opt.Output == "" && a.Terminal(a.Stdout) {
		return program.Usagef("--format parquet is binary; give --output FILE, or redirect standard output to a file")
	}
	return a.CheckTarget("--output", opt.Output)
}

// WriteSheet writes a table to standard output, or whole to a file.
func WriteSheet(a *program.App, made *sheet.Sheet, opt Options) error {
	write := func(to io.Writer) error {
		if opt.Spreadsheet {
			return made.WriteSpreadsheet(to)
		}
		return made.Write(to, opt.Format)
	}
	if opt.Output == "" {
		return a.Shown(write)
	}
	file, err := a.OpenOutput("--output", opt.Output)
	if err != nil {
		return err
	}
	return errors.Join(file.WriteStream(write), file.Close())
}

// Options are the options of markmill notebook scraps.
type Options struct {
	Format, Output string
	Long, NoParams bool
	Spreadsheet    bool
	JSON           bool
	Names          []string
}

// settle chooses the format, and checks the options.
func (o *Options) settle() error {
	if o.JSON && (o.Format != "" || o.Output != "" || o.Spreadsheet) {
		return program.Usagef("--json prints one object on standard output; leave --format, --output and " +
			"--spreadsheet out, or choose --format json for a plain array of the rows")
	}
	if o.Format == "" {
		switch ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.Output), ".")); {
		case ext == "md":
			o.Format = "markdown"
		case o.Output == "" && o.Spreadsheet:
			o.Format = "csv"
		case o.Output == "":
			o.Format = sheet.Formats[0]
		case ext == "ndjson":
			o.Format = "jsonl"
		case ext == "txt":
			o.Format = "table"
		default:
			o.Format = ext
		}
	}
	if !slices.Contains(sheet.Formats, o.Format) {
		if o.Output != "" && filepath.Ext(o.Output) == "" {
			return program.Usagef("--output %s: it has no extension to choose the format by; give --format: %s",
				o.Output, strings.Join(sheet.Formats, ", "))
		}
		return program.Usagef("the format %q is not known; there are: %s", o.Format, strings.Join(sheet.Formats, ", "))
	}
	if o.Spreadsheet && o.Format != "csv" {
		return program.Usagef("--spreadsheet is a way to write CSV, and --format is %s", o.Format)
	}
	for _, pattern := range o.Names {
		if _, err := path.Match(pattern, ""); err != nil {
			return program.Usagef("--name %s: is no pattern: * matches any text, ? one character, [ab] one of several",
				pattern)
		}
	}
	return nil
}

// Keep reports which scraps are wanted; nil keeps all.
func (o *Options) Keep() func(string) bool {
	if len(o.Names) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(o.Names, func(pattern string) bool {
			// A name may contain a slash, which * of a pattern does not match.
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
			return ok && err == nil
		})
	}
}
