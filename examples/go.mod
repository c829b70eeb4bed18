module github.com/tenantkit/tenantkit/examples

go 1.26

require (
	github.com/google/go-cmp v0.7.0
	github.com/tenantkit/tenantkit v0.0.0
)

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
)

replace github.com/tenantkit/tenantkit => ../
