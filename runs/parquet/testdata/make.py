"""Makes the files of this folder, with pandas and pyarrow (bench/requirements.txt)."""
import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

df = pd.DataFrame({
    "i": [1, -2, 2**60], "f": [1.5, None, 1e300], "b": [True, False, True], "s": ["x", "ü\n", None],
    "t": pd.to_datetime(["2026-01-02", "2026-01-02T03:04:05.000006", "1969-12-31T23:59:59"], format="ISO8601"),
    "z": pd.to_datetime(["2026-01-02", "2026-01-03", None], utc=True),
    "d": [datetime.date(2026, 1, 2), datetime.date(1960, 1, 1), None], "u8": np.array([1, 2, 255], dtype="uint8"),
    "f4": np.array([.1, .2, .3], dtype="float32"), "c": pd.Categorical(["a", "b", "a"]),
    "dec": [decimal.Decimal("1.50"), decimal.Decimal("-0.05"), None], "y": [b"\x00\xff", b"", None], "n": [None, None, None],
    "u64": np.array([1, 2, 2**63 + 1], dtype="uint64"), "B": pd.array([True, None, False], dtype="boolean"),
    "I": pd.array([1, None, 3], dtype="Int64"), "inf": [float("inf"), float("-inf"), 0.0],
    "tm": [datetime.time(1, 2, 3), datetime.time(0, 0, 0, 5), None],
})
df.to_parquet("pandas.parquet", engine="pyarrow")
table = pa.Table.from_pandas(df, preserve_index=False)
pq.write_table(table, "v2.parquet", data_page_version="2.0", compression="gzip", row_group_size=2)
pq.write_table(table, "plain.parquet", use_dictionary=False, compression="none")
pq.write_table(table.select(["i"]), "zstd.parquet", compression="zstd")
pd.DataFrame({"n": range(5000), "w": ["word %d" % (i % 7) for i in range(5000)],
              "g": [None if i % 3 else i * .5 for i in range(5000)]}).to_parquet("long.parquet", engine="pyarrow")
pd.DataFrame({"l": [[1, 2], [3]]}).to_parquet("lists.parquet", engine="pyarrow")
