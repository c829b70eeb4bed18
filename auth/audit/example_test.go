package audit_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
)

func ExampleVerifier() {
	public, key, _ := ed25519.GenerateKey(nil)
	head := audit.Head{Org: "acme"} // of an org without entries
	var log []audit.Entry
	for _, account := range []string{"ann", "ben", "eve"} {
		e := audit.Entry{Event: auth.Event{Verb: "account.made", Account: account}}
		head = head.Append(&e)
		log = append(log, e)
	}
	line := head.Sign(key) // to a place that the database does not reach

	log[1].Account = "bob"
	checkpoint, signer, err := audit.ReadCheckpoint(line)
	if err != nil || !signer.Equal(public) {
		panic("a forged checkpoint")
	}
	v := audit.Verifier{After: audit.Head{Org: "acme"}, Checkpoint: checkpoint}
	for i := range log {
		if err = v.Add(&log[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = v.End(head)
	}
	broken, _ := errors.AsType[*audit.Broken](err)
	fmt.Println(broken.N, broken)
	// Output: 2 audit: row 2: it was changed: its hash is another one
}
