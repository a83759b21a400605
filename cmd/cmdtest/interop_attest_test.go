package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkAttestation reads an envelope with the libraries of the in-toto project: securesystemslib verifies the
// signature, in-toto-attestation holds statement and predicate against the published schemas, in which a field
// that is not known is an error. It then changes each part and expects to be refused.
const checkAttestation = `
import copy, base64, json, sys
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementPB
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

data = json.load(open(sys.argv[1]))
key = SSlibKey.from_crypto(load_ssh_public_key(open(sys.argv[2], "rb").read()), keyid=data["signatures"][0]["keyid"])
read = lambda d: Envelope.from_dict(copy.deepcopy(d))
read(data).verify([key], 1)

changed = {"payloadType": data["payloadType"] + "x", "payload": base64.b64encode(base64.b64decode(data["payload"]) + b" ").decode()}
refused = 0
for name, value in changed.items():
    try: read({**data, name: value}).verify([key], 1)
    except VerificationError: refused += 1
assert refused == len(changed), refused

envelope = read(data)
assert envelope.payload_type == "application/vnd.in-toto+json"
statement = json_format.Parse(envelope.payload, StatementPB())
Statement.copy_from_pb(statement).validate()
provenance = json_format.ParseDict(json.loads(envelope.payload)["predicate"], Provenance())
assert provenance.build_definition.build_type and provenance.run_details.builder.id and provenance.run_details.metadata.invocation_id
assert provenance.run_details.metadata.started_on.seconds > 0
assert statement.predicate_type == "https://slsa.dev/provenance/v1"
print(*sorted((kind, s.name, digest) for s in statement.subject for kind, digest in s.digest.items()), sep="\n")
`

// TestInteropAttest lets the public verifiers of in-toto and SLSA judge what runs attest wrote.
func TestInteropAttest(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no interpreter with securesystemslib and in-toto-attestation: run bench/setup")
	}
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("there is no ssh-keygen to make a key with")
	}
	dir := t.TempDir()
	program, repo := builtProgram(t), filepath.Join(dir, "repo")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	command(t, dir, "git", "init", "-q", repo)
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m",
		"base")
	write(t, filepath.Join(repo, "n.md"),
		"---\nparams:\n  word: {type: string, default: x}\n---\n```bash {#a}\necho $word > file\n```\n")
	command(t, repo, program, "run", "n.md")
	command(t, dir, keygen, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(dir, "key"))
	command(t, repo, program, "runs", "attest", "last", "--key", filepath.Join(dir, "key"), "-o",
		filepath.Join(dir, "run.json"))
	said := string(command(t, dir, python, "-c", checkAttestation, filepath.Join(dir, "run.json"),
		filepath.Join(dir, "key.pub")))
	for _, want := range []string{"('gitCommit', 'refs/markmill/runs/", "('sha256', 'output.md'",
		"('sha256', 'patch.diff'", "('sha256', 'report.json'", "('sha256', 'SHA256SUMS'",
		"('sha256', 'commits.bundle'"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not a subject:\n%s", want, said)
		}
	}
}
