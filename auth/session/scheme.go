package session

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// Schemes implements openapi.Describer.
func (m *Manager) Schemes(*auth.Settings) []listing.Scheme {
	return []listing.Scheme{{
		Cookie: hostPrefix + string(m.sessionCookie()),
		Description: "The cookie that a login sets. `{org}` stands for the org. On http at a loopback host the name has no " +
			"`" + hostPrefix + "`. Requests that change something must not come from pages of another origin.",
	}}
}
