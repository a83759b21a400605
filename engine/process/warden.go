package process

// WardenName is the program name (argv[0]) under which Markmill is the warden of runs.
const WardenName = "markmill-warden"
