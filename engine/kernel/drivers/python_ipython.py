

# IPython's functions to display something, where libraries call them in a session that is none of IPython's, and the
# scraps that the package scrapbook records by them. Part of what is loaded when a step first needs it.


def patched(more, name, path, target):
    """The spec of a module that is changed when it has been loaded."""
    import importlib.machinery
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec is None or spec.loader is None:
        return spec
    load = spec.loader.exec_module

    def exec_module(module):
        load(module)
        PATCHES[name](more, module)
    spec.loader.exec_module = exec_module
    return spec


def in_ipython():
    shell = sys.modules.get("IPython.core.interactiveshell")
    return shell is not None and shell.InteractiveShell.initialized()


def patch_display(more, module):
    publish, show = module.publish_display_data, module.display

    def publish_display_data(data, metadata=None, *args, **kwargs):
        if in_ipython():
            return publish(data, metadata, *args, **kwargs)
        more.publish(data, metadata or {})

    def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False, **kwargs):
        if in_ipython():
            return show(*objs, include=include, exclude=exclude, metadata=metadata, transient=transient, display_id=display_id, raw=raw, clear=clear, **kwargs)
        for obj in objs:
            if raw:
                more.publish(obj, metadata or {})
            elif include or exclude or metadata:
                data, about = chosen(more, obj, include, exclude)
                more.publish(data, {**about, **(metadata or {})})
            else:
                more.state.display(obj)
        if display_id:
            return module.DisplayHandle(None if display_id is True else display_id)
    publish_display_data.__doc__, display.__doc__ = publish.__doc__, show.__doc__
    module.publish_display_data, module.display = publish_display_data, display


def patch_formatters(more, module):
    form = module.format_display_data

    def format_display_data(obj, include=None, exclude=None):
        if in_ipython():
            return form(obj, include, exclude)
        return chosen(more, obj, include, exclude)
    module.format_display_data = format_display_data


def patch_scrapbook(more, module):
    module.is_kernel = lambda: True  # it asks for a kernel of Jupyter's, and warns that there is none


def patch_getpass(more, module):
    module.getpass = more.state.asks(module.getpass, "getpass", "name an environment variable in secrets: [NAME] of the front matter, and read it from os.environ")


def patch_asyncio(more, module):
    """Give the code of steps a running event loop, as a kernel of IPython's does; a loop of their own runs all the same."""
    import functools
    events = module.events
    more.main_loop = events.get_event_loop

    def running(ask):
        @functools.wraps(ask)
        def asked(*args, **kwargs):
            if events._get_running_loop() is None and more.wants_loop(sys._getframe(1)):
                more.adopt(True)
            return ask(*args, **kwargs)
        return asked

    def apart(run):
        @functools.wraps(run)
        def call(*args, **kwargs):
            if not more.adopted or events._get_running_loop() is not more.state.loop:
                return run(*args, **kwargs)
            more.adopt(False)
            try:
                return run(*args, **kwargs)
            finally:
                more.adopt(True)
        return call
    for change, places, names in (
        (running, (events, module), ("get_running_loop", "get_event_loop", "_get_event_loop")),
        (running, (module.tasks, module), ("current_task",)),
        (apart, (module.runners, module), ("run",)),
        (apart, (getattr(module, "Runner", None),), ("run",)),
        (apart, (module.BaseEventLoop,), ("run_forever", "run_until_complete")),
        (apart, (module.SelectorEventLoop,), ("close",)),
    ):
        for name in names:
            if hasattr(places[0], name):
                changed = change(getattr(places[0], name))
                for place in places:
                    if hasattr(place, name):
                        setattr(place, name, changed)


def patch_linecache(more, module):
    for file in more.state.lines:  # the file itself may hold the code as JSON
        more.cache(file)


def patch_pyplot(more, module):
    show = module.show

    def show_figures(*args, **kwargs):
        if module.get_backend().lower() == "agg" and not in_ipython():
            return more.figures()
        return show(*args, **kwargs)
    show_figures.__doc__, module.show = show.__doc__, show_figures


