// Package connect serves gRPC and Connect below a Guard.
//
// Both are HTTP: a method is a POST to /package.Service/Method. So a Guard takes
// https://api.example.com/acme/v2/notes.v1.Notes/Get, and the handler gets the path
// without the mount. A signature covers that path, as that of any command. A
// refusal of the Guard is its JSON fault. Clients of Connect and gRPC read the
// status alone: 401 as unauthenticated, 403 as permission_denied, 404 as
// unimplemented, 503 as unavailable.
package connect

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenantkit/tenantkit/auth"
)

// Get is the path of the one method of this service. With generated code it is a
// constant of the code.
const Get = "/notes.v1.Notes/Get"

// NewHandler serves the service to each org of the Guard.
func NewHandler(guard *auth.Guard) http.Handler {
	mux := guard.Mux()
	mux.Handle("POST "+Get, auth.Allow("object.read.c_note"), connect.NewUnaryHandler(Get, get))
	return mux
}

// get has the principal in its context, as every handler below a Guard.
func get(ctx context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
	p := auth.From(ctx)
	return connect.NewResponse(wrapperspb.String(string(p.Org) + " " + p.Account + " " + r.Msg.GetValue())), nil
}
