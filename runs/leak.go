package runs

// LeakNote stands in the place of a file that showed the value of a secret. Its digest is recorded like
// that of any file.
const LeakNote = "Left out: the value of a secret stood here.\n"
