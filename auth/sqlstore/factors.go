package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

type factors struct{ store *Store }

// Factors returns the store's second factors, whose secrets are sealed, or ErrNoSealer.
func (s *Store) Factors() (session.FactorStore, error) {
	return sealing[session.FactorStore](s, &factors{s})
}

// Factor implements session.FactorStore.
func (f *factors) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	factor, err := get(ctx, f.store, factorText, []any{org, account}, f.scan(org, account))
	return factor, failed("find a second factor", found(err, nil))
}

const factorText = `SELECT version, sealed, step, recovery FROM {factors} WHERE ` + ofAccountText

// factorSecrets are what is sealed of a factor, as JSON.
type factorSecrets struct{ Secret, Pending []byte }

// scan returns what scans the columns of factorText.
func (f *factors) scan(org auth.OrgKey, account string) func(*sql.Rows) (session.Factor, error) {
	return func(rows *sql.Rows) (factor session.Factor, err error) {
		var sealed, recovery []byte
		var secrets factorSecrets
		err = rows.Scan(&factor.Version, &sealed, &factor.Step, &recovery)
		if err == nil {
			sealed, err = f.store.unseal(location{secondFactor, org, account}, sealed)
		}
		if err == nil {
			err = json.Unmarshal(sealed, &secrets)
		}
		if err != nil {
			return session.Factor{}, err
		}
		factor.Secret, factor.Pending = session.FactorSecret(secrets.Secret), session.FactorSecret(secrets.Pending)
		for ; len(recovery) >= 32; recovery = recovery[32:] {
			factor.Recovery = append(factor.Recovery, [32]byte(recovery))
		}
		return factor, nil
	}
}

// Save implements session.FactorStore.
func (f *factors) Save(ctx context.Context, org auth.OrgKey, account string, factor session.Factor) error {
	recovery := []byte{}
	for _, hash := range factor.Recovery {
		recovery = append(recovery, hash[:]...)
	}
	log, whose := org, account
	if of := auth.Trace(ctx, auth.Event{}).Org; org == auth.PersonKey && of != "" {
		log, whose = of, "" // who acts has an account there, and the org knows no persons
	}
	err := f.store.audited(ctx, log, func(q conn) error {
		verb, err := f.verb(ctx, q, org, account, factor)
		if err != nil {
			return err
		}
		// Of concurrent calls for the same version, one wins.
		text := `UPDATE {factors} SET version = version + 1, sealed = $4, step = $5, recovery = $6
			WHERE org = $1 AND account = $2 AND version = $3`
		if factor.Version == 0 {
			text = `INSERT INTO {factors} (org, account, version, sealed, step, recovery) VALUES ($1, $2, CAST($3 AS bigint) + 1, $4, $5, $6)
				ON CONFLICT (org, account) DO NOTHING`
		}
		n, err := q.exec(ctx, text, org, account, factor.Version, f.seal(org, account, factor), factor.Step, recovery)
		q.note(auth.Event{Verb: verb, Account: whose})
		return changed(n, err, auth.ErrConflict)
	})
	return failed("save a second factor", err)
}

// verb returns what is done to the factor of an account that becomes after, or "" if that has no entry in the
// audit log, or there is none.
func (f *factors) verb(ctx context.Context, q conn, org auth.OrgKey, account string, after session.Factor) (verb string, err error) {
	if q.notes == nil {
		return "", nil
	}
	var before session.Factor
	err = q.each(ctx, factorText, []any{org, account}, func(rows *sql.Rows) (err error) {
		before, err = f.scan(org, account)(rows)
		return err
	})
	had, has := before.Secret != "", after.Secret != ""
	isNew := func(code [32]byte) bool { return !slices.Contains(before.Recovery, code) }
	switch {
	case had && !has:
		verb = verbs.FactorRemoved
	case before.Secret != after.Secret, slices.ContainsFunc(after.Recovery, isNew):
		verb = verbs.FactorEnrolled
	case len(after.Recovery) < len(before.Recovery):
		verb = verbs.RecoveryUsed
	case after.Step != before.Step:
		verb = verbs.CodeAccepted
	}
	return verb, err
}

func (f *factors) seal(org auth.OrgKey, account string, factor session.Factor) []byte {
	text, _ := json.Marshal(factorSecrets{[]byte(factor.Secret), []byte(factor.Pending)}) // bytes do not fail
	return f.store.seal(location{secondFactor, org, account}, text)
}
