// Package orgkey holds the type that names an org in stores, for packages that do not import each
// other.
package orgkey

// Key is what Org.Key returns. It is a type of its own so that the Code of an org, which a URL has
// and which may change, cannot be passed in its place.
type Key string
