module github.com/tenantkit/tenantkit/examples

go 1.26

require (
	github.com/google/go-cmp v0.7.0
	github.com/tenantkit/tenantkit v0.0.0
)

replace github.com/tenantkit/tenantkit => ../
