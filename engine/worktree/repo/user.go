package repo

import (
	"markmill/engine/worktree/object"
	"os"
)

// User returns the author that Git would name for a commit here: from GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, then
// author.name and author.email of the configuration, then user.name and user.email, and for the address EMAIL. ok is
// false if one of the two is not set: Git would guess it from the system's account, but nobody chose to publish that.
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
