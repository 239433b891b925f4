package standalone

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseTextPages unmaps the pages of the program that this process has touched: its code and its constants. Half of them serve the
// start only, such as descriptors and tables. A page that is needed again is mapped from the kernel's page cache.
//
// It leaves mappings with pages that this process has written. The linker makes some of them read-only after it has filled in
// addresses (RELRO, in programs with cgo); the file does not have these addresses.
func releaseTextPages() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find program: %w", err)
	}
	program = strings.TrimSuffix(program, " (deleted)") // An upgrade replaces the file of a running server.
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("list mappings: %w", err)
	}
	defer maps.Close()
	var from, to uintptr
	release := false
	lines := bufio.NewScanner(maps)
	for lines.Scan() { // A mapping has a line of maps, then counts by name, at last VmFlags.
		if low, high, ok := readOnlyMapping(lines.Text(), program); ok {
			from, to, release = low, high, true
			continue
		}
		switch name, count, _ := strings.Cut(lines.Text(), ":"); name {
		case "Anonymous", "Swap":
			release = release && strings.TrimSpace(count) == "0 kB"
		case "VmFlags":
			if !release {
				continue
			}
			release = false
			if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED); errno != 0 {
				return fmt.Errorf("release pages of the program: %w", errno)
			}
		}
	}
	return lines.Err()
}

// readOnlyMapping returns the addresses of a line of /proc/self/maps; ok is false unless it maps the file read-only. See
// proc_pid_maps(5).
func readOnlyMapping(line, file string) (from, to uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[5] != file || len(fields[1]) != 4 || fields[1][1] != '-' {
		return 0, 0, false
	}
	low, high, found := strings.Cut(fields[0], "-")
	first, err1 := strconv.ParseUint(low, 16, 64)
	last, err2 := strconv.ParseUint(high, 16, 64)
	return uintptr(first), uintptr(last), found && err1 == nil && err2 == nil && first < last
}
