// Package parquet writes tables of scraps as Apache Parquet, and reads the tables that Python's scrapbook keeps in a
// notebook, which pandas wrote through pyarrow.
//
// The format's structures and their encoding come from github.com/parquet-go/parquet-go (its packages format and
// encoding/thrift), Snappy from github.com/klauspost/compress. This package has what else these two uses need: flat
// nullable columns, plain and dictionary encoding, data pages of both versions, Snappy and gzip. The specification is
// github.com/apache/parquet-format, 2.11.
//
// Invariants: files come from strangers' notebooks, so no length in a file is trusted until that many bytes are there;
// a file that is not understood is an error, never a guess; equal tables are written as equal bytes.
//
// The library's whole-file reader, and Apache Arrow's, allocate as much as a damaged file claims to hold, or crash:
// docs/performance.md has the measurements.
//
// It imports nothing of this module but notebooks/codec.
package parquet
