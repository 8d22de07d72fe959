package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"parley/gateway"
)

const extractPDF = "extract-pdf"

// pdfExtractor is this program as what reads PDFs for a gateway.
func pdfExtractor() []string {
	self, err := os.Executable()
	if err != nil { // there is no /proc
		return nil
	}
	return []string{self, extractPDF}
}

var errExtract = errors.New("the PDF was not read")

// extractCommand reads one PDF for the gateway that started it: what strangers send is
// read where it can break nothing.
func extractCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use: extractPDF, Hidden: true, DisableFlagParsing: true,
		Short: "Write what the PDF at standard input says, for a gateway",
		RunE: func(_ *cobra.Command, args []string) error {
			if status := gateway.ExtractPDF(args, os.Stdin, p.out); status != exitOK {
				return &exitError{status, errExtract}
			}
			return nil
		},
	}
}
