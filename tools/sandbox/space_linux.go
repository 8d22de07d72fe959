//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"math"
	"syscall"
	"time"

	"parley/folders"
)

// How often a run's folders are looked at: each lookEvery, and so seldom that looking takes a
// tenth of the time at most.
const (
	lookEvery = time.Second
	lookShare = 10
)

// space is what a run may take of the disk.
type space struct {
	folder string
	most   int64 // bytes
	what   string
}

// check returns a SpaceError if the folder has more.
func (s space) check() error {
	if s.folder != "" && diskUse(s.folder) > s.most {
		return &SpaceError{What: s.what, Most: s.most}
	}
	return nil
}

// spaces returns what is to be watched of a run. A workspace that holds too much already may not
// grow; one that holds twice as much has no program run in it.
func (r *running) spaces(s *Sandbox, c Command) ([]space, error) {
	all := []space{{r.private, s.config.Scratch, "its temporary files"}}
	if c.Space > 0 {
		has := diskUse(c.Workspace)
		if has > 2*c.Space {
			return nil, &SpaceError{What: "the workspace", Most: c.Space}
		}
		all = append(all, space{c.Workspace, max(c.Space, has), "the workspace"})
	}
	return all, nil
}

// watch ends a run that takes more of the disk than it may, until ctx ends.
func watch(ctx context.Context, end context.CancelCauseFunc, after func(time.Duration) <-chan time.Time, all []space) {
	wait := lookEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-after(wait):
		}
		began := time.Now()
		for _, s := range all {
			if err := s.check(); err != nil {
				end(err)
				return
			}
		}
		wait = max(lookEvery, lookShare*time.Since(began))
	}
}

// diskUse returns how many bytes the files below a folder take. Of what goes away meanwhile, and
// of what cannot be read, it counts nothing; of a file with several names, each. Folders that are
// nested too deep to be counted take more than anybody may.
func diskUse(folder string) (n int64) {
	err := folders.Walk(folder, func(f folders.File) error {
		if st, ok := f.Info.Sys().(*syscall.Stat_t); ok {
			n += st.Blocks * 512
		}
		return nil
	})
	if errors.Is(err, folders.ErrDeep) {
		return math.MaxInt64
	}
	return n
}
