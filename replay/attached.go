package replay

import (
	"context"
	"slices"
	"strings"

	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/worker"
	"parley/tools"
	"parley/transcript"
)

var _ worker.Attachments = (*player)(nil)

// Import implements [worker.Attachments]: what was read of the files stands, a line for
// each, at the end of each part of the message.
func (s *player) Import(_ context.Context, r attachments.Request) ([][]attachments.Result, error) {
	all := attachments.UnreadableResults(r.Files)
	i := -1
	for _, p := range s.script.messages[r.ID].Parts {
		switch p := p.(type) {
		case transcript.Text:
			if i >= 0 && assignText(all[i], p.Text) {
				continue
			}
			if i++; i >= len(all) {
				return all, nil
			}
			restoreTexts(all[i], r.Files[i], strings.Split(p.Text, "\n"))
		case transcript.Binary: // a picture of the text before, or a sound
			for k, b := range all[max(i, 0)] {
				if strings.Contains(b.Line, ", saved as "+p.Path+",") {
					all[max(i, 0)][k] = attachments.Result{Line: b.Line, Path: p.Path, MIME: p.MIMEType, Sum: p.Sum, Sound: p.Sound}
				}
			}
		}
	}
	return all, nil
}

// assignText takes text back that one of the files says; false: none does.
func assignText(all []attachments.Result, text string) bool {
	for k, b := range all {
		_, rest, saved := strings.Cut(b.Line, ", saved as ")
		path, _, _ := strings.Cut(rest, ",")
		if saved && b.Text == "" && strings.HasPrefix(text, tools.UntrustedHeader(attachments.TextHead(path))) {
			all[k].Text = text
			return true
		}
	}
	return false
}

// restoreTexts finds in the lines of a part what was read of its files: what others said
// stands below its head, and each file has a line behind that.
func restoreTexts(all []attachments.Result, fs []attachments.File, lines []string) {
	var files []*attachments.Result
	var around *attachments.Result
	for k := range all {
		if fs[k].Kind == channels.Around {
			around = &all[k]
		} else {
			files = append(files, &all[k])
		}
	}
	rest := len(lines) - len(files)
	if rest < 0 {
		return
	}
	for k, line := range lines[rest:] {
		files[k].Line = line
	}
	if at := slices.Index(lines[:rest], worker.AroundHead); at >= 0 && around != nil {
		around.Line = strings.Join(lines[at:rest], "\n")
	}
}

// blankPicture stands for a picture: recordings have none, and digests name them by sum.
func blankPicture(string, transcript.Binary) ([]byte, error) { return []byte{0}, nil }
