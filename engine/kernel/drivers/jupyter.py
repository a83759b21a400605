# What a Jupyter kernel of Python is given when it starts: the parameters, glue, scrap and scraps. It
# has no driver, because it speaks a protocol of its own.
def _mm_setup(private, scraps):
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
    shell.__dict__["_mm_params"] = again
    params()


_mm_setup(private, scraps)
