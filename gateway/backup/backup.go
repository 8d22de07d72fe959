// Package backup writes the state of a gateway into one file while it runs, and makes a state
// folder of such a file.
//
// The file is a ZIP archive, which every tool can list:
//
//	parley.db           the database at one moment
//	log/INBOUND …       the streams of the message log, a moment later
//	workspaces/…        files of conversations, if they are wanted
//	manifest.json       what the archive is: versions, times, and the sum of each file
//
// The log is copied behind the database, so that it has every message which that knows, and
// perhaps newer ones. What the gateway did after the moment of the database is not in it, so
// the messages that were unanswered then are answered once more when it is restored. Those
// answers carry the mark of a possible repeat.
package backup

import (
	"archive/zip"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"parley/broker"
	"parley/disks"
	"parley/folders"
	"parley/sessions/sqlite"
)

// Names in an archive, and in the state folder.
const (
	Database         = "parley.db"
	logFolder        = "log"
	workspacesFolder = "workspaces"
	manifestName     = "manifest.json"
	copyName         = "parley.db.copy" // while it is read into the archive
)

const (
	format    = 1        // of the archive
	spareRoom = 64 << 20 // bytes that a backup leaves to the gateway
)

// Manifest is what an archive says of itself.
type Manifest struct {
	Format     int                 `json:"format"`
	Parley     string              `json:"parley"` // the version that wrote it
	At         time.Time           `json:"at"`     // the moment of the database
	Ended      time.Time           `json:"ended"`
	Schema     int                 `json:"schema"`     // of the database
	Generation string              `json:"generation"` // of the message log
	Streams    []broker.StreamCopy `json:"streams"`
	Workspaces bool                `json:"workspaces"` // are in it
	Files      []File              `json:"files"`
}

// File is one file of an archive, with what it holds when it is unpacked.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size returns the bytes of all files when they are unpacked.
func (m Manifest) Size() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// Source is a gateway that runs.
type Source struct {
	StateDir string
	Version  string // of the program
	Store    *sqlite.Store
	Log      *broker.Broker
	Now      func() time.Time
}

// Write writes an archive to w. The database is copied beside itself first, for which the disk
// must have room; nothing is written to w when that fails. One call at a time. After an
// error what was written is no archive.
func (s Source) Write(ctx context.Context, w io.Writer, workspaces bool) error {
	a := &archive{ctx: ctx, zip: zip.NewWriter(w)}
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	m := Manifest{Format: format, Parley: s.Version, At: s.Now().UTC(), Workspaces: workspaces}
	c, err := s.addDatabase(a)
	if err != nil {
		return err
	}
	m.Schema = c.Schema
	if m.Generation, m.Streams, err = s.Log.Copy(ctx, func(stream string) (io.Writer, error) {
		// The server has compressed it already.
		return a.create(&zip.FileHeader{Name: path.Join(logFolder, stream), Method: zip.Store, Modified: m.At})
	}); err != nil {
		return err // it says all
	}
	if m.Generation != c.Generation {
		return fmt.Errorf("the database knows the message log %q, and beside it lies %q", c.Generation, m.Generation)
	}
	if workspaces {
		if err := a.addTree(s.StateDir, workspacesFolder); err != nil {
			return err
		}
	}
	a.finishFile()
	m.Files, m.Ended = a.files, s.Now().UTC()
	return a.close(m)
}

// RemoveCopy removes the copy of the database that a process has left which was killed during a backup: what
// is deleted in the database is in it still. No backup may run meanwhile.
func RemoveCopy(stateDir string) error {
	if err := os.Remove(filepath.Join(stateDir, copyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy of the database that a backup left: %w", err)
	}
	return nil
}

// addDatabase copies the database into the archive, through a file that has no name any more
// while it is read.
func (s Source) addDatabase(a *archive) (c sqlite.Copy, err error) {
	beside := filepath.Join(s.StateDir, copyName)
	if err := RemoveCopy(s.StateDir); err != nil {
		return c, err
	}
	if err := checkRoom(s.Store.Path(), s.StateDir); err != nil {
		return c, err
	}
	at := s.Now()
	if c, err = s.Store.CopyTo(a.ctx, beside); err != nil {
		return c, err // it says all
	}
	f, err := os.Open(beside)
	if err = errors.Join(err, os.Remove(beside)); err != nil {
		return c, fmt.Errorf("read the copy of the database: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return c, a.add(&zip.FileHeader{Name: Database, Method: zip.Deflate, Modified: at}, f)
}

// checkRoom refuses a copy for which the disk has no room: a full disk would stop the gateway.
func checkRoom(database, dir string) error {
	var need int64 = spareRoom
	for _, name := range []string{database, database + "-wal"} {
		if st, err := os.Stat(name); err == nil {
			need += st.Size()
		}
	}
	free, err := disks.FreeBytes(dir)
	if err != nil {
		return fmt.Errorf("look for room for a copy of the database: %w", err)
	}
	if free < need {
		return fmt.Errorf("%w: a backup needs %d MiB in %s for a copy of the database, and %d MiB are free", disks.ErrFull, need>>20, dir, free>>20)
	}
	return nil
}

// archive is being written.
type archive struct {
	ctx   context.Context // of the one call that writes it
	zip   *zip.Writer
	files []File

	name string // of the file that is being written; empty: none
	body io.Writer
	sum  hash.Hash
	size int64
}

// create begins a file, which the next one ends.
func (a *archive) create(h *zip.FileHeader) (io.Writer, error) {
	a.finishFile()
	if h.Mode().Perm() == 0 {
		h.SetMode(0o600)
	}
	w, err := a.zip.CreateHeader(h)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", h.Name, err)
	}
	a.name, a.body, a.sum, a.size = h.Name, w, sha256.New(), 0
	return a, nil
}

// Write writes to the file that was created last.
func (a *archive) Write(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", a.name, context.Cause(a.ctx))
	}
	n, err := a.body.Write(b)
	_, _ = a.sum.Write(b[:n])
	a.size += int64(n)
	if err != nil {
		err = fmt.Errorf("write %s: %w", a.name, err)
	}
	return n, err
}

func (a *archive) finishFile() {
	if a.name != "" {
		a.files = append(a.files, File{Name: a.name, Size: a.size, SHA256: hex.EncodeToString(a.sum.Sum(nil))})
	}
	a.name = ""
}

func (a *archive) add(h *zip.FileHeader, r io.Reader) error {
	w, err := a.create(h)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("back up %s: %w", h.Name, err)
	}
	return nil
}

// addTree adds the regular files of a folder. Agents write there meanwhile: what is gone when
// it is opened is left out, as is everything that leads elsewhere.
func (a *archive) addTree(dir, name string) error {
	err := folders.Walk(filepath.Join(dir, name), func(f folders.File) error {
		if !f.Info.Mode().IsRegular() {
			return nil
		}
		return a.addFile(f, path.Join(name, f.Name))
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	return nil
}

// addFile adds a regular file under a name.
func (a *archive) addFile(from folders.File, name string) error {
	f, err := from.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err // the caller says what failed
	}
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return err // the caller says what failed
	}
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: st.ModTime()}
	h.SetMode(st.Mode().Perm() | 0o600)
	return a.add(h, f)
}

// close ends the archive with its manifest: one that is cut off has none.
func (a *archive) close(m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	h := &zip.FileHeader{Name: manifestName, Method: zip.Deflate, Modified: m.Ended}
	h.SetMode(0o600)
	w, err := a.zip.CreateHeader(h)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err = errors.Join(err, a.zip.Close()); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}
