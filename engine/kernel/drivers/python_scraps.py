# What every kernel of Python gives its steps: glue, scrap, scraps and check, as a dict by name. more gives what
# does their work, which is loaded when they are first used.
def _mm_scraps(more):
    def glue(name, value, kind=None, display=False):
        """Record a scrap: text, JSON, a table, a picture or a file, for later steps and for the record."""
        more().glue(name, value, kind, display)

    def scrap(name):
        """Read a scrap that an earlier step of any language recorded."""
        return more().scrap(name)

    def check(name, state, value=None, unit="", message=""):
        """Report what a step tagged check found: ok, warn, critical or error."""
        more().check(name, state, value, unit, message)

    class Scraps:
        """The scraps that the steps so far recorded, by name."""
        def __getitem__(self, name):
            return more().scrap(name)
        def __contains__(self, name):
            return name in more().read()
        def __iter__(self):
            return iter(list(more().read()))
        def __len__(self):
            return len(more().read())
        def keys(self):
            return more().read().keys()
        def items(self):
            return [(name, self[name]) for name in self]
        def get(self, name, default=None):
            return self[name] if name in self else default
        def __repr__(self):
            return "scraps(%s)" % ", ".join(self)
    return {"glue": glue, "scrap": scrap, "scraps": Scraps(), "check": check}
