#!/usr/bin/env bash
# Makes the small Git repository that fix-a-bug.md works on: a function with a bug and a test that shows it.
# usage: make-buggy-repo.sh DIRECTORY   (which must not exist yet)
set -euo pipefail

dir=${1:?usage: make-buggy-repo.sh DIRECTORY}
if [ -e "$dir" ]; then
	echo "make-buggy-repo.sh: $dir exists already; name a new directory" >&2
	exit 2
fi
mkdir -p "$dir"
cd "$dir"

cat >ranges.py <<'PY'
"""Ranges written as text: "1-3,7" is 1, 2, 3, 7."""


def expand(text):
    """Return the numbers of a range, both ends included."""
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first)))
    return numbers
PY

cat >test_ranges.py <<'PY'
import unittest

from ranges import expand


class Expand(unittest.TestCase):
    def test_single(self):
        self.assertEqual(expand("7"), [7])

    def test_both_ends_are_included(self):
        self.assertEqual(expand("1-3,7"), [1, 2, 3, 7])


if __name__ == "__main__":
    unittest.main()
PY

git init --quiet --initial-branch=main
git config user.name Example
git config user.email example@localhost
git config commit.gpgSign false
git add .
git commit --quiet --message "Expand ranges"
echo "made $dir; try: markmill run examples/fix-a-bug.md --repo $dir"
