package session

import "github.com/tenantkit/tenantkit/auth"

// Schemes implements auth.Describer.
func (m *Manager) Schemes(*auth.Settings) []auth.Scheme {
	return []auth.Scheme{{
		Cookie: hostPrefix + string(m.sessionCookie()),
		Description: "The cookie that a login sets. `{org}` stands for the org. On http at a loopback host the name has no " +
			"`" + hostPrefix + "`. Requests that change something must not come from pages of another origin.",
	}}
}
