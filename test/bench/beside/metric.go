package beside

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metric reads a metric without labels at the internal address of a server.
func Metric(internal, name string) (float64, error) {
	response, err := http.Get("http://" + internal + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read the metric %s: %w", name, err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.Join(errors.New("the metrics lack "+name), lines.Err())
}

// Scrapes reads the metrics at the internal address of a server n times, as Prometheus does, and returns how long that took, sorted.
func Scrapes(internal string, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		response, err := http.Get("http://" + internal + "/metrics")
		if err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took, nil
}

// compactTimeout bounds the compactions of loaded data.
const compactTimeout = 5 * time.Minute

// AwaitCompactions waits until the embedded store of the server has no compaction in progress. Compactions of data that a benchmark has just loaded
// would take the processors from the requests that it measures, and a server that got the data over days has none of them.
func (s *Server) AwaitCompactions(internal string) error {
	return s.process.eventually("without compactions", compactTimeout, func() bool {
		running, err := Metric(internal, "orch_embedded_store_compactions_in_progress")
		return err == nil && running == 0
	})
}
