"""A repository with the notebooks that the clients work on."""

import os
import subprocess
import tempfile

NOTEBOOK = """---
allow: ["src/**"]
---
# Task

```bash {#change}
mkdir -p src && echo 41 > src/answer
```

```bash {#verify .test}
echo looking && grep -x 42 src/answer
```
"""
SLOW = "# Slow\n\n```bash {#first}\ntrue\n```\n\n```bash {#wait}\nsleep 600\n```\n"
GATED = "---\napproval: required\n---\n# Gated\n\n```bash {#go}\necho never\n```\n"


def repository():
    """Makes a repository with the notebooks."""
    root = tempfile.mkdtemp()
    for name, text in {"task.md": NOTEBOOK, "slow.md": SLOW, "gated.md": GATED}.items():
        with open(os.path.join(root, name), "w") as file:
            file.write(text)
    as_user = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "-A"], [*as_user, "commit", "-q", "-m", "begin"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root
