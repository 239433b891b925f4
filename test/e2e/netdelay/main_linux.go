// Command netdelay joins two network interfaces, as a cable does. Packets that arrive at the first leave the second after a delay, and a part of them is lost; the other direction is immediate. It does in a process what the queueing discipline netem does in
// kernels that have it. It needs root.
//
//	netdelay DELAY LOSS_PERCENT FROM TO
package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxFrame exceeds what the kernel passes on in one piece: segments that it has not split yet, and their header.
	maxFrame = 70_000
	// receiveBuffer, in bytes, holds bursts.
	receiveBuffer = 8 << 20
	// maxQueued frames are on their way at most; later ones are lost.
	maxQueued = 10_000
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "netdelay:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return fmt.Errorf("want DELAY LOSS_PERCENT FROM TO, got %q", arguments)
	}
	delay, err := time.ParseDuration(arguments[0])
	if err != nil {
		return fmt.Errorf("parse delay: %w", err)
	}
	loss, err := strconv.ParseFloat(arguments[1], 64)
	if err != nil {
		return fmt.Errorf("parse loss: %w", err)
	}
	from, err := open(arguments[2])
	if err != nil {
		return err
	}
	to, err := open(arguments[3])
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- forward(from, to, delay, loss/100) }()
	go func() { failed <- forward(to, from, 0, 0) }()
	fmt.Println("ready")
	return <-failed
}

// open returns a socket that receives all frames of an interface, as the kernel has them: with the metadata of segments
// that the network card would split and of checksums that it would compute.
func open(name string) (int, error) {
	device, err := net.InterfaceByName(name)
	if err != nil {
		return 0, fmt.Errorf("find interface: %w", err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open socket: %w", err)
	}
	for _, option := range []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer},
	} {
		if err := unix.SetsockoptInt(fd, option.level, option.name, option.value); err != nil {
			return 0, fmt.Errorf("set socket option %d: %w", option.name, err)
		}
	}
	all := uint16(unix.ETH_P_ALL)
	address := &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: device.Index}
	if err := unix.Bind(fd, address); err != nil {
		return 0, fmt.Errorf("bind to %s: %w", name, err)
	}
	return fd, nil
}

// delayed is a frame on its way.
type delayed struct {
	frame []byte
	due   time.Time
}

// forward passes frames from one socket to another one, in their order.
func forward(from, to int, delay time.Duration, loss float64) error {
	queue := make(chan delayed, maxQueued)
	defer close(queue)
	go func() {
		for d := range queue {
			time.Sleep(time.Until(d.due))
			_, _ = unix.Write(to, d.frame) // A frame that an interface refuses is lost.
		}
	}()
	buffer := make([]byte, maxFrame)
	for {
		n, err := unix.Read(from, buffer)
		switch {
		case err == unix.EINTR, err == unix.ENETDOWN:
			continue
		case err != nil:
			return fmt.Errorf("receive frame: %w", err)
		case rand.Float64() < loss:
			continue
		}
		select {
		case queue <- delayed{append([]byte(nil), buffer[:n]...), time.Now().Add(delay)}:
		default:
		}
	}
}