def patch_plotly(more, module):
    show, renderers = module.show, module.renderers
    if in_ipython() or os.environ.get("PLOTLY_RENDERER"):
        return
    renderers.default = own = "plotly_mimetype"

    def show_figure(fig, renderer=None, validate=True, **kwargs):
        if renderer or renderers.default != own:
            return show(fig, renderer=renderer, validate=validate, **kwargs)
        if more.state.ordered:
            more.publish(renderers._build_mime_bundle(module.validate_coerce_fig_to_dict(fig, validate), own, **kwargs), {})
        else:  # which no page can draw
            import plotly.io
            more.publish({"text/html": plotly.io.to_html(fig, full_html=False, include_plotlyjs="cdn", validate=validate)}, {})
    show_figure.__doc__, module.show = show.__doc__, show_figure


def chosen(more, value, include, exclude):
    """The forms of a value that are asked for."""
    data, about = more.forms(value)
    data = {mime: encoded(got) for mime, got in data.items() if (not include or mime in include) and (not exclude or mime not in exclude)}
    return data, {mime: said for mime, said in about.items() if mime in data or mime not in KNOWN}


KNOWN = {mime for mime, _ in METHODS + OTHERS} | {"text/plain"}
PATCHES = {"asyncio": patch_asyncio, "getpass": patch_getpass, "IPython.core.display_functions": patch_display, "IPython.core.formatters": patch_formatters,
           "scrapbook.utils": patch_scrapbook, "linecache": patch_linecache, "matplotlib.pyplot": patch_pyplot, "plotly.io._renderers": patch_plotly}


def scraps_of(data):
    """The values that a display of scrapbook's holds, and of papermill's before it: (name, value, encoder)."""
    for mime, got in data.items():
        if mime.startswith("application/papermill.record") and isinstance(got, dict) and got:
            name = next(iter(got))
            yield name, got[name], mime[len("application/papermill.record"):].lstrip("+/") or "json"
        elif mime.startswith("application/scrapbook.scrap.") and isinstance(got, dict) and got.get("name") and "data" in got:
            yield got["name"], got["data"], got.get("encoder")


def record_scraps(more, data, about):
    """Record what a display of scrapbook's holds. What is shown does not take the place of a value that the step recorded."""
    import json
    if more.glued[0] != more.state.dir:
        more.glued = (more.state.dir, set())
    values = more.glued[1]
    shown = about.get("scrapbook") or {}
    shown = (about.get("papermill") or {}).get("name") or shown.get("display") and shown.get("name")
    for name, value, encoder in scraps_of(data):
        entry = {"name": name}
        if shown == name:
            entry["display"] = True
        if encoder == "text":
            entry.update(type="text", value=value if isinstance(value, str) else str(value))
        elif encoder == "json":
            entry.update(type="json", value=to_wire(json.loads(json.dumps(value)), name))
        else:
            try:
                import base64, io
                import pandas
                frame = pandas.read_parquet(io.BytesIO(base64.b64decode(value, validate=True)), engine="pyarrow")
                index = [name for name in frame.index.names if name is not None]
                if index:  # columns of the file like others, the last
                    frame = frame.reset_index()[list(frame.columns) + index]
                entry.update(type="table", value=table_of(frame, True))
            except Exception:  # of an encoder that is not known
                entry.update(type="json", value=to_wire(value, name), encoder=str(encoder))
        values.add(name)
        more.put(entry)
    if not shown or shown in values:
        return
    entry = {"name": shown, "display": True}
    for mime, _ in METHODS:
        got = data.get(mime)
        if got is not None and mime != "application/json":
            more.attach(entry, shown, "image" if mime.startswith("image/") else "file", "." + EXTENSIONS[mime], got, mime)
            break
        if got is not None:
            entry.update(type="json", value=to_wire(got, shown))
            break
    else:
        if "text/plain" not in data:
            return
        entry.update(type="text", value=data["text/plain"])
    more.put(entry)
