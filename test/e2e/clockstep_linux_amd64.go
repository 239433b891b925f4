package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockStub replaces __vdso_clock_gettime. It makes the system call, and adds an offset in seconds to the wall clock:
//
//	mov   eax, SYS_clock_gettime
//	syscall
//	test  edi, edi               ; CLOCK_REALTIME is 0.
//	jne   end
//	add   qword [rsi], offset    ; timespec.tv_sec
//	end: ret
//
// The offset is the 32-bit operand at offsetAt.
var clockStub = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00,
	0x0f, 0x05,
	0x85, 0xff,
	0x75, 0x07,
	0x48, 0x81, 0x06, 0x00, 0x00, 0x00, 0x00,
	0xc3,
}

const offsetAt = 14

// stopTimeout bounds the wait until a process is stopped outside of the clock function.
const stopTimeout = 5 * time.Second

// StepClock sets the process's wall clock off the machine's, by whole seconds; 0 sets it right. Its monotonic clock goes on, as after a
// step of the machine's clock. A restart ends the offset.
//
// A Go program reads the clock through the vDSO, which the kernel maps into each process. So no library can be put in its place, and
// time namespaces have no wall clock. StepClock replaces the function in the process's own copy: the program itself is the one that
// users run.
func (p *Process) StepClock(offset time.Duration) error {
	if err := p.stepClock(int32(offset / time.Second)); err != nil {
		return fmt.Errorf("step the clock of %s: %w", p.name, err)
	}
	return nil
}

func (p *Process) stepClock(seconds int32) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.Pid()), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	at, size, err := clockFunction(p.Pid(), memory)
	if err != nil {
		return err
	}
	code := bytes.Clone(clockStub)
	binary.LittleEndian.PutUint32(code[offsetAt:], uint32(seconds))
	for deadline := time.Now().Add(stopTimeout); ; <-time.After(time.Millisecond) {
		done, err := p.writeStopped(memory, code, at, size)
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("a thread is in the clock function whenever the process is stopped")
		}
	}
}

// writeStopped stops the process, writes code unless a thread is within the function that it replaces, and continues the process.
func (p *Process) writeStopped(memory *os.File, code []byte, at, size uint64) (done bool, err error) {
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, syscall.Kill(p.Pid(), syscall.SIGCONT)) }()
	counters, err := programCounters(p.Pid())
	if err != nil {
		return false, err
	}
	for _, counter := range counters {
		if counter >= at && counter < at+size {
			return false, nil
		}
	}
	_, err = memory.WriteAt(code, int64(at))
	return err == nil, err
}

// clockFunction finds the function of the vDSO of a process by which programs read the clocks.
func clockFunction(pid int, memory *os.File) (at, size uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			continue
		}
		var begin, end uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil {
			return 0, 0, err
		}
		image := make([]byte, end-begin)
		if _, err := memory.ReadAt(image, int64(begin)); err != nil {
			return 0, 0, err
		}
		file, err := elf.NewFile(bytes.NewReader(image))
		if err != nil {
			return 0, 0, err
		}
		symbols, err := file.DynamicSymbols()
		if err != nil {
			return 0, 0, err
		}
		for _, s := range symbols {
			if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockStub)) {
				return begin + s.Value, s.Size, nil
			}
		}
	}
	return 0, 0, errors.New("no clock function in its vDSO")
}

// programCounters waits until all threads of a process are stopped, and returns their program counters.
func programCounters(pid int) ([]uint64, error) {
	deadline := time.Now().Add(stopTimeout)
	for {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil {
			return nil, err
		}
		counters := make([]uint64, 0, len(files))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // The thread has ended.
			}
			if err != nil {
				return nil, err
			}
			fields := strings.Fields(string(text))
			if fields[0] == "running" {
				counters = nil
				break
			}
			counter, err := strconv.ParseUint(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
			if err != nil {
				return nil, err
			}
			counters = append(counters, counter)
		}
		if len(counters) > 0 {
			return counters, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.New("it does not stop")
		}
		<-time.After(time.Millisecond)
	}
}
