package beside

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// callTimeout bounds one call: an unresponsive server is an error, not a long wait.
const callTimeout = 60 * time.Second

// idleLimit is the age at which an idle connection is replaced. The Python server closes its idle connections after 5 s,
// and the Python client does not use one for longer either.
const idleLimit = 4 * time.Second

// Conn is one kept-alive connection. It is plain HTTP/1.1 without net/http's transport, because the generator shares
// the machine with the servers. It belongs to one goroutine.
type Conn struct {
	address, prefix string
	conn            net.Conn
	in              *bufio.Reader
	out             []byte
	body            bytes.Buffer
	used            time.Time // When the last response was read.
}

// NewConn returns a connection to the server at an address; paths are below prefix. It connects on first use.
func NewConn(address, prefix string) *Conn { return &Conn{address: address, prefix: prefix} }

// Close ends the connection.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // The close has nothing to flush.
		c.conn = nil
	}
}

// Answer is a response. The body is as sent, and valid until the next call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Gzip   bool
}

// Text returns the decompressed body.
func (a Answer) Text() ([]byte, error) {
	if !a.Gzip {
		return a.Body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return nil, fmt.Errorf("decompress response: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("decompress response: %w", err)
	}
	return text, nil
}

// Decode reads the decompressed body as JSON.
func (a Answer) Decode(into any) error {
	text, err := a.Text()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode response: %w", err)
	}
	return nil
}

// Call sends a request with the headers of the Python client (JSON, gzip, API version) and reads the response. Any
// status but the wanted ones is an error; without wanted ones any status below 300 is a success.
func (c *Conn) Call(method, path string, body []byte, wanted ...int) (Answer, error) {
	answer, err := c.exchange(method, path, body)
	if err != nil {
		c.Close()
		return answer, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if slices.Contains(wanted, answer.Status) || len(wanted) == 0 && answer.Status < http.StatusMultipleChoices {
		return answer, nil
	}
	text, _ := answer.Text() // It only decorates the error.
	return answer, &StatusError{Method: method, Path: path, Status: answer.Status, Text: string(text[:min(len(text), 200)])}
}

// StatusError is a response with an unwanted status.
type StatusError struct {
	Method, Path string
	Status       int
	Text         string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, e.Text)
}

func (c *Conn) exchange(method, path string, body []byte) (Answer, error) {
	if c.conn != nil && time.Since(c.used) > idleLimit {
		c.Close()
	}
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, callTimeout)
		if err != nil {
			return Answer{}, err
		}
		c.conn, c.in = conn, bufio.NewReaderSize(conn, 64<<10)
	}
	if err := c.conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return Answer{}, err
	}
	o := append(c.out[:0], method...)
	o = append(append(append(o, ' '), c.prefix...), path...)
	o = append(append(append(o, " HTTP/1.1\r\nHost: "...), c.address...), "\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n"...)
	o = append(o, "Content-Type: application/json\r\nX-Prefect-Api-Version: 0.8.4\r\nContent-Length: "...)
	o = append(append(strconv.AppendInt(o, int64(len(body)), 10), "\r\n\r\n"...), body...)
	c.out = o
	if _, err := c.conn.Write(o); err != nil {
		return Answer{}, err
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return Answer{}, err
	}
	c.body.Reset()
	_, err = c.body.ReadFrom(response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	c.used = time.Now()
	if err == nil && response.Close {
		c.Close()
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: c.body.Bytes(), Gzip: response.Header.Get("Content-Encoding") == "gzip"}, err
}
