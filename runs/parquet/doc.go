// Package parquet writes tables of scraps as Apache Parquet, and reads the tables that Python's scrapbook keeps in a
// notebook, which pandas wrote through pyarrow.
//
// The structures of the format and their encoding are those of github.com/parquet-go/parquet-go (its packages format
// and encoding/thrift), Snappy is that of github.com/klauspost/compress. What stands between them is here, as far as
// those two need it: flat columns that may be null, plain and dictionary encoding, data pages of both versions, Snappy
// and gzip. The format is the specification's (github.com/apache/parquet-format, 2.11).
//
// What always holds: what is read comes out of notebooks of strangers, so no length of the file is believed before
// there are as many bytes; a file that is not understood is an error and no guess; equal tables are written as equal
// bytes.
//
// The readers of whole files, that library's and Apache Arrow's, make room for as much as a damaged file says that it
// has, or end the program: docs/performance.md has what was measured.
//
// It imports nothing of this module but notebooks/codec.
package parquet
