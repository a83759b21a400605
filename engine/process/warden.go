package process

// WardenName is the program name (argv[0]) under which Markmill is a run's warden.
const WardenName = "markmill-warden"
