package stage

import (
	"fmt"
	"sync"
)

// Impossible is why people cannot do something. A rule that forbids it panics with one.
type Impossible struct{ reason error }

// Forbid returns an Impossible with that reason, as fmt.Errorf makes it.
func Forbid(format string, args ...any) *Impossible {
	return &Impossible{fmt.Errorf(format, args...)}
}

// Act begins what people do, named as by fmt.Sprintf: it takes the lock. The function
// that it returns is to be deferred. It releases the lock, and has *err say what could
// not be done, and the reason, when that failed or a rule forbade it.
func Act(lock sync.Locker, err *error, what string, args ...any) (end func()) {
	lock.Lock()
	return func() {
		defer lock.Unlock()
		switch v := recover().(type) {
		case nil:
		case *Impossible:
			*err = v.reason
		default:
			panic(v)
		}
		if *err != nil {
			*err = fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), *err)
		}
	}
}
