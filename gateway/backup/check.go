package backup

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"parley/sessions/sqlite"
)

// ErrInvalid means that a file is no archive that could be restored.
var ErrInvalid = errors.New("not a complete backup")

const maxManifest = 256 << 20

// Archive is an archive that was checked.
type Archive struct {
	Manifest Manifest

	zip   *zip.ReadCloser
	files map[string]*zip.File
}

// Open opens the archive in file and checks it: that it is complete, that each file in it is
// what the manifest says, and that this program knows its version and that of the database. It
// reads all of it. What cannot be restored is [ErrInvalid], with the reason.
func Open(ctx context.Context, file string) (_ *Archive, err error) {
	z, err := zip.OpenReader(file)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, invalid(file, "it is cut off, or another program's")
	}
	if err != nil {
		return nil, fmt.Errorf("open the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, z.Close())
		}
	}()
	a := &Archive{zip: z, files: map[string]*zip.File{}}
	for _, f := range z.File {
		if a.files[f.Name] != nil {
			return nil, invalid(file, "it has %q twice", f.Name)
		}
		a.files[f.Name] = f
	}
	if err := a.readManifest(file); err != nil {
		return nil, err
	}
	for _, f := range a.Manifest.Files {
		if err := a.copyFile(ctx, f, io.Discard); err != nil {
			return nil, invalid(file, "%w", err)
		}
	}
	return a, nil
}

// Close closes the file.
func (a *Archive) Close() error {
	if err := a.zip.Close(); err != nil {
		return fmt.Errorf("close the backup: %w", err)
	}
	return nil
}

func invalid(file, format string, a ...any) error {
	return fmt.Errorf("%s: %w: %w", file, ErrInvalid, fmt.Errorf(format, a...))
}

func (a *Archive) readManifest(file string) error {
	f := a.files[manifestName]
	if f == nil {
		return invalid(file, "it has no %s", manifestName)
	}
	r, err := f.Open()
	if err != nil {
		return invalid(file, "%w", err)
	}
	defer r.Close() //nolint:errcheck // it was only read
	if err := json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(&a.Manifest); err != nil {
		return invalid(file, "read %s: %w", manifestName, err)
	}
	known, err := sqlite.Schema()
	if err != nil {
		return err // it says all
	}
	m := a.Manifest
	if m.Format != format || m.Schema > known {
		return invalid(file, "parley %s wrote it, with format %d and a database of version %d; this one knows format %d and databases up to %d: run a newer program", m.Parley, m.Format, m.Schema, format, known)
	}
	return a.checkNames(file)
}

// checkNames holds the list of files to what an archive may have: nothing leads out of the
// folder that it is unpacked in.
func (a *Archive) checkNames(file string) error {
	listed := map[string]bool{manifestName: true}
	for _, f := range a.Manifest.Files {
		folder, _, inside := strings.Cut(f.Name, "/")
		known := f.Name == Database || inside && (folder == logFolder || folder == workspacesFolder)
		switch {
		case !known || !filepath.IsLocal(f.Name) || strings.Contains(f.Name, `\`):
			return invalid(file, "%q has no place in a state folder", f.Name)
		case a.files[f.Name] == nil:
			return invalid(file, "%s is missing from it", f.Name)
		case !a.files[f.Name].Mode().IsRegular():
			return invalid(file, "%s is not a regular file", f.Name)
		case listed[f.Name]:
			return invalid(file, "%s lists %s twice", manifestName, f.Name)
		}
		listed[f.Name] = true
	}
	for name := range a.files {
		if !listed[name] {
			return invalid(file, "%s does not list %q", manifestName, name)
		}
	}
	for _, s := range a.Manifest.Streams {
		if !listed[logFolder+"/"+s.Name] {
			return invalid(file, "the stream %s of the message log is missing from it", s.Name)
		}
	}
	if !listed[Database] {
		return invalid(file, "%s is missing from it", Database)
	}
	return nil
}

// copyFile copies a file of the archive and compares it with the manifest.
func (a *Archive) copyFile(ctx context.Context, f File, w io.Writer) error {
	r, err := a.files[f.Name].Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer r.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), &endingReader{ctx, io.LimitReader(r, f.Size+1)})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != f.Size || got != f.SHA256 {
		return fmt.Errorf("%s is damaged: its sum is not that of the manifest", f.Name)
	}
	return nil
}

// endingReader ends with its context.
type endingReader struct {
	ctx context.Context // of the one copy
	r   io.Reader
}

func (e *endingReader) Read(p []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
	return e.r.Read(p) // the caller says what failed
}
