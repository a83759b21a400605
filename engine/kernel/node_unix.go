//go:build unix

package kernel

import "context"

// Start starts the interpreter with its driver, which stands in the private directory.
func (k node) Start(ctx context.Context, o Options) (Session, error) {
	if err := canHoldAll(k, o.Params); err != nil {
		return nil, err
	}
	program := o.Program
	if program == "" {
		program = "node"
	}
	const driver = "driver.js"
	l, err := newLive(o, k.Name(), program, nil)
	if err != nil {
		return nil, err
	}
	l.argv = append(l.argv, l.path(driver), o.Private, o.Scraps)
	if err := l.write(driver, nodeDriver); err != nil {
		l.close()
		return nil, err
	}
	return codeSession{live: l}.begin(ctx, o.Params)
}
