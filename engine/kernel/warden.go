package kernel

// WardenName is the name of the program under which it is a run's warden.
const WardenName = "markmill-warden"
