"""What MkDocs does not do for these documents: navigation, GitHub's Markdown, pictures, and a check of all links."""

import logging
import pathlib
import re
import subprocess
import urllib.parse
from html.parser import HTMLParser

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks")
FENCE = re.compile(r"^(`{3,})([^`\s{]*)([^`]*)$")


def on_config(config):
    """The headings and links of docs/README.md are the navigation."""
    source = pathlib.Path(config.docs_dir, "docs/README.md").read_text()
    nav = [{"Home": "README.md"}]
    for section in re.split(r"^## ", source, flags=re.M)[1:]:
        title, *lines = section.splitlines()
        links = (re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line) for line in lines)
        pages = [{m[1]: str(pathlib.PurePosixPath("docs", m[2])).replace("docs/../", "")} for m in links if m]
        nav.append({title: [{"Overview": "docs/README.md"}] + pages if len(nav) == 1 else pages})
    config.nav = nav
    return config


def on_files(files, config):
    """A folder that a document links to gets a page that lists its files."""
    root = pathlib.Path(config.docs_dir)
    for folder in sorted({f.parent for f in root.rglob("*") if f.is_file()}):
        if any((folder / name).exists() for name in ("README.md", "index.md", "index.html")):
            continue
        where = folder.relative_to(root).as_posix()
        names = sorted(f.name for f in folder.iterdir() if f.is_file())
        names = "".join(f"- [{name}]({urllib.parse.quote(name)})\n" for name in names)
        if where.startswith(("docs/schemas", "examples", "packaging")):
            files.append(File.generated(config, f"{where}/README.md", content=f"# {where}\n\n{names}"))
    return files


def on_page_read_source(page, config):
    """An example is shown as the file that it is, with its front matter."""
    if page.file.src_uri.startswith("examples/") and page.file.name not in ("index", "README"):
        return f"# {page.file.src_uri}\n\n``````markdown\n{page.file.content_string}\n``````\n"


def on_page_markdown(markdown, page, config, files):
    """Writes what GitHub's Markdown has and Python's has not in another way, and puts pictures in their places."""
    page.as_written = markdown
    out, inside = [], ""
    for line in markdown.split("\n"):
        fence = FENCE.match(line)
        if inside:
            if fence and fence[1].startswith(inside) and not fence[2] + fence[3].strip():
                inside = ""
        elif fence:  # attributes of a step are no attributes of the page
            inside, line = fence[1], fence[1] + fence[2]
        elif line.startswith("|"):
            line = re.sub(r"(`+)(.+?)\1", lambda m: m[0].replace("\\|", "|"), line)
        elif picture := re.fullmatch(r"<!-- picture (\w+): (.*) -->", line):
            both = (f"![{picture[2]}](pictures/{picture[1]}-{mode}.png#only-{mode})" for mode in ("light", "dark"))
            line = "\n".join(both)
        out.append(line)
    return "\n".join(out)


def on_page_content(html, page, config, files):
    """Python's Markdown and the forge's agree on what is a list, a table, a fence and code."""
    command = ["cmark-gfm", "-e", "table", "--unsafe"]
    forge = subprocess.run(command, input=page.as_written, capture_output=True, text=True, check=True)
    for tag in ("h2", "ul", "ol", "li", "tr", "pre", "code", "strong"):
        here, there = (len(re.findall(rf"<{tag}[ >]", text)) for text in (html, forge.stdout))
        if here != there:
            log.warning("%s: %d <%s>, and %d on a forge", page.file.src_uri, here, tag, there)


class Page(HTMLParser):
    """The ids and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        link = attrs.get("href") if tag in ("a", "link") else attrs.get("src")
        if link:
            self.links.append((tag, link))


def on_post_build(config):
    """Each link leads to a file of the site, and its fragment to a place there; nothing is loaded from elsewhere."""
    root = pathlib.Path(config.site_dir)
    pages = {path: Page(path) for path in root.rglob("*.html") if path.name != "404.html"}
    links = 0
    for path, page in pages.items():
        for tag, link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if tag != "a":
                    log.warning("%s loads %s", path.relative_to(root), link)
                continue
            links += 1
            to = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists():
                log.warning("%s: the link %s leads nowhere", path.relative_to(root), link)
            elif url.fragment and to in pages and urllib.parse.unquote(url.fragment) not in pages[to].ids:
                log.warning("%s: the link %s names no place", path.relative_to(root), link)
    print(f"{len(pages)} pages, {links} links")
