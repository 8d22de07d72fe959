package gateway

import (
	"io"
	"os"

	"parley/broker"
	"parley/gateway/attachments"
	"parley/gateway/documents"
	"parley/gateway/worker"
)

// ExtractPDF reads the PDF at standard input, in a process of its own, which is what
// the program does that Options.PDFExtractor names. It returns the exit status.
func ExtractPDF(args []string, in *os.File, out io.Writer) int {
	return documents.Extract(args, in, out)
}

// newImporter brings the files that came with messages.
func (g *Gateway) newImporter(e *edition, b *broker.Broker) *attachments.Importer {
	return &attachments.Importer{
		Config: e.cfg.Attachments, Log: b, Files: e.cfg.Files, Count: g.metrics.CountAttachment, Logger: g.o.Logger, Now: g.o.Now, Around: worker.FormatQuotes,
		Transcribes: e.transcription != nil, Command: e.cfg.Channels.Command,
		Texts: g.texts, Quota: &g.sentFiles,
		Space: attachments.Space{MaxBytes: max(0, e.cfg.Workspaces.MaxBytes), MaxFiles: max(0, e.cfg.Workspaces.MaxFiles)},
	}
}
