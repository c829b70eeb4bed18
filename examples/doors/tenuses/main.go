// Tenuses issues a token for ten uses, and counts them exactly.
package main

import (
	"context"
	"fmt"

	"github.com/tenantkit/tenantkit/token"
)

func main() {
	ctx, keys, ledger := context.Background(), new(token.MemoryKeys), token.NewMemoryLedger(nil) // sqlstore has both, in SQL
	_, _ = keys.Generate(ctx, "acme", "shop")
	issuer := token.Minter{Signers: keys, Ledger: ledger}
	voucher, _, err := issuer.Limited(ctx, token.Claims{Issuer: "shop", Subject: "ada", Audience: "https://api.example.com", MaxUses: 10})
	if err != nil {
		panic(err)
	}
	verifier := token.Verifier{Keys: keys, Ledger: ledger}
	for use := 1; use <= 11; use++ {
		if _, err := verifier.Verify(ctx, string(voucher), token.Expect{Org: "acme", Audience: "https://api.example.com"}); err != nil {
			fmt.Println("use", use, err)
		}
	}
}

// It prints:
// use 11 token: invalid: every use is spent
