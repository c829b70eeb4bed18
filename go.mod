module github.com/tenantkit/tenantkit

go 1.26

require (
	github.com/go-jose/go-jose/v4 v4.1.8
	github.com/golang-jwt/jwt/v5 v5.3.1
)

require github.com/google/go-cmp v0.7.0
