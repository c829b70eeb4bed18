package enginetest

import (
	"fmt"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of the given size in MiB on a folder until the test ends. Only
// root may mount; other users skip the test.
func smallDisk(t *testing.T, folder string, size int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", size)); err != nil {
		t.Skipf("no disk that can be full: mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
}
