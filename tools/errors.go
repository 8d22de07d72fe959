package tools

import (
	"errors"
	"fmt"
)

// Kind decides whether the same call may succeed later. (F24)
type Kind string

// Kinds of errors.
const (
	Transient Kind = "transient"
	Permanent Kind = "permanent"
)

// ErrTimeout is the cause with which a tool's context ends when it took longer
// than it may. (S6.4)
var ErrTimeout = errors.New("the tool took too long")

// ErrStopped is the cause, possibly wrapped, with which a tool's context ends when a person has stopped
// the turn. The turn is not gone on with, by this process or another.
var ErrStopped = errors.New("stopped by user")

// ErrUnfinished is returned, possibly wrapped, by the Run of a Resumable tool
// whose work must be gone on with by a later take of the turn: the store or the
// worker failed under it. It is no answer for the model; the turn is left open
// at this very call.
var ErrUnfinished = errors.New("the tool's work is not finished")

// Errorf makes an error of a kind. Its text is for the model: a sentence that
// says what to do differently, without paths or names that the model must not
// learn.
func Errorf(k Kind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	mark := ErrTransient
	if k == Permanent {
		mark = ErrPermanent
	}
	return markedError{err, mark}
}

// TransientHint follows the text of an error of which its tool said that it is transient.
const TransientHint = "\n\nThe same call may succeed if it is made again."

// KindOf tells the kind of a tool's error: Permanent when it is or wraps
// ErrPermanent, else Transient.
func KindOf(err error) Kind {
	if errors.Is(err, ErrPermanent) {
		return Permanent
	}
	return Transient
}

// markedError is an error of a kind.
type markedError struct {
	error
	mark error
}

func (m markedError) Unwrap() error        { return m.error }
func (m markedError) Is(target error) bool { return target == m.mark }
