package auth

import (
	"testing"
	"unsafe"
)

// The Guard allocates one call for each request. The runtime's next size class after 1,024
// bytes is an eighth larger.
func TestACallFitsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(call{}); size > 1024 {
		t.Errorf("a call has %d bytes", size)
	}
}
