package enginetest

import "syscall"

// memoryFolder returns a folder on a file system in memory, if there is one with 2 GiB free.
func memoryFolder() string {
	const folder, enough = "/dev/shm", 2 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Bavail*uint64(s.Bsize) < enough {
		return ""
	}
	return folder
}
