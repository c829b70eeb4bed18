package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth/audit"
)

// The classes of the Open Cybersecurity Schema Framework that entries are exported as.
const (
	authentication   = 3002
	entityManagement = 3004
)

// activities are those of Authentication for the kind of a verb, before its dot, and those of Entity
// Management for what was done, after it. 99 is any other.
var (
	logons     = map[string]int{"login": 1, "code": 1, "recovery": 1, "session": 1, "acting": 1}
	activities = map[string]int{
		"made": 1, "enrolled": 1, "remembered": 1,
		"changed": 3, "renewed": 3, "rotated": 3, "restricted": 3, "replaced": 3, "resent": 3, "reset": 3, "accepted": 3, "exposed": 3,
		"ended": 4, "removed": 4, "forgotten": 4, "revoked": 4, "deleted": 4, "spent": 4, "reused": 4, "erased": 4, "sealed": 4,
	}
	failures = []string{"wrong", "delayed", "refused", "reused"}
)

// object is a JSON object. Members that are empty are left out.
type ocsfObject map[string]any

func (o ocsfObject) MarshalJSON() ([]byte, error) {
	shown := maps.Clone(o)
	maps.DeleteFunc(shown, func(_ string, v any) bool {
		return v == "" || v == int64(0)
	})
	return json.Marshal(map[string]any(shown))
}

// ocsf returns an entry as an event of the Open Cybersecurity Schema Framework 1.3, in one line of JSON: of
// the class Authentication (3002) if it is about a login or a session, and else of Entity Management (3004).
func ocsf(e *audit.Entry) ([]byte, error) {
	kind, done, _ := strings.Cut(e.Verb, ".")
	class, activity := entityManagement, activities[done]
	if logons[kind] > 0 {
		class, activity = authentication, 1
		if done == "ended" {
			activity = 2
		}
	}
	if activity == 0 {
		activity = 99
	}
	status, severity := 1, 1
	if slices.Contains(failures, done) {
		status, severity = 2, 3
	}
	event := ocsfObject{
		"activity_id": activity, "activity_name": e.Verb, "category_uid": 3, "class_uid": class, "type_uid": class*100 + activity,
		"severity_id": severity, "status_id": status, "status_detail": e.Detail, "time": e.Time.UnixMilli(), "message": e.Verb,
		"count": e.Count, "comment": e.Reason,
		"metadata": ocsfObject{
			"version": "1.3.0", "uid": fmt.Sprintf("%s/%d", e.Org, e.N), "sequence": e.N, "event_code": e.Verb, "log_name": "audit",
			"correlation_uid": e.Request, "tenant_uid": string(e.Org), "product": ocsfObject{"name": "tenantkit", "vendor_name": "tenantkit"},
		},
		"unmapped": ocsfObject{"route": e.Route, "by": e.By, "hash": e.Hash, "commitment": e.Commitment, "mail": e.Mail},
	}
	if e.Actor != "" {
		event["actor"] = ocsfObject{"user": ocsfObject{"uid": e.Actor}}
	}
	if e.Address.IsValid() {
		event["src_endpoint"] = ocsfObject{"ip": e.Address.String()}
	}
	if e.Agent != "" {
		event["http_request"] = ocsfObject{"user_agent": e.Agent}
	}
	if class == entityManagement {
		event["entity"] = ocsfObject{"type": kind, "uid": cmp.Or(e.Credential, e.Token, e.App, e.Account, string(e.Org))}
		return json.Marshal(event)
	}
	event["service"] = ocsfObject{"uid": string(e.Org), "name": string(e.Org)}
	if e.Session != "" {
		event["session"] = ocsfObject{"uid": e.Session}
	}
	event["user"] = ocsfObject{"uid": e.Account}
	if e.Account == "" {
		event["user"] = ocsfObject{"name": "unknown"}
	}
	return json.Marshal(event)
}
