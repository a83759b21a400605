"""How many bytes a program and all that it starts write into files, as strace sees it.

What is counted is what is handed to the system calls that write, for descriptors that are files: pipes, sockets
and devices are not. The file system may write less (a file that is removed at once) or more (journals,
metadata); what a block device takes can only be had from all of the machine at once. A mapped file that is
written through memory is not seen: neither contender does that.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import tempfile

CALLS = "write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile"
LINE = re.compile(r"^(?:write|pwrite64|writev|pwritev2?)\(\d+<(/[^>]*)>.* = (\d+)$")
COPY = re.compile(r"^(?:copy_file_range\(\d+<[^>]*>, [^,]*, |sendfile\()\d+<(/[^>]*)>.* = (\d+)$")


def by_file(argv, cwd, env):
    """Runs argv and gives the bytes written by file."""
    with tempfile.TemporaryDirectory(prefix="markmill-written-") as folder:
        trace = os.path.join(folder, "trace")
        subprocess.run(["strace", "--quiet=all", "-ff", "-y", "-s", "0", "-o", trace, "-e", "signal=none", "-e",
            "trace=" + CALLS, *argv],
                       cwd=cwd, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        count = collections.Counter()
        for name in glob.glob(glob.escape(trace) + "*"):
            with open(name, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    found = LINE.match(line.strip()) or COPY.match(line.strip())
                    if found and is_file(found[1]):
                        count[found[1]] += int(found[2])
    return count


def is_file(path):
    """A device is none, and the pipes of a session have names of their own."""
    if re.match(r"/(dev/(?!shm/)|proc/|sys/)", path):
        return False
    return not re.search(r"/kernels/[^/]+/(in|out|err|ctl)$", path)


def possible():
    return shutil.which("strace") is not None
