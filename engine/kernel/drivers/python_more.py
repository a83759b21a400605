# The part of the Python driver that is loaded when a step first needs it.
import os
import sys

EXTENSIONS = {
    "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html",
    "text/markdown": "md", "text/latex": "tex", "application/json": "json",
}
# The richest first, of what an output notebook can show.
METHODS = (
    ("image/svg+xml", "_repr_svg_"), ("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_"), ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"), ("text/latex", "_repr_latex_"), ("application/json", "_repr_json_"),
)
# What Jupyter shows besides.
OTHERS = (("application/javascript", "_repr_javascript_"), ("application/pdf", "_repr_pdf_"))
PLAIN = 2 ** 53 - 1


class More:
    def __init__(self, state):
        self.state = state
        self.seen = (None, {})
        self.glued = (None, set())
        self.adopted, self.pid = False, os.getpid()

    # -- displays

    def bundle(self, value):
        """The richest form of a value as (MIME type, content), or None."""
        if callable(getattr(value, "_repr_mimebundle_", None)):
            got = value._repr_mimebundle_(include=None, exclude=None)
            data = got[0] if isinstance(got, tuple) else got
            for mime, _ in METHODS:
                if data and data.get(mime) is not None:
                    return mime, data[mime]
        for mime, method in METHODS:
            call = getattr(value, method, None)
            if callable(call):
                got = call()
                if isinstance(got, tuple):
                    got = got[0]
                if got is not None:
                    return mime, got
        if is_figure(value):
            return "image/png", figure_png(value)
        return None

    def show(self, value):
        """Keep a rich value as a display; False when it has no rich form."""
        if shows_itself(value):
            return True
        got = self.bundle(value)
        if got is None:
            return False
        mime, content = got
        self.keep(mime, content, repr(value))
        return True

    # -- the order of outputs, where the engine asks for it

    def count(self, stream):
        """Count the bytes that go through a stream, so that results have a place among them."""
        if stream is None or "write" in getattr(stream, "__dict__", {}):
            return
        write, state = stream.write, self.state

        def counted(text):
            n = write(text)
            state.written += len(text) if text.isascii() else len(text.encode("utf-8", "markmill"))
            return n
        try:
            stream.write = counted
        except AttributeError:
            pass

    def forms(self, value):
        """Every form of a value, by MIME type, and what is said about them."""
        data, about = {}, {}
        if callable(getattr(type(value), "_repr_mimebundle_", None)):
            got = value._repr_mimebundle_(include=None, exclude=None)
            if isinstance(got, tuple):
                got, about = got[0], dict(got[1] or {})
            data.update(got or {})
        for mime, method in METHODS + OTHERS:
            call = getattr(value, method, None) if hasattr(type(value), method) else None
            if mime not in data and callable(call):
                got = call()
                if isinstance(got, tuple):
                    got, about[mime] = got[0], got[1]
                if got is not None:
                    data[mime] = got
        if not data and is_figure(value):
            data["image/png"] = figure_png(value)
        data.setdefault("text/plain", repr(value))
        return data, about

    def tell(self, value, role):
        """Note a result: its richest form as a display, the others beside it; a plain one is printed, too."""
        if shows_itself(value):
            return
        self.told(*self.forms(value), role)

    def told(self, data, about, role):
        import json
        data, alt = dict(data), data.get("text/plain", "")
        at, entry = self.state.written, {"type": role, "metadata": about}
        for mime, _ in METHODS:
            if data.get(mime) is not None:
                self.keep(mime, data.pop(mime), alt)
                entry["file"], entry["mime"] = self.state.displays[-1][0], mime
                break
        else:
            if "text/plain" in data:
                print(alt)
        entry["data"] = {mime: encoded(got) for mime, got in data.items()}
        try:
            json.dumps(entry, allow_nan=False)
        except ValueError:  # JSON has no word for what is no number; ipykernel sends its text
            entry["data"], entry["metadata"] = finite(entry["data"]), finite(entry["metadata"])
        except TypeError:
            entry["data"], entry["metadata"] = {"text/plain": alt}, {}
        self.state.outputs.append((at, self.state.written - at, entry))

    def publish(self, data, about):
        """Show a MIME bundle, as IPython's display does with raw=True, and record the scraps in it."""
        record_scraps(self, data, about)
        if self.state.ordered:
            self.told(data, about, "display_data")
            return
        for mime, _ in METHODS:
            if data.get(mime) is not None:
                self.keep(mime, data[mime], data.get("text/plain", ""))
                return
        if "text/plain" in data:
            print(data["text/plain"])

    def patched(self, name, path, target):
        return patched(self, name, path, target)

    def patch(self, name):
        PATCHES[name](self, sys.modules[name])

    def keep(self, mime, content, alt):
        state = self.state
        state.count += 1
        name = "display-%d.%s" % (state.count, EXTENSIONS[mime])
        write(state.dir, name, mime, content)
        state.displays.append((name, mime, alt))

    def figures(self):
        """Keep what matplotlib has open at the end of a step, and close it."""
        plt = sys.modules["matplotlib.pyplot"]
        for number in plt.get_fignums():
            figure = plt.figure(number)
            self.keep("image/png", figure_png(figure), "figure %d" % number)
            if self.state.ordered:
                self.state.outputs.append((self.state.written, 0, {"type": "display_data", "file": self.state.displays[-1][0],
                                                                   "mime": "image/png", "data": {"text/plain": repr(figure)}}))
        plt.close("all")

    # -- failures

    def cache(self, file):
        import linecache
        lines = self.state.lines.get(file, [])
        linecache.cache[file] = (len(lines), None, [line + "\n" for line in lines], file)

    def failed(self, e):
        """Print an exception, trimmed to the author's frames; the result is the step's exit code."""
        import traceback
        for file in self.state.lines:
            self.cache(file)
        trim(e)
        text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        line, tb = 0, e.__traceback__
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == self.state.file:
                line = tb.tb_lineno
            tb = tb.tb_next
        if isinstance(e, SyntaxError) and e.filename == self.state.file:
            line = e.lineno or line
        try:
            value = str(e)
        except Exception:
            value = ""
        self.state.failure = (type(e).__name__, value, text, str(line))
        sys.last_type, sys.last_value, sys.last_traceback = type(e), e, e.__traceback__
        hook = sys.excepthook
        if hook is not sys.__excepthook__:
            hook(type(e), e, e.__traceback__)
        else:
            sys.stderr.write(text)
        return 130 if isinstance(e, KeyboardInterrupt) else 1

    def reply(self):
        """Write what the engine reads after a step: the exception, then the displays."""
        if self.state.ordered:
            self.tell_all()
        fields = list(self.state.failure or ("", "", "", "0"))
        for display in self.state.displays:
            fields.extend(display)
        with open(self.state.private + "/reply", "wb") as f:
            for field in fields:
                f.write(field.replace("\0", "\\0").encode("utf-8", "backslashreplace") + b"\0")

    def tell_all(self):
        import json
        with open(self.state.private + "/outputs", "w", encoding="utf-8", errors="backslashreplace") as f:
            for at, printed, entry in self.state.outputs:
                f.write(json.dumps({"at": at, "printed": printed, "output": entry}) + "\n")

    # -- the event loop

    def open_loop(self):
        """The session's event loop, which stays for later steps: that of the main thread, or a new one."""
        import asyncio
        import warnings
        loop = self.state.loop
        if loop is None or loop.is_closed():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loop = self.main_loop()
            except RuntimeError:
                loop = None
            if loop is None or loop.is_closed() or loop.is_running():
                loop = asyncio.new_event_loop()
                asyncio.set_event_loop(loop)
            self.state.loop = loop
        return loop

    def wants_loop(self, frame):
        """Whether code that asks for a running loop gets the session's: that of a step, and any once a step has used it.

        Libraries ask in order to refuse code that would block a loop, so they get none before."""
        import threading
        if not self.state.stepping or self.pid != os.getpid() or threading.current_thread() is not threading.main_thread():
            return False
        while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "asyncio":
            frame = frame.f_back
        return self.state.loop is not None or frame is not None and frame.f_globals is self.state.names

    def adopt(self, yes):
        """Make the session's loop the running one for the code of a step, or end that."""
        import asyncio
        import threading
        loop = self.open_loop() if yes else None
        self.adopted = yes
        if hasattr(self.state.loop, "_thread_id"):
            self.state.loop._thread_id = threading.get_ident() if yes else None
        asyncio._set_running_loop(loop)

    def settle(self):
        """End a step: what is ready in the loop runs, so that what it prints is the step's."""
        if self.adopted:
            self.adopt(False)
        loop = self.state.loop
        for _ in range(100):
            if not getattr(loop, "_ready", None) or loop.is_running() or loop.is_closed():
                return
            loop.call_soon(loop.stop)
            loop.run_forever()

    def idle(self, orders):
        """Run the loop until an order comes."""
        loop = self.state.loop
        if loop.is_running() or loop.is_closed():
            return
        try:
            loop.add_reader(orders, loop.stop)
            loop.run_forever()
        except BaseException as e:  # of the author's tasks; it must not end the session
            sys.excepthook(type(e), e, e.__traceback__)
        finally:
            if not loop.is_closed():
                loop.remove_reader(orders)

    def wait(self, coroutine):
        """Run a coroutine in the session's event loop."""
        loop = self.open_loop()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    # -- parameters and scraps

    def params(self):
        import json
        limit = getattr(sys, "set_int_max_str_digits", None)
        before = sys.get_int_max_str_digits() if limit else 0
        if limit:
            limit(0)  # an integer parameter may have any number of digits
        try:
            with open(self.state.private + "/params", encoding="utf-8") as f:
                for name, value in json.load(f):
                    self.state.names[name] = from_wire(value)
        finally:
            if limit:
                limit(before)

    def read(self):
        import json
        path = self.state.scraps_file
        try:
            size = os.stat(path).st_size
        except (OSError, ValueError):
            return {}
        if size != self.seen[0]:
            found = {}
            with open(path, encoding="utf-8") as f:
                for line in f:
                    if line.endswith("\n"):
                        entry = json.loads(line)
                        found[entry["name"]] = entry
            self.seen = (size, found)
        return self.seen[1]

    def scrap(self, name):
        found = self.read()
        if name not in found:
            known = ", ".join(sorted(found)) or "none yet"
            raise KeyError("no scrap is named %r; known: %s" % (name, known))
        entry = found[name]
        if entry["type"] in ("image", "file"):
            import pathlib
            return pathlib.Path(entry["file"])
        return from_wire(entry.get("value"))

    def glue(self, name, value, kind, display):
        if not isinstance(name, str) or not name:
            raise TypeError("glue: the name of a scrap is a string that is not empty")
        if not self.state.scraps_file:
            raise RuntimeError("glue: this session keeps no scraps")
        entry = {"name": name}
        if display:
            entry["display"] = True
        self.fill(entry, name, value, kind)
        self.put(entry)

    def check(self, name, state, value, unit, message):
        if not isinstance(name, str) or not name:
            raise TypeError("check: the name of a check is a string that is not empty")
        if state not in ("ok", "warn", "critical", "error"):
            raise ValueError("check: the state is ok, warn, critical or error, not %r" % (state,))
        if not self.state.scraps_file:
            raise RuntimeError("check: this session keeps no scraps")
        data = {"state": state}
        if value is not None:
            number = float(value)  # NumPy's numbers, too
            if number != number or number in (float("inf"), float("-inf")):
                raise ValueError("check: the value of %r is %r, which is no number" % (name, value))
            data["value"] = int(number) if number.is_integer() and abs(number) < PLAIN else number
        data.update((key, str(text)) for key, text in (("unit", unit), ("message", message)) if text)
        self.put({"name": "check:" + name, "type": "check", "value": data})

    def put(self, entry):
        import json
        line = json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True) + "\n"
        fd = os.open(self.state.scraps_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def fill(self, entry, name, value, kind):
        import pathlib
        if kind not in (None, "text", "json", "table", "image", "file"):
            raise TypeError("glue: kind is text, json, table, image or file, not %r" % (kind,))
        if kind == "text" or kind is None and isinstance(value, str):
            entry.update(type="text", value=str(value))
        elif kind == "file" or kind is None and isinstance(value, pathlib.PurePath):
            path = os.fspath(value)
            with open(path, "rb") as f:
                content = f.read()
            self.attach(entry, name, "file", os.path.splitext(path)[1], content, mime_of(path))
        elif kind in (None, "image") and image_of(value, kind) is not None:
            content, mime = image_of(value, kind)
            self.attach(entry, name, "image", "." + EXTENSIONS.get(mime, "bin"), content, mime)
        elif kind == "image":
            raise TypeError("glue: %r is no picture; give a figure, a PIL image, or the bytes of a PNG, JPEG or SVG" % name)
        elif kind == "table" or kind is None and table_of(value, False) is not None:
            table = table_of(value, True)
            if table is None:
                raise TypeError("glue: %r is no table; give a data frame, or a list of dicts with kind='table'" % name)
            entry.update(type="table", value=table)
        else:
            entry.update(type="json", value=to_wire(value, name))

    def attach(self, entry, name, kind, extension, content, mime):
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        file = "scrap-" + safe + extension
        write(self.state.dir, file, mime, content)
        entry.update(type=kind, file=os.path.join(self.state.dir, file))
        if mime:
            entry["mime"] = mime


def trim(e, seen=()):
    """Drop the driver's own frames of an exception and of those that led to it."""
    if e is None or id(e) in seen:
        return
    frames, tb = [], e.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename != "<markmill>":
            frames.append(tb)
        tb = tb.tb_next
    tb = None
    for frame in reversed(frames):
        frame.tb_next = tb
        tb = frame
    e.__traceback__ = tb
    seen += (id(e),)
    trim(e.__cause__, seen)
    trim(e.__context__, seen)
    for part in getattr(e, "exceptions", ()):
        trim(part, seen)


def write(folder, name, mime, content):
    if not folder:
        raise RuntimeError("this step has no directory for displays")
    os.makedirs(folder, exist_ok=True)
    if mime == "application/json" and not isinstance(content, (str, bytes)):
        import json
        content = json.dumps(content, ensure_ascii=False, indent=2)
    if isinstance(content, str):
        if mime in ("image/png", "image/jpeg"):
            import base64
            content = base64.b64decode(content)
        else:
            content = content.encode("utf-8", "markmill")
    with open(os.path.join(folder, name), "wb") as f:
        f.write(content)


def encoded(content):
    """Bytes as JSON holds them."""
    if isinstance(content, (bytes, bytearray)):
        import base64
        return base64.b64encode(bytes(content)).decode()
    return content


def finite(value):
    """JSON without the numbers that it has no word for."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    return value


def shows_itself(value):
    """Let a value show itself where it can, as IPython does."""
    if not callable(getattr(type(value), "_ipython_display_", None)):
        return False
    try:
        value._ipython_display_()
    except Exception:  # it needs what is not there
        return False
    return True


def is_figure(value):
    return any(t.__name__ == "Figure" and t.__module__.startswith("matplotlib") for t in type(value).__mro__)


def figure_png(figure):
    import io
    out = io.BytesIO()
    # No version and no date: equal figures are equal bytes.
    figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})
    return out.getvalue()


def image_of(value, kind):
    if is_figure(value):
        return figure_png(value), "image/png"
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value)
        if value.startswith(b"\x89PNG\r\n\x1a\n"):
            return value, "image/png"
        if value.startswith(b"\xff\xd8\xff"):
            return value, "image/jpeg"
        if kind == "image" and b"<svg" in value[:1000]:
            return value, "image/svg+xml"
        return None
    if type(value).__module__.startswith("PIL.") and hasattr(value, "save"):
        import io
        out = io.BytesIO()
        value.save(out, format="PNG")
        return out.getvalue(), "image/png"
    if kind == "image":
        for mime, method in METHODS[:3]:
            got = getattr(value, method, lambda: None)()
            if got is not None:
                return (got.encode() if isinstance(got, str) else got), mime
    return None


def table_of(value, asked):
    """A data frame, or a list of dicts, as {"columns": [...], "data": [[...], ...]}."""
    module = type(value).__module__.partition(".")[0]
    if type(value).__name__ == "DataFrame":
        if module == "pandas":
            return {"columns": [str(c) for c in value.columns], "data": [[to_wire(cell(v), str(c)) for c, v in zip(value.columns, row)] for row in value.itertuples(index=False, name=None)]}
        if hasattr(value, "rows"):
            return {"columns": [str(c) for c in value.columns], "data": [[to_wire(v, "row") for v in row] for row in value.rows()]}
    if type(value).__name__ in ("Table", "RecordBatch") and module == "pyarrow":
        rows = zip(*[column.to_pylist() for column in value.columns])
        return {"columns": [str(c) for c in value.schema.names], "data": [[to_wire(v, "row") for v in row] for row in rows]}
    if asked and isinstance(value, list) and all(isinstance(row, dict) for row in value):
        columns = list(dict.fromkeys(str(key) for row in value for key in row))
        rows = [{str(k): v for k, v in row.items()} for row in value]
        return {"columns": columns, "data": [[to_wire(row.get(c), c) for c in columns] for row in rows]}
    return None


def cell(value):
    if type(value).__name__ in ("NaTType", "NAType") or isinstance(value, float) and value != value:  # pandas' words for what is missing
        return None
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value


def mime_of(path):
    import mimetypes
    return mimetypes.guess_type(path)[0] or ""


def to_wire(value, where):
    """JSON that says the type of what JSON cannot hold; see notebooks.Value.Wire."""
    import datetime
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if -PLAIN <= value <= PLAIN else {"$int": str(int(value))}
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return {"$float": repr(float(value))}
        return float(value)
    if isinstance(value, (list, tuple)):
        return [to_wire(v, where) for v in value]
    if isinstance(value, dict):
        if all(isinstance(k, str) and not k.startswith("$") for k in value):
            return {k: to_wire(v, where) for k, v in value.items()}
        return {"$map": [[to_wire(k, where), to_wire(v, where)] for k, v in value.items()]}
    if isinstance(value, (datetime.datetime, datetime.date)):
        return {"$date": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"$duration": value.total_seconds(), "text": "%gs" % value.total_seconds()}
    if isinstance(value, (bytes, bytearray)):
        import base64
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    for method in ("tolist", "item"):  # numpy's arrays and numbers
        call = getattr(value, method, None)
        if callable(call) and type(value).__module__.partition(".")[0] in ("numpy", "pandas"):
            return to_wire(call(), where)
    raise TypeError(
        "glue: %r holds a %s, which is not JSON; turn it into numbers, strings, lists and dicts, "
        "give str(value) for text, or a pathlib.Path for a file" % (where, type(value).__name__))


def from_wire(value):
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) in (1, 2):
        for tag in value:
            read = WIRE.get(tag)
            if read:
                return read(value[tag])
    return {k: from_wire(v) for k, v in value.items()}


def date_of(text):
    import datetime
    if len(text) <= 10:
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            return text
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return text


def duration_of(seconds):
    import datetime
    return datetime.timedelta(seconds=seconds)


def bytes_of(text):
    import base64
    return base64.b64decode(text)


WIRE = {
    "$int": int, "$float": float, "$date": date_of, "$path": str, "$secret": str, "$duration": duration_of, "$bytes": bytes_of,
    "$map": lambda pairs: {from_wire(k): from_wire(v) for k, v in pairs},
}
