package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// deployments serves the route that runs a deployment. As with scripts, functions
// of this program take the place of what an org would write.
type deployments struct{ store *store }

var deploymentTable = map[string]func(deployments, *http.Request) (any, error){
	"count_apps": deployments.countApps,
}

func (h deployments) execute(r *http.Request) (envelope.Result[any], error) {
	run, ok := deploymentTable[r.PathValue("id")]
	if !ok {
		return envelope.Result[any]{}, auth.ErrNotFound
	}
	return result(run(h, r))
}

func (h deployments) countApps(r *http.Request) (any, error) {
	apps, err := h.store.listApps(r.Context(), auth.From(r.Context()).Org)
	return map[string]int{"apps": len(apps)}, err
}
