// Package parquet writes tables of scraps as Apache Parquet, and reads the tables that Python's scrapbook keeps in a
// notebook, which pandas wrote through pyarrow.
//
// The structures of the format and their encoding are those of github.com/parquet-go/parquet-go (its packages format
// and encoding/thrift), Snappy is that of github.com/klauspost/compress. The rest is here, as far as these two uses
// need it: flat columns that may be null, plain and dictionary encoding, data pages of both versions, Snappy and gzip.
// The format is the specification's (github.com/apache/parquet-format, 2.11).
//
// What always holds: files come from the notebooks of strangers, so no length in a file is trusted before as many bytes
// are there; a file that is not understood is an error, never a guess; equal tables are written as equal bytes.
//
// The library's reader of whole files, and Apache Arrow's, allocate as much as a damaged file claims to hold, or end
// the program: docs/performance.md has the measurements.
//
// It imports nothing of this module but notebooks/codec.
package parquet
