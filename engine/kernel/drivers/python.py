# The driver of a Python session: standard library only, and little of it, because it is part of
# every start. What few steps need (tracebacks, rich results, scraps) is in python_more.py.
def _mm_main(private, scraps, more_source):
    import sys, os, _signal
    import builtins
    if sys.version_info < (3, 8):
        sys.exit("Python 3.8 or newer is needed, this is %d.%d" % sys.version_info[:2])
    PyCF_ONLY_AST, PyCF_ALLOW_TOP_LEVEL_AWAIT, FUTURE = 0x400, 0x2000, 0x1FF0000
    ignore = lambda number, frame: None
    _signal.signal(_signal.SIGINT, ignore)
    handler = _signal.default_int_handler
    # What Python can print, it prints: bytes smuggled in as surrogates come out as the bytes
    # that they were, and other lone surrogates as escapes.
    def smuggled(e):
        if not isinstance(e, UnicodeEncodeError):
            raise e
        out = b""
        for c in e.object[e.start:e.end]:
            n = ord(c)
            out += bytes((n - 0xDC00,)) if 0xDC80 <= n <= 0xDCFF else b"\\u%04x" % n
        return out, e.end
    import _codecs
    _codecs.register_error("markmill", smuggled)

    def streams():
        # Each line leaves at once, so that a crash loses nothing that was printed before.
        for fd, name, path in ((1, "stdout", "/out"), (2, "stderr", "/err")):
            try:
                os.fstat(fd)
            except OSError:
                new = os.open(private + path, os.O_WRONLY)
                if new != fd:
                    os.dup2(new, fd)
                    os.close(new)
            stream = getattr(sys, "__%s__" % name)
            if stream is None or stream.closed:
                stream = open(fd, "w", closefd=False)
                setattr(sys, "__%s__" % name, stream)
                setattr(sys, name, stream)
            current = getattr(sys, name, None)
            if current is None or getattr(current, "closed", False):
                setattr(sys, name, stream)
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="markmill" if fd == 1 else "backslashreplace", line_buffering=True)

    main = type(sys)("__main__")
    names = main.__dict__
    names["__builtins__"] = builtins

    class Loader:  # gives linecache, and all that asks it, the source of the steps
        @staticmethod
        def get_source(name):
            return "\n".join(state.lines.get(state.file, ()))

    class State:
        def __init__(self):
            self.private, self.scraps_file, self.names = private, scraps, names
            self.lines, self.file, self.displays, self.dir = {}, "", [], ""
            self.flags, self.count = 0, 0
            self.ordered, self.outputs, self.written = False, [], 0
            self.stepping, self.loop = False, None  # the event loop, once a step has used it

        def more(self):
            if "loaded" not in self.__dict__:
                space = {"__name__": "markmill"}
                exec(compile(more_source, "<markmill>", "exec"), space)
                self.loaded = space["More"](self)
            return self.loaded
    state = State()
    names["__loader__"] = Loader
    sys.modules["__main__"] = main

    rich = ("_ipython_display_", "_repr_mimebundle_", "_repr_png_", "_repr_jpeg_", "_repr_svg_", "_repr_html_", "_repr_markdown_", "_repr_latex_", "_repr_json_")

    def show(value, role="execute_result"):
        if value is None:
            return
        builtins._ = value
        if state.ordered:
            state.more().tell(value, role)
            return
        kind = type(value)
        for name in rich:
            if hasattr(kind, name):
                if state.more().show(value):
                    return
                break
        else:
            if kind.__name__ == "Figure" and state.more().show(value):
                return
        print(repr(value))

    def display(*values):
        """Show values as the last expression of a step is shown."""
        for value in values:
            if value is None and not state.ordered:
                print(repr(value))
            elif value is None:
                state.more().tell(value, "display_data")
            else:
                show(value, "display_data")

    state.display = display

    class Finder:  # IPython shows what it is asked to by a kernel of its own, which there is not
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name in ("asyncio", "getpass", "IPython.core.display_functions", "IPython.core.formatters", "scrapbook.utils",
                        "linecache", "matplotlib.pyplot", "plotly.io._renderers"):
                return state.more().patched(name, path, target)
    sys.meta_path.insert(0, Finder)
    if "asyncio" in sys.modules:  # loaded by what the interpreter runs when it starts
        state.more().patch("asyncio")

    StdinNotImplementedError = type("StdinNotImplementedError", (NotImplementedError,), {"__module__": "builtins"})  # as IPython calls it
    def asks(ask, name, instead):
        def no_answer(*args, **kwargs):
            if sys.stdin is not sys.__stdin__:  # the step has put a text there
                return ask(*args, **kwargs)
            raise StdinNotImplementedError("%s was called, and nobody answers in a run: %s" % (name, instead))
        no_answer.__name__ = name
        return no_answer
    state.asks = asks
    builtins.input = asks(input, "input", "give the value as a parameter (-p NAME VALUE), or read it from a file")

    names.update(_mm_scraps(state.more), display=display)
    sys.displayhook = show

    def lower(tree, lines):
        """Move all of a tree down by so many lines."""
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            for name in ("lineno", "end_lineno"):
                at = getattr(node, name, None)
                if at is not None:
                    setattr(node, name, at + lines)
            for name in node._fields:
                child = getattr(node, name, None)
                if isinstance(child, list):
                    nodes.extend(c for c in child if hasattr(c, "_fields"))
                elif hasattr(child, "_fields"):
                    nodes.append(child)

    def quiet(last, source, line):
        """Whether a semicolon ends the last expression, which hides its value, as in IPython."""
        rest = "\n".join(source.split("\n")[last.end_lineno - line:]).encode("utf-8", "surrogateescape")[last.end_col_offset:]
        return rest.lstrip(b" \t\f\\\n)").startswith(b";")

    def compiled(source, file, line):
        flags = state.flags | PyCF_ALLOW_TOP_LEVEL_AWAIT
        # Line numbers are the notebook's. To read so many empty lines before a step costs less than
        # to visit every node of a long one, and more than to visit those of a short one far down.
        below = line - 1 if line > 14 * len(source) else 0
        try:
            tree = compile("\n" * (line - 1 - below) + source, file, "exec", flags | PyCF_ONLY_AST, True)
        except SyntaxError:
            if not below:
                raise
            tree = None
        if tree is None:  # its message may name lines, too
            compile("\n" * (line - 1) + source, file, "exec", flags | PyCF_ONLY_AST, True)
        if below:
            lower(tree, below)
        parts = []
        if tree.body and type(tree.body[-1]).__name__ == "Expr" and not (";" in source and quiet(tree.body[-1], source, line)):
            import _ast
            last = _ast.Expression(tree.body.pop().value)
            parts.append((compile(tree, file, "exec", flags, True), False))
            parts.append((compile(last, file, "eval", flags | (parts[0][0].co_flags & FUTURE), True), True))
        else:
            parts.append((compile(tree, file, "exec", flags, True), False))
        state.flags |= parts[0][0].co_flags & FUTURE
        return parts

    def evaluate(code):
        value = eval(code, names)
        if code.co_flags & 0x80:  # a coroutine: the code awaits
            value = state.more().wait(value)
        return value

    def remember(file, line, source):
        lines = state.lines.setdefault(file, [])
        new = source.split("\n")
        if len(lines) < line - 1 + len(new):
            lines.extend([""] * (line - 1 + len(new) - len(lines)))
        lines[line - 1:line - 1 + len(new)] = new
        state.file = file
        if "linecache" in sys.modules:
            state.more().cache(file)

    def step(source, file, line):
        """Run a step; the result is its exit code."""
        nonlocal handler
        try:
            try:
                source = source.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
                remember(file, line, source)
                parts = compiled(source, file, line)
                _signal.signal(_signal.SIGINT, handler)
                state.stepping = True
                for code, wanted in parts:
                    value = evaluate(code)
                    if wanted:
                        sys.displayhook(value)
                if "matplotlib.pyplot" in sys.modules:
                    state.more().figures()
            finally:
                state.stepping = False
                if state.loop:
                    state.more().settle()
                handler = _signal.getsignal(_signal.SIGINT) if _signal.getsignal(_signal.SIGINT) is not ignore else handler
                _signal.signal(_signal.SIGINT, ignore)
        except SystemExit as e:
            if e.code is None:
                return 0
            number = isinstance(e.code, int)
            code = e.code & 0xFF if number else 1
            if code and state.ordered:  # a cell that failed has an error among its outputs
                text = "SystemExit: %s\n" % (e.code,)
                state.failure = ("SystemExit", str(e.code), text, "0")
                sys.stderr.write(text)
            elif not number:
                print(e.code, file=sys.stderr)
            return code
        except BaseException as e:
            return state.more().failed(e)
        return 0

    def flush():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass

    def environ(pairs):
        old = []
        for name, value in zip(pairs[::2], pairs[1::2]):
            old.append((name, os.environb.get(name)))
            os.environb[name] = value
        return old

    def say(text):
        fd = os.open(private + "/ctl", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)

    plain = {"null": lambda text: None, "bool": bool, "int": int, "float": float, "str": str}

    def params():
        with open(private + "/plain", "rb") as f:
            fields = f.read().decode().split("\0")
        for kind, name, text in zip(fields[::3], fields[1::3], fields[2::3]):
            names[name] = plain[kind](text)
        if os.path.getsize(private + "/params"):
            state.more().params()

    os.environ.setdefault("MPLBACKEND", "Agg")
    streams()
    params()
    say("hello %d %s\n" % (os.getpid(), "%d.%d.%d" % sys.version_info[:3]))
    orders, pending = os.open(private + "/in", os.O_RDONLY), b""
    while True:
        while b"\n" not in pending:
            if state.loop:
                state.more().idle(orders)
            try:
                got = os.read(orders, 100)
            except OSError:  # the author's code closed every descriptor
                orders = os.open(private + "/in", os.O_RDONLY)
                continue
            if not got:
                return
            pending += got
        order, _, pending = pending.partition(b"\n")
        order = order.decode()
        if order == "q":
            return
        if order[0] == "p":
            say(order[1:] + " 0 0\n")
            continue
        if order[0] == "b":
            params()
            say(order[1:] + " 0 0\n")
            continue
        streams()
        fd = os.open(private + "/step", os.O_RDONLY)
        number, size, code_size, *ordered = order.split(" ")
        state.ordered, state.outputs, state.written = bool(ordered), [], 0
        if ordered:
            state.more().count(sys.stdout)
        size = int(size)
        whole = os.read(fd, size)
        while len(whole) < size:
            whole += os.read(fd, size - len(whole))
        os.close(fd)
        source = whole[size - int(code_size):]
        meta = whole[:size - int(code_size)].split(b"\0")[:-1]
        state.displays, state.count, state.failure = [], 0, None
        state.dir = os.fsdecode(meta[3])
        old = environ(meta[4:])
        try:
            if meta[2]:
                os.chdir(meta[2])
        except OSError as e:
            print(e, file=sys.stderr)
            code = 1
        else:
            code = step(source, os.fsdecode(meta[0]), int(meta[1]))
        for name, value in old:
            if value is None:
                os.environb.pop(name, None)
            else:
                os.environb[name] = value
        flush()
        more = state.displays or state.failure or state.outputs
        if more:
            state.more().reply()
        say("%s %d %d\n" % (number, code, bool(more)))
