package repo

import (
	"markmill/engine/worktree/object"
	"os"
)

// User returns who Git would name as the author of a commit here: GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, then
// author.name and author.email of the configuration, user.name and user.email, and for the address EMAIL. ok is false
// where one of the two is not set: the name of the system's account, which Git would guess from, is not one that
// somebody chose to publish.
func (s *Repo) User() (who object.Identity, ok bool) {
	who.Name = s.identity("GIT_AUTHOR_NAME", "name")
	if who.Email = s.identity("GIT_AUTHOR_EMAIL", "email"); who.Email == "" {
		who.Email = os.Getenv("EMAIL")
	}
	return who, who.Name != "" && who.Email != ""
}

func (s *Repo) identity(variable, key string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	for _, section := range []string{"author", "user"} {
		if v, _ := s.Config.Get(section, "", key); v != "" {
			return v
		}
	}
	return ""
}
