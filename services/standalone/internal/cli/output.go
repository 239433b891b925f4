package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// errDeclined reports a declined confirmation. The command changed nothing.
var errDeclined = errors.New("declined; nothing changed")

// The output formats. YAML is JSON that a writer converts.
const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
	outputName  = "name"
)

// outputFormats are the values of --output.
var outputFormats = []string{outputTable, outputWide, outputJSON, "yaml", outputName}

// millisecondTime is the form of times that order what happens within a second.
const millisecondTime = "2006-01-02T15:04:05.000Z07:00"

// tableForm is how records become the rows of a table.
type tableForm[T any] struct {
	head []string
	row  func(T) []string
	// name and id are what -o name and -q print of a record; nil for the columns NAME and ID, or the first column.
	name, id func(T) string
}

// cellOf returns the function that gives the cell of a column, or of the first column if no column has the head.
func (t tableForm[T]) cellOf(head string) func(T) string {
	at := max(0, slices.Index(t.head, head))
	return func(record T) string { return t.row(record)[at] }
}

// printTable prints records as a table, as names or as ids.
func printTable[T any](c *connection, cmd *cobra.Command, t tableForm[T], records []T) error {
	text := t.name
	switch {
	case c.quiet:
		if text = t.id; text == nil {
			text = t.cellOf("ID")
		}
	case c.output != outputName:
		return table(cmd.OutOrStdout(), t.head, records, t.row, !c.noHeaders)
	case text == nil:
		text = t.cellOf("NAME")
	}
	for _, one := range records {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), printable(text(one))); err != nil {
			return err
		}
	}
	return nil
}

// show prints records as JSON, or as a table with one row per record. A single record prints as one JSON object.
func show[T any](c *connection, cmd *cobra.Command, answer json.RawMessage, head []string, row func(T) []string) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		answer = slices.Concat(json.RawMessage("["), answer, json.RawMessage("]"))
	}
	records, err := remote.Decode[[]T](answer)
	if err != nil {
		return err
	}
	return printTable(c, cmd, tableForm[T]{head: head, row: row}, records)
}

// printRecords prints records that were read one at a time as one list of JSON.
func printRecords(w io.Writer, records []json.RawMessage) error {
	text, err := json.Marshal(append([]json.RawMessage{}, records...))
	if err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	return printJSON(w, text)
}

// showAll is show for records that were read one at a time.
func showAll[T any](c *connection, cmd *cobra.Command, records []json.RawMessage, head []string, row func(T) []string) error {
	if records == nil {
		records = []json.RawMessage{}
	}
	text, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	return show(c, cmd, text, head, row)
}

// printLine prints a record of a stream: a line of JSON, or a document of YAML.
func printLine(w io.Writer, text json.RawMessage) error {
	if y, ok := w.(yamlOutput); ok {
		if _, err := io.WriteString(y, "---\n"); err != nil {
			return err
		}
		return y.print(text)
	}
	_, err := fmt.Fprintf(w, "%s\n", text)
	return err
}

// printJSON preserves the order of keys and the notation of numbers.
func printJSON(w io.Writer, text json.RawMessage) error {
	if y, ok := w.(yamlOutput); ok {
		return y.print(text)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(text), "", "  "); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

func table[T any](w io.Writer, head []string, records []T, row func(T) []string, headers bool) error {
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if headers {
		fmt.Fprintln(tabs, strings.Join(head, "\t"))
	}
	for _, record := range records {
		cells := row(record)
		for i := range cells {
			cells[i] = cell(cells[i], w)
		}
		fmt.Fprintln(tabs, strings.Join(cells, "\t"))
	}
	return tabs.Flush()
}

// cellLimit is the maximum length of a cell in characters.
const cellLimit = 60

// printable removes control sequences of terminals from a text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// cell reduces a text to one line without control sequences, because other users choose names. It cuts a long text only
// for a terminal: scripts and files get all of it.
func cell(text string, w io.Writer) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > cellLimit && isTerminal(w) {
		text = string(runes[:cellLimit-1]) + "…"
	}
	return text
}

// say prints a line for people; programs, which choose another output format or --quiet, get none.
func (c *connection) say(cmd *cobra.Command, format string, args ...any) {
	if (c.output == outputTable || c.output == outputWide) && !c.quiet {
		fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
	}
}

// confirm asks before an irreversible change. If standard input is not a terminal, the command itself counts as the
// confirmation.
func confirm(cmd *cobra.Command, yes bool, question string) error {
	input, isFile := cmd.InOrStdin().(*os.File)
	if yes || !isFile || !telemetry.IsTerminal(input) {
		return nil
	}
	answer, err := ask(cmd, question+" [y/N] ")
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return errDeclined
	}
	return nil
}

// ask prints a question and reads a line.
func ask(cmd *cobra.Command, question string) (string, error) {
	fmt.Fprint(cmd.ErrOrStderr(), question)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// yesFlag adds --yes.
func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().BoolP("yes", "y", false, "do not ask")
}

// textFlag adds a flag for a text and one for a file with the text; "-" is standard input. The returned function gives
// the text and whether a flag was set.
func textFlag(cmd *cobra.Command, name, short, usage string) func() (string, bool, error) {
	text := cmd.Flags().StringP(name, short, "", usage)
	path := cmd.Flags().String(name+"-file", "", usage+", from a file; - is standard input")
	cmd.MarkFlagsMutuallyExclusive(name, name+"-file")
	return func() (string, bool, error) {
		if !cmd.Flags().Changed(name + "-file") {
			return *text, cmd.Flags().Changed(name), nil
		}
		var content []byte
		var err error
		if *path == "-" {
			content, err = io.ReadAll(cmd.InOrStdin())
		} else {
			content, err = os.ReadFile(*path)
		}
		if err != nil {
			return "", false, fmt.Errorf("read --%s-file: %w", name, err)
		}
		return string(content), true, nil
	}
}
