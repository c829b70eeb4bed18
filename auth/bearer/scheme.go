package bearer

import "github.com/tenantkit/tenantkit/auth"

// Scheme implements auth.Describer.
func (m *Mechanism) Scheme(s *auth.Settings) auth.Scheme {
	return auth.Scheme{
		Mechanism:     Name,
		Authorization: "bearer",
		Format:        "JWT",
		Description: "A token with scope chains in its claim `" + s.Brand.Claims + "scp`. The chains are checked by the server " +
			"and are no OAuth scopes: `x-need` of an operation has the chain that it needs.",
	}
}
