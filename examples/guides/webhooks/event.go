// Package webhooks sends events to the servers of customers, and receives them. Each
// delivery is a request that is signed by version 2 (package signing). The sender keeps
// an Ed25519 key. Receivers know its public half, which cannot sign.
package webhooks

import "encoding/json"

// Event is what the body of a delivery holds.
type Event struct {
	// ID is the same in each attempt to deliver the event. It is in the body, because
	// a signature covers the body and no other header.
	ID   string          `json:"id"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// KeyID names the sender's key in signatures. Use another one for the next key, and let
// receivers know both while they change over.
const KeyID = "platform-2026"
