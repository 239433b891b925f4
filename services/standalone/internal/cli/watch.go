package cli

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// clearScreen moves the cursor to the top left corner of a terminal and erases the rest.
const clearScreen = "\x1b[H\x1b[J"

// watchable adds --watch to a command that prints a list: it prints the list again whenever it has changed, until interrupted.
func watchable(cmd *cobra.Command) {
	watch := cmd.Flags().BoolP("watch", "w", false, "print the list again when it changes, until interrupted")
	every := cmd.Flags().Duration("every", tailInterval, "the polling interval of --watch")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*watch {
			return run(cmd, args)
		}
		if *every <= 0 {
			return fmt.Errorf("%w: --every must be positive", errArgument)
		}
		out := cmd.OutOrStdout()
		var page bytes.Buffer
		cmd.SetOut(sameFormat(out, &page))
		ticker := time.NewTicker(*every)
		defer ticker.Stop()
		var shown []byte
		for {
			page.Reset()
			err := run(cmd, args)
			switch {
			case cmd.Context().Err() != nil:
				return nil // Interrupted, as it must be.
			case err != nil:
				return err
			}
			if !bytes.Equal(shown, page.Bytes()) {
				if err := printPage(out, page.Bytes(), shown != nil); err != nil {
					return err
				}
				shown = bytes.Clone(page.Bytes())
			}
			select {
			case <-ticker.C:
			case <-cmd.Context().Done():
				return nil
			}
		}
	}
}

// printPage prints a list in place of the one before on a terminal, else below it.
func printPage(out io.Writer, page []byte, again bool) error {
	before := ""
	switch {
	case isTerminal(out):
		before = clearScreen
	case again:
		before = "\n"
	}
	_, err := fmt.Fprintf(out, "%s%s", before, page)
	return err
}

// sameFormat returns a writer to a buffer for the output format of another writer.
func sameFormat(out io.Writer, page *bytes.Buffer) io.Writer {
	if _, yaml := out.(yamlOutput); yaml {
		return yamlOutput{page}
	}
	return page
}
