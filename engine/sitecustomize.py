# A run of Markmill: what leads to the checkout leads to the worktree of the run.
def _lead():
    import os
    import sys

    paths = []
    tree = paths.pop()
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p != own]

    def moved(path):
        for root in paths:
            if isinstance(path, str) and (path == root or path.startswith(root + os.sep)):
                there = tree + path[len(root):]
                if os.path.lexists(there):
                    return there
        return path

    sys.path[:] = [moved(p) for p in sys.path]
    for name, module in list(sys.modules.items()):
        if not name.startswith("__editable__"):
            continue
        mapping = getattr(module, "MAPPING", None)
        if isinstance(mapping, dict):
            mapping.update({k: moved(v) for k, v in mapping.items()})
        spaces = getattr(module, "NAMESPACES", None)
        if isinstance(spaces, dict):
            spaces.update({k: [moved(p) for p in v] for k, v in spaces.items()})
    for finder in sys.meta_path:  # of scikit-build-core
        for attribute in ("known_source_files", "submodule_search_locations"):
            known = getattr(finder, attribute, None)
            if isinstance(known, dict):
                for k, v in known.items():
                    known[k] = moved(v) if isinstance(v, str) else type(v)(moved(p) for p in v)

    from importlib import import_module, invalidate_caches
    invalidate_caches()
    here = sys.modules.pop("sitecustomize")
    try:
        import_module("sitecustomize")  # the user's own
    except ModuleNotFoundError as e:
        if e.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", here)


_lead()
del _lead
