// Package sshsig signs bytes with SSH keys and verifies such signatures, as "ssh-keygen -Y sign"
// and "ssh-keygen -Y verify" do: the armored SSHSIG format (OpenSSH's PROTOCOL.sshsig), and the
// allowed_signers file that says whose key counts for what (ssh-keygen(1), ALLOWED SIGNERS).
//
// What always holds: a signature verifies only in the namespace that it was made for; SHA-1 and DSA are refused; a line
// of allowed_signers that cannot be read allows nobody.
//
// Certificates are not supported: a signature by one, and a cert-authority line, count for nothing. The package knows
// nothing of runs and touches no disk. golang.org/x/crypto/ssh reads keys and lines and makes the signatures; it does
// not have the SSHSIG format itself.
package sshsig
