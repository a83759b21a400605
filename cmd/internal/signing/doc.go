// Package signing signs records and output notebooks with an SSH key of the user.
//
// It owns which key that is (MARKMILL_SIGN_KEY, sign: of the settings) and how it is used; the form of signatures is
// runs/sshsig's.
package signing
