package enginetest

import (
	"context"
	"crypto/sha256"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/history"
)

// Kinds that only our own engines have.
var _ = func() bool {
	history.Kinds["commits"] = history.Kind{Choices: []history.Choice{{Verb: "Spend", Weight: 3}, {Verb: "Get", Weight: 2}, {Verb: "Undo", Weight: 1}},
		Change: changeCommit, Start: false, Step: stepCommit, Has: func(s *history.Stores) bool { return s.Commit != nil }, Call: commit}
	history.Kinds["rotations"] = history.Kind{Choices: []history.Choice{{Verb: "Get", Weight: 1}},
		Change: changeRotation, Start: rotated{}, Step: stepRotation, Has: func(s *history.Stores) bool { return s.Rotate != nil }, Call: rotation}
	return true
}()

func changeCommit(g *history.Group, o *history.Op) {
	if g.Given() == 5 {
		o.Verb = "Commit"
	}
}

// stepCommit has whether the transaction of a group has been committed.
func stepCommit(state any, o *history.Op) (any, bool) {
	done := state.(bool)
	refused := map[string]string{"Spend": "revoked", "Get": "not found"}[o.Verb]
	switch o.Verb {
	case "Commit":
		return true, o.Result == "ok" && !done
	case "Undo":
		return done, o.Result == "ok" || done
	}
	return done, (o.Result == "ok") == done && (done || o.Result == refused)
}

func commit(s *history.Stores, ctx context.Context, o *history.Op) error {
	r, row := s.Record(o), s.ID(o, "row", 0)
	r.Parent, r.MaxUses = "", 0
	switch o.Verb {
	case "Commit", "Undo":
		return s.Commit(ctx, r, row, o.Verb == "Undo")
	case "Spend":
		_, err := s.Ledger.Spend(ctx, r)
		return err
	}
	there, err := s.Row(ctx, row)
	if err == nil && !there {
		err = auth.ErrNotFound
	}
	return err
}

// rotated is the present key pair; fresh is one that nobody has seen.
type rotated struct {
	kid   int64
	fresh bool
}

func changeRotation(g *history.Group, o *history.Op) {
	if g.Given()%10 == 0 {
		o.Verb = "Rotate"
	}
}

func stepRotation(state any, o *history.Op) (any, bool) {
	s := state.(rotated)
	switch {
	case o.Verb == "Rotate":
		return rotated{o.N, o.To == 0}, o.Result == "ok"
	case o.Result == "ok" && s.fresh:
		return rotated{o.N, false}, true
	}
	return s, o.Result == "ok" && o.N == s.kid || o.Result == "not found" && s == rotated{}
}

func rotation(s *history.Stores, ctx context.Context, o *history.Op) error {
	verb := s.Signer
	if o.Verb == "Rotate" {
		verb = s.Rotate
	}
	kid, err := verb(ctx, history.Org(o.Group), s.Name(o, "rotated"))
	if err == nil {
		sum := sha256.Sum256([]byte(kid))
		o.N = int64(sum[0])<<16 | int64(sum[1])<<8 | int64(sum[2])
	}
	return err
}
