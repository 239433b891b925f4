package beside

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Demands are the bounds of a comparison besides the rows' floors.
type Demands struct {
	// Memory bounds the resident memory of Orch in bytes, in every row; 0 demands nothing.
	Memory int64
	// P99 bounds the 99th percentile of Orch in every row, as a share of the reference's; 0 demands nothing.
	P99 float64
}

// Report prints the table and returns the missed bounds.
func Report(w io.Writer, outcomes []Outcome, demands Demands) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\t\n", args...) }
	line("row\tunit\treference/s\torch/s\tratio\tfloor\tref p50\tp99\torch p50\tp99\tref CPU\torch CPU\tref MB\torch MB\tanon\tfile\terrors")
	var errs []error
	short := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i := range outcomes {
		o := &outcomes[i]
		if o.Absent {
			line("%s\t%s\t-\t-\t-\t%s\t\t\t\t\t\t\t\t\t\t\tabsent", o.Row.Name, o.Row.Unit, floor(o.Row.Floor))
			continue
		}
		line("%s\t%s\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d+%d", o.Row.Name, o.Row.Unit,
			o.Reference.PerSecond()*o.Row.Per, o.Ours.PerSecond()*o.Row.Per, o.Ratio(), floor(o.Row.Floor),
			ms(o.Reference.Quantile(.5)), ms(o.Reference.Quantile(.99)), ms(o.Ours.Quantile(.5)), ms(o.Ours.Quantile(.99)),
			ms(o.Reference.CPUPerRequest()), ms(o.Ours.CPUPerRequest()), o.Reference.Resident>>20, o.Ours.Resident>>20,
			o.Ours.Anonymous()>>20, o.Ours.File>>20, o.Reference.Errors, o.Ours.Errors)
		if err := o.Ours.FirstError; err != nil {
			short("%s: ours failed: %w", o.Row.Name, err)
		}
		if o.Reference.Requests == 0 || o.Ours.Requests == 0 {
			short("%s: only one server was measured", o.Row.Name)
			continue
		}
		if o.Ratio() < o.Row.Floor {
			short("%s: %.1f times the reference, less than %.0f", o.Row.Name, o.Ratio(), o.Row.Floor)
		}
		if ours, reference := o.Ours.Quantile(.99), o.Reference.Quantile(.99); demands.P99 > 0 && float64(ours) > demands.P99*float64(reference) {
			short("%s: the 99th percentile is %s, more than %.2f of the reference's %s", o.Row.Name, ms(ours), demands.P99, ms(reference))
		}
	}
	_ = t.Flush() // It is a report on a terminal.
	var ours, reference Memory
	for i := range outcomes {
		ours, reference = most(ours, outcomes[i].Ours.Memory), most(reference, outcomes[i].Reference.Memory)
	}
	_, _ = fmt.Fprintf(w, "most resident memory under load: reference %d MB (its Postgres not counted), orch %d MB (everything): %d anonymous, %d of files\n",
		reference.Resident>>20, ours.Resident>>20, ours.Anonymous()>>20, ours.File>>20)
	if demands.Memory > 0 && ours.Resident > demands.Memory {
		short("memory: %d MB are more than %d MB", ours.Resident>>20, demands.Memory>>20)
	}
	return errors.Join(errs...)
}

// most is the memory with more resident.
func most(a, b Memory) Memory {
	if b.Resident > a.Resident {
		return b
	}
	return a
}

func floor(f float64) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", f)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
