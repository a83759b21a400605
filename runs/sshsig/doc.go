// Package sshsig signs bytes with SSH keys and verifies such signatures, as "ssh-keygen -Y sign" and "ssh-keygen -Y
// verify" do: the armored SSHSIG format (OpenSSH's PROTOCOL.sshsig), and the allowed_signers file that says whose key
// is trusted for what (ssh-keygen(1), ALLOWED SIGNERS).
//
// Invariants: a signature verifies only in the namespace that it was made for; SHA-1 and DSA are refused; a line of
// allowed_signers that cannot be read allows nobody.
//
// Certificates are not supported: signatures by one and cert-authority lines are ignored. The package knows nothing
// about runs and does no I/O. golang.org/x/crypto/ssh reads keys and lines, and hiddeco/sshsig the SSHSIG format, which
// x/crypto does not have.
package sshsig
