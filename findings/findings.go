// Package findings describes what an examination of a gateway may find: each kind with a stable id,
// what it means and how it is mended.
package findings

import (
	"fmt"
	"strings"
)

// Severity describes how bad a finding is.
type Severity string

// Severities.
const (
	Fine    Severity = "ok"
	Warning Severity = "warning" // it works, and perhaps not as it is meant
	Problem Severity = "error"   // something does not work, or what is stored may be lost
)

// Kind is a sort of finding. Its ID does not change from version to version.
type Kind struct {
	ID       string   `json:"id"` // area.what
	Severity Severity `json:"severity"`
	Meaning  string   `json:"meaning"`
	Fix      string   `json:"fix,omitempty"` // empty for what is fine
}

// Finding is a kind that was found somewhere.
type Finding struct {
	Kind

	Subject string `json:"subject"` // what it was found in: a channel, a model, a folder
	Detail  string `json:"detail"`  // one line; it holds no secret
}

// At returns that k was found in a subject.
func (k Kind) At(subject, format string, a ...any) Finding {
	return Finding{k, subject, strings.Join(strings.Fields(fmt.Sprintf(format, a...)), " ")}
}

// Worst returns the highest severity of all; Fine when there are none.
func Worst(all []Finding) Severity {
	worst := Fine
	for _, f := range all {
		switch f.Severity {
		case Problem:
			return Problem
		case Warning:
			worst = Warning
		case Fine:
		}
	}
	return worst
}
