package auth

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/baseurl"
)

// names holds what is derived from the configuration once.
type names struct {
	serverTime string
	versions   []string
	mechanisms []string // their names
	loopback   bool     // BaseURL is http on a loopback host
}

// Validate reports what is missing or inconsistent. Mux and Mount call it and panic on an
// error, as http.ServeMux does on a bad pattern. It checks only once: a Guard must not be
// changed after it.
func (g *Guard) Validate() error {
	g.prepare.Do(func() { g.invalid = errors.Join(g.validate()...) })
	return g.invalid
}

func (g *Guard) validate() (problems []error) {
	g.setNames()
	problem := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New("auth: Guard."+text))
		}
	}
	base, ok := baseurl.Parse(g.BaseURL)
	problem(!ok || strings.ContainsAny(g.BaseURL, "?#") || strings.HasSuffix(g.BaseURL, "/"),
		"BaseURL must be an absolute http or https URL without query and trailing slash")
	g.names.loopback = ok && base.Scheme == "http" && baseurl.IsLoopback(base.Hostname())
	problem(g.Directory == nil, "Directory is required")
	problem(len(g.Mechanisms) == 0, "Mechanisms must hold at least one")
	problem(slices.Contains(g.Mechanisms, nil), "Mechanisms holds a nil one")
	problem(slices.Contains(g.names.versions, "") || len(g.names.versions) == 0,
		"Versions must hold at least one, and none that is empty")
	problem(g.Roles != RolesLimit && g.Roles != RolesDoNotLimit, "Roles is required: set RolesLimit, and the roles of an account "+
		"limit its sessions and signed requests, or RolesDoNotLimit, and only your handlers limit them")
	problem(slices.Contains(g.Audiences, ""), "Audiences must not hold an empty one")
	problem(!ascii.HeaderName.Only(g.Brand.Header), "Brand.Header must be letters, digits and hyphens")
	problem(strings.ContainsAny(g.Brand.Faults, ".\"\\"), "Brand.Faults must not hold a dot or a quote")
	_, page := baseurl.Parse(g.ErrorPage)
	problem(g.ErrorPage != "" && (!page || strings.ContainsAny(g.ErrorPage, "<> ?#")), "ErrorPage must be an absolute http or https URL without query and fragment")
	problem(g.FormerCodes && !g.OrgIDs, "OrgIDs is required beside FormerCodes: without an ID an org's Code must never change")
	problem(g.Timeout < 0, "Timeout must not be negative")
	problems = append(problems, g.Proxies.validate())
	named := map[string]bool{}
	for _, m := range g.Mechanisms {
		if m != nil {
			problem(m.Name() == "", "Mechanisms holds one without a name")
			problem(named[m.Name()], "Mechanisms holds two with the name "+m.Name()+": By and Fresh could not tell them apart")
			named[m.Name()] = true
			problems = append(problems, m.Bind(&g.settings))
			g.names.mechanisms = append(g.names.mechanisms, m.Name())
		}
	}
	return problems
}

// setNames derives the names that requests need from the configuration.
func (g *Guard) setNames() {
	g.recorded.of.Stale, g.recorded.of.Limit = 1, maxSets
	g.Brand = g.Brand.withDefaults()
	g.settings = Settings{g.Brand, g.Scopes, g.Roles, g.Ceiling, g.Now, g.Mechanisms}
	g.names.serverTime = http.CanonicalHeaderKey(g.Brand.Header + "Server-Time")
	g.names.versions = g.Versions
	if g.Versions == nil {
		g.names.versions = []string{"v2"}
	}
}

func (b Brand) withDefaults() Brand {
	return Brand{
		Header: cmp.Or(b.Header, "Service-"),
		Claims: cmp.Or(b.Claims, "service/"),
		Faults: cmp.Or(b.Faults, "service"),
	}
}

// Settings returns what the Guard says for all its mechanisms, with the defaults filled in. It
// panics if the Guard is not valid.
func (g *Guard) Settings() *Settings {
	g.mustBeValid()
	return &g.settings
}
