# What a Jupyter kernel of Python is given when it starts: the parameters, glue, scrap and scraps. It
# has no driver, because it speaks a protocol of its own.
def _mm_setup(private, scraps, waits):
    import os, sys
    shell = get_ipython()
    # ipykernel reads what programs write to descriptors 1 and 2 in a thread, and sends it when it comes
    # to it, perhaps after the step. They write to Markmill's pipes again, which are read to their end.
    for stream in (sys.stdout, sys.stderr):
        ours, fd = getattr(stream, "_original_stdstream_copy", None), getattr(stream, "_original_stdstream_fd", None)
        if ours is not None and fd is not None:
            os.dup2(ours, fd)

    class State:
        def __init__(self):
            self.private, self.scraps_file, self.names = private, scraps, shell.user_ns
            self.lines, self.file, self.displays, self.dir, self.count = {}, "", [], "", 0

        def more(self):
            if "loaded" not in self.__dict__:
                space = {"__name__": "markmill"}
                with open(private + "/more.py", "rb") as f:
                    exec(compile(f.read(), "<markmill>", "exec"), space)
                self.loaded = space["More"](self)
            return self.loaded
    def quick_end(shell):
        # An interpreter that ends looks for garbage among all that it has, and frees each object: 140 ms, nearly all for
        # what IPython made before any code of the author's. That is kept out of it (gc.freeze), unless something of the
        # author's that does something when it is freed hangs from it.
        import atexit, gc

        def end():  # after what the author set to run at the end
            try:
                kernel = shell.kernel
                if getattr(kernel, "_shutdown_message", None) and kernel.control_thread:
                    # Its last flush waits 10 s if the thread that it needs is ended first.
                    kernel.control_thread.join(1)
                shell.reset(new_session=False)  # frees the author's variables, as IPython does a little later
                gc.collect()
                from asyncio import Future
                from zmq import Socket
                if not any(hasattr(kind, "__del__") and not issubclass(kind, (Future, Socket))
                           for kind in set(map(type, gc.get_objects()))):
                    return
            except BaseException:
                pass
            gc.unfreeze()
        atexit.register(end)
        gc.freeze()
    state = State()
    kept = []

    def before(*_):
        # The order of a step: its folders, and its environment. The file is written over, so it says how long it is.
        while kept:
            name, old = kept.pop()
            if old is None:
                os.environb.pop(name, None)
            else:
                os.environb[name] = old
        with open(private + "/step", "rb", 0) as f:
            size, _, order = f.read().partition(b"\0")
        fields = order[:int(size)].split(b"\0")
        state.dir = os.fsdecode(fields[1])
        if fields[0]:
            os.chdir(fields[0])
        for name, value in zip(fields[2::2], fields[3::2]):
            kept.append((name, os.environb.get(name)))
            os.environb[name] = value
    shell.push(_mm_scraps(state.more), interactive=False)
    shell.events.register("pre_run_cell", before)

    def params():
        if os.path.getsize(private + "/params"):
            state.more().params()

    def again():
        params()
        # papermill executes a cell for this: what comes after has the number that it has there.
        shell.history_manager.store_inputs(shell.execution_count, "# Parameters")
        shell.execution_count += 1
    shell.__dict__["_mm_params"], shell.__dict__["_mm_first_params"] = again, params
    if waits:  # for its run, which gives it parameters
        state.more()
    params()
    quick_end(shell)


_mm_setup(private, scraps, waits)
