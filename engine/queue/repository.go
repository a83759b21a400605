package queue

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"markmill/notebooks"
)

// CheckRepository returns an error for an address that a worker must not fetch from. Only https and ssh are allowed,
// without a password, and no loopback or link-local address, where services trust their neighbours.
func CheckRepository(address string) error {
	bad := func(why, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("repository: %s", why), Hint: hint}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // whose text may have a password
		return bad("it is no address", "write https://HOST/PATH or ssh://git@HOST/PATH")
	}
	if _, password := u.User.Password(); password || u.Scheme == "https" && u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return bad("it has a credential or a query, and neither travels to workers",
			"leave it out; workers use their own SSH keys")
	}
	if u.Scheme != "https" && u.Scheme != "ssh" {
		return bad(fmt.Sprintf("%s:// is not fetched from", u.Scheme), "write https://HOST/PATH or ssh://git@HOST/PATH")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "-") ||
		err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast()) {
		return bad(host+" is not a host that a worker fetches from", "name the host as other machines do")
	}
	return nil
}
