package beside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server; its output goes to a file.
type process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program in its own process group, so a signal reaches its children.
func start(name, logDir string, env []string, as *syscall.Credential, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(logDir, name+".log"), cmd: exec.Command(program, args...), ended: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // hasEnded reports the end.
		close(p.ended)
	}()
	return p, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop signals the process to end, and kills the rest of its group.
func (p *process) stop(ask syscall.Signal) error {
	if p.hasEnded() {
		return fmt.Errorf("%s ended by itself:\n%s", p.name, p.tail())
	}
	_ = p.cmd.Process.Signal(ask) // It may be ending at this moment.
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // Usually the group is already empty.
	<-p.ended
	return nil
}

// tail returns the end of the output, for errors.
func (p *process) tail() string {
	f, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-2000), io.SeekStart) // At worst it shows the whole output.
	}
	text, _ := io.ReadAll(f)
	return string(text)
}

// Memory is resident memory in bytes.
type Memory struct {
	// Resident is all of it, File the part of it that maps files: mostly pages of the program, which the kernel can take back.
	Resident, File int64
}

// Anonymous is the part that maps no file: heaps and stacks.
func (m Memory) Anonymous() int64 { return m.Resident - m.File }

// usage is the resource usage of a process and its descendants.
type usage struct {
	Memory
	// cpu is the processor time since the start, of all threads, in user and kernel.
	cpu time.Duration
}

// kernelTick is the unit of the processor time in /proc: 100 Hz on every Linux that Go runs on.
const kernelTick = 10 * time.Millisecond

// usageOf reads the usage of processes and all their descendants.
func usageOf(pids ...int) usage {
	children := map[int][]int{}
	ticks := map[int]int64{}
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range dirs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		// The name in brackets may contain any character; the fields after it are numbers. See proc_pid_stat(5).
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if err != nil || len(fields) < 13 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		kernel, _ := strconv.ParseInt(fields[12], 10, 64)
		children[parent] = append(children[parent], pid)
		ticks[pid] = user + kernel
	}
	var sum usage
	var walk func(int)
	walk = func(pid int) {
		m := memoryOf(pid)
		sum.Resident += m.Resident
		sum.File += m.File
		sum.cpu += time.Duration(ticks[pid]) * kernelTick
		for _, child := range children[pid] {
			walk(child)
		}
	}
	for _, pid := range pids {
		walk(pid)
	}
	return sum
}

// Resident returns the resident memory of a process in bytes; 0 when it has ended.
func Resident(pid int) int64 { return memoryOf(pid).Resident }

// memoryOf returns the memory of a process; zero when it has ended.
func memoryOf(pid int) Memory {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return Memory{}
	}
	// All, resident and shared pages. The shared ones map files. See proc_pid_statm(5).
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return Memory{}
	}
	pages := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n * int64(os.Getpagesize())
	}
	return Memory{Resident: pages(1), File: pages(2)}
}

// FreeAddress returns a loopback address without a listener.
func FreeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// eventually waits for a condition while the process is alive.
func (p *process) eventually(what string, timeout time.Duration, so func() bool) error {
	for end := time.Now().Add(timeout); ; {
		if so() {
			return nil
		}
		switch {
		case p.hasEnded():
			return fmt.Errorf("%s ended before it was %s:\n%s", p.name, what, p.tail())
		case time.Now().After(end):
			return errors.New(p.name + " is not " + what + " after " + timeout.String() + ":\n" + p.tail())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
