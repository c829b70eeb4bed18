package auth

import (
	"testing"
	"unsafe"
)

// The Guard allocates one call for each request. The runtime adds 8 bytes to an object of more
// than 512 bytes that has pointers, and its next size class after 1,024 is an eighth larger.
func TestACallFitsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(call{}); size > 1024-8 {
		t.Errorf("a call has %d bytes", size)
	}
}
