"""A public project in a folder of its own: a clone, or what a registry has of it, set up as its CONTRIBUTING says."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """What a project did that leaves no figure."""


def table(name, program, only):
    """The projects of a table beside this file. A name in only that it does not have ends the program."""
    with open(os.path.join(HERE, name), "rb") as file:
        projects = tomllib.load(file)["project"]
    known = [p["name"] for p in projects]
    unknown = [name for name in only if name not in known]
    if unknown:
        sys.exit(f"{program}: no project {', '.join(unknown)}; there are {', '.join(known)}")
    return [p for p in projects if not only or p["name"] in only]


def names(text):
    return text.split(",") if text else []


class Project:
    """A checkout, with a store and a cache of Markmill that nothing was in before."""

    def __init__(self, project, options, folder):
        self.project, self.options, self.folder = project, options, folder
        self.checkout = os.path.join(folder, project["name"])
        self.env = os.environ | {
            "MARKMILL_DIR": os.path.join(folder, "store"), "NO_COLOR": "1", "CI": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def clone_source(self):
        name = "+".join(self.project["repository"].split("/")[-2:])
        named = os.path.join(self.options.clones, name, "repo")
        return named if os.path.isdir(named) else os.path.join(self.options.clones, self.project["name"])

    def clone(self):
        """Clones the project. False: there is no clone to take it from."""
        if not os.path.isdir(self.clone_source()):
            return False
        self.command("git", "clone", "-q", "--no-hardlinks", self.clone_source(), self.checkout, cwd=self.folder)
        self.command("git", "checkout", "-q", self.project["commit"])
        return True

    def unpack(self, registry, package):
        """Brings a package of a registry into the checkout, in the place of the files that are there."""
        at = os.path.join(self.folder, "package")
        os.mkdir(at)
        if registry == "go":
            told = self.command("go", "mod", "download", "-json", package, cwd=at)
            found = os.path.join(at, "found")
            shutil.copytree(json.loads(told)["Dir"], found)
            self.command("chmod", "-R", "u+w", found, cwd=at)
        else:
            if registry == "npm":
                self.command("npm", "pack", "--silent", package, cwd=at)
            else:
                self.command(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", package,
                             cwd=at)
            (archive,) = os.listdir(at)
            with tarfile.open(os.path.join(at, archive)) as file:
                file.extractall(at, filter="data")
            os.remove(os.path.join(at, archive))
            (top,) = os.listdir(at)
            found = os.path.join(at, top)
        os.makedirs(self.checkout, exist_ok=True)
        for name in os.listdir(self.checkout):
            if name not in (".git", ".venv", "node_modules"):
                self.command("rm", "-rf", os.path.join(self.checkout, name))
        for name in os.listdir(found):
            os.rename(os.path.join(found, name), os.path.join(self.checkout, name))
        shutil.rmtree(at)
        # What an archive brings and a clone of the project does not have; and what its .gitignore would say.
        shutil.rmtree(os.path.join(self.checkout, "src", "pluggy.egg-info"), ignore_errors=True)
        with open(os.path.join(self.checkout, ".gitignore"), "a", encoding="utf-8") as file:
            file.write("\n.venv/\nnode_modules/\n*.egg-info/\n__pycache__/\n")

    def bash(self, script):
        """Runs a script as a person would type it: with the checkout's virtual environment first on the path."""
        return self.command("bash", "-ec", self.with_venv(script))

    def with_venv(self, script):
        venv = os.path.join(self.checkout, ".venv", "bin")
        return f'[ ! -d "{venv}" ] || PATH="{venv}:$PATH"\n{script}'

    def command(self, *argv, cwd=None):
        done = subprocess.run(argv, cwd=cwd or self.checkout, env=self.env, capture_output=True, timeout=1800)
        if done.returncode:
            text = (done.stdout + done.stderr).decode(errors="replace")
            raise Failed(f"{' '.join(argv)} exited {done.returncode}:\n{text[-2000:]}")
        return done.stdout.decode(errors="replace").strip()
