// Package parquet writes tables of scraps as Apache Parquet, and reads the tables that Python's scrapbook keeps in a
// notebook, which pandas wrote through pyarrow.
//
// It owns as much of the format as those two need: flat columns that may be null, plain and dictionary encoding, data pages
// of both versions, Snappy and gzip. The format is the specification's (github.com/apache/parquet-format, 2.11; thrift's
// compact protocol).
//
// What always holds: what is read comes out of notebooks of strangers, so no length of the file is believed before there are
// as many bytes; a file that is not understood is an error and no guess; equal tables are written as equal bytes.
//
// The libraries for this format are made for large files: the common one adds 1 ms to every start of the program and 10 MB to
// its size, and makes room for as many values as a damaged file says that it has.
//
// It imports nothing of this module but notebooks/codec.
package parquet
