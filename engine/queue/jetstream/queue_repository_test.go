package jetstream_test

import (
	"testing"

	"markmill/engine/queue"
)

func TestCheckRepository(t *testing.T) {
	for _, good := range []string{"https://forge.example/a/b.git", "ssh://git@forge.example:2222/a/b",
		"https://10.1.2.3/a"} {
		if err := queue.CheckRepository(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "/srv/git/a", "../a", "file:///srv/git/a", "http://forge.example/a", "git://h/a",
		"ext::sh -c id", "https://token@forge.example/a", "https://u:p@forge.example/a", "ssh://git:p@forge.example/a",
		"https://forge.example/a?token=x", "https://localhost/a", "https://a.localhost./a", "https://127.0.0.1/a",
		"https://[::1]/a", "https://[::ffff:127.0.0.1]/a", "https://169.254.169.254/latest",
		"ssh://-oProxyCommand=id/a",
		"https://0.0.0.0/a", "git@forge.example:a/b"} {
		if err := queue.CheckRepository(bad); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}
