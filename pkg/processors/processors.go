// Package processors counts the processors of the process, and gives it more threads than processors where those are few.
//
// Go replaces a computing goroutine after 10 ms at the earliest. If the parser of a large body and the garbage collector compute on a machine
// with two processors, each step of a short request waits that long. The kernel replaces threads within a few milliseconds, and prefers a
// thread that has just become ready. So Go gets more threads than processors, and the kernel shares the processors among them. Bounds
// of work in progress use Count and Half, not the number of threads.
package processors

import (
	"os"
	"runtime"
)

const (
	// threadsPerProcessor is the number of threads for each processor, up to enough.
	threadsPerProcessor = 4
	// enough is the number of threads beyond which some are idle, because large work uses half of the processors.
	enough = 8
)

// count is the number of threads that Go has at the start. It equals the number of processors, unless GOMAXPROCS or the limit of a container
// sets another one.
var count = runtime.GOMAXPROCS(0)

// Count returns the number of processors that the process may use.
func Count() int { return count }

// Half returns half of the processors, at least one. Work that may take long uses no more.
func Half() int { return max(1, count/2) }

// AddThreads lets Go use more threads than processors. A GOMAXPROCS of the operator stays, and so does the limit of a container: the kernel
// would stop all threads for the rest of each period in which they together exceed the limit.
func AddThreads() {
	if n := threads(count, runtime.NumCPU(), os.Getenv("GOMAXPROCS")); n != count {
		runtime.GOMAXPROCS(n)
	}
}

// threads returns the number of threads for a process that may use count of the machine's processors.
func threads(count, machine int, setting string) int {
	if setting != "" || count < machine {
		return count
	}
	return max(count, min(enough, threadsPerProcessor*count))
}
