package standalone

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/prefectdb"
)

const (
	// maxSamples is the number of resources of a kind that are read back and compared.
	maxSamples = 25
	// maxNamed is the number of refused resources of a kind that the report names.
	maxNamed = 100
)

// importedKind is what happened to the resources of a kind.
type importedKind struct {
	name string
	// read is the number of rows in the source.
	read             int64
	stored, existing int64
	refused          []string
	refusedCount     int64
	samples, differ  int
}

func (k *importedKind) handled() int64 { return k.stored + k.existing + k.refusedCount }

func (k *importedKind) refuse(row prefectdb.Row, reason error) {
	k.refusedCount++
	if len(k.refused) < maxNamed {
		k.refused = append(k.refused, fmt.Sprintf("%s: %s: %v", k.name, row.Label(), reason))
	}
}

// write stores a batch.
func (k *importedKind) write(ctx context.Context, importer *orchestration.Importer, rows []prefectdb.Row) error {
	var batch []orchestration.ImportResource
	byID := map[string]prefectdb.Row{}
	for _, r := range rows {
		if r.Err != nil {
			importer.Refuse(r.ID)
			k.refuse(r, r.Err)
			continue
		}
		byID[r.Resource.GetId()] = r
		batch = append(batch, r.Resource)
	}
	result, err := importer.Write(ctx, batch)
	if err != nil {
		return err
	}
	k.stored, k.existing = k.stored+int64(result.Stored), k.existing+int64(result.Existing)
	for _, r := range result.Refused {
		row, ok := byID[r.ID]
		if !ok {
			row.ID = r.ID
		}
		k.refuse(row, r.Reason)
	}
	if len(batch) > 0 && result.Stored == len(batch) && k.samples < maxSamples {
		return k.verify(ctx, importer, batch[len(batch)/2])
	}
	return nil
}

// verify compares a resource with its stored form.
func (k *importedKind) verify(ctx context.Context, importer *orchestration.Importer, sample orchestration.ImportResource) error {
	stored, err := importer.Stored(ctx, sample)
	if err != nil {
		return err
	}
	if stored != nil && stored.ProtoReflect().Descriptor() != sample.ProtoReflect().Descriptor() {
		return nil // It has another form.
	}
	k.samples++
	read := proto.Clone(sample)
	read.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if restjson.Computed(fd) { // It is not stored.
			read.ProtoReflect().Clear(fd)
		}
		return true
	})
	if stored == nil || !proto.Equal(stored, read) {
		k.differ++
	}
	return nil
}

// prefectReport is the report of an import.
type prefectReport struct {
	kinds     []*importedKind
	placeless []prefectdb.Placeless
}

// print prints the report. The error is ErrVerification if not all rows were handled, or a sample differs.
func (r *prefectReport) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "READ\tSTORED\tEXISTING\tREFUSED\t  KIND")
	var samples int
	var wrong []string
	for _, k := range r.kinds {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t  %s\n", k.read, k.stored, k.existing, k.refusedCount, k.name)
		samples += k.samples
		if k.handled() != k.read || k.differ > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d handled, %d of %d samples differ", k.name, k.handled(), k.read, k.differ, k.samples))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	for _, k := range r.kinds {
		for _, line := range k.refused {
			fmt.Fprintf(out, "refused: %s\n", line)
		}
		if more := k.refusedCount - int64(len(k.refused)); more > 0 {
			fmt.Fprintf(out, "refused: %s: %d more\n", k.name, more)
		}
	}
	for _, p := range r.placeless {
		fmt.Fprintf(out, "no place: %d rows of %s: %s\n", p.Rows, p.Table, p.Reason)
	}
	for _, line := range wrong {
		fmt.Fprintf(out, "differs: %s\n", line)
	}
	if len(wrong) > 0 {
		return ErrVerification
	}
	_, err := fmt.Fprintf(out, "All rows are handled; %d samples are stored as they were read.\n", samples)
	return err
}
