package gateway

import (
	"io"
	"os"

	"parley/gateway/documents"
)

// ExtractPDF reads the PDF at standard input, in a process of its own, which is what
// the program does that Options.PDFExtractor names. It returns the exit status.
func ExtractPDF(args []string, in *os.File, out io.Writer) int {
	return documents.Extract(args, in, out)
}
