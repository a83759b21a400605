package agent

// Table returns the backends. A new one is one file and one line here.
func Table() []Backend {
	return nil
}

// Find returns the backend of a name.
func Find(name string) (Backend, bool) {
	for _, b := range Table() {
		if b.Name() == name {
			return b, true
		}
	}
	return nil, false
}
