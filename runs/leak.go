package runs

// LeakNote replaces the content of a file that showed the value of a secret. Its digest is recorded like any other.
const LeakNote = "Left out: the value of a secret stood here.\n"
