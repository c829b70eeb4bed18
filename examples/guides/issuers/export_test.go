package issuers

import "net/http"

// InCluster asks with the token in another file.
func InCluster(base http.RoundTripper, file string) http.RoundTripper { return inCluster{base, file} }
