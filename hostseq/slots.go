package hostseq

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/snowlease/snowlease/lease"
)

const maxPin = 1024 // bytes, several times the length of a pin

type slots string

// prepare creates the directory if necessary, checks that it is usable, and returns its path
// without links.
func (d slots) prepare() (slots, error) {
	path, err := resolve(string(d))
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path + "/") // an error if it is a file
	}
	if err == nil {
		err = private(info)
	}
	if err != nil {
		return "", fmt.Errorf("directory %s for locks and records: %w: set dir to another, or correct its owner and mode", d, err)
	}
	return slots(path), nil
}

// openFile opens a file of the directory. It follows no links. Anything but a regular file,
// a file of another user, or one with a second name, is an error.
func openFile(path string, flag int) (*os.File, error) {
	f, err := openNoFollow(path, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && linked(info) { // create has made the second name, and either will remove it or has crashed
		removeNew(info, filepath.Dir(path))
		info, err = f.Stat()
	}
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file (%v): remove it", path, info.Mode())
	case linked(info):
		err = fmt.Errorf("%s has another name (a hard link), by which others can hold its lock: remove the other name", path)
	default:
		if err = private(info); err != nil {
			err = fmt.Errorf("%s (%v): %w: correct its owner and mode", path, info.Mode(), err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readFile(path string, n int64) ([]byte, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, n))
	return b, errors.Join(err, f.Close())
}

func (d slots) path(namespace string, worker int64) string {
	return filepath.Join(string(d), fmt.Sprintf("%s.%d.slot", namespace, worker))
}

// pin checks the request against the pin of the first member of the namespace.
func (d slots) pin(req lease.Request) error {
	path := filepath.Join(string(d), req.Namespace+".pin")
	stored, err := readFile(path, maxPin)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.create(path, []byte(req.Pin().String()+"\n")); err == nil {
			stored, err = readFile(path, maxPin)
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%w: create directory %s, writable for this user, or set dir to another: %w", err, string(d), lease.ErrSetup)
	}
	if err != nil {
		return fmt.Errorf("local: pin of namespace %q: %w", req.Namespace, err)
	}
	was := lease.ParsePin(strings.TrimSuffix(string(stored), "\n"))
	if _, ok := was.Join(req); !ok { // no decision of this package depends on the values that Join raises
		return &lease.MismatchError{
			Namespace: req.Namespace, Stored: was, Asked: req.Pin(),
			Change: "to change the pin, stop all members and delete " + path,
		}
	}
	return nil
}

const newPrefix = ".new-" // begins the first name of a file

// create creates a file with its whole content, or leaves an existing file alone. A crash never
// leaves a partial file.
func (d slots) create(path string, content []byte) error {
	name := filepath.Join(string(d), fmt.Sprintf("%s%016x", newPrefix, rand.Uint64()))
	// The group may write too, if the umask allows it: several users may share dir.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o660)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(name, path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	_ = os.Remove(name) // unless the process that opened path has removed it
	return errors.Join(err, syncDir(string(d)))
}

// removeNew removes the first name of a file of dir.
func removeNew(file fs.FileInfo, dir string) {
	names, _ := fs.Glob(os.DirFS(dir), newPrefix+"*")
	for _, name := range names {
		name = filepath.Join(dir, name)
		if info, err := os.Lstat(name); err == nil && os.SameFile(info, file) {
			_ = os.Remove(name)
		}
	}
}

// open locks the file of a worker id, which it creates if necessary, and reads its record.
// Errors: ErrHeld, lease.ErrDamaged.
func (d slots) open(namespace string, worker int64) (*os.File, record, error) {
	path := d.path(namespace, worker)
	f, err := openFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.create(path, record{Worker: worker}.encode()); err == nil {
			f, err = openFile(path, os.O_RDWR)
		}
	}
	if err != nil {
		return nil, record{}, fmt.Errorf("local: %w", err)
	}
	r, err := d.claim(f, path, namespace, worker)
	if err != nil {
		_ = f.Close()
		return nil, record{}, err
	}
	return f, r, nil
}

func (d slots) claim(f *os.File, path, namespace string, worker int64) (record, error) {
	locked, err := flock(f)
	r, damage := read(f, worker)
	switch {
	case err != nil:
		return r, fmt.Errorf("local: lock %s: %w: set dir to a directory on a file system with locks", path, err)
	case !locked:
		return r, fmt.Errorf("%w: %d of namespace %q by %q (file %s)", ErrHeld, worker, namespace, r.Holder, path)
	case !d.same(f, path):
		return r, fmt.Errorf("local: %s was replaced or deleted in the meantime: its worker id may be in use until ttl has passed", path)
	case damage != nil:
		return r, fmt.Errorf("%w: %w: file %s: %w: its last use is unknown; delete the file once a right clock has passed all ids of worker id %d",
			lease.ErrSetup, lease.ErrDamaged, path, damage, worker)
	}
	return r, nil
}

// same reports whether f is still the file at path.
func (d slots) same(f *os.File, path string) bool {
	mine, err := f.Stat()
	there, gone := os.Lstat(path)
	return err == nil && gone == nil && os.SameFile(mine, there)
}

func read(f io.ReaderAt, worker int64) (record, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, recordSize+1)) // one more byte, to detect a longer file
	if err != nil {
		return record{}, err
	}
	return decode(b, worker)
}

// write writes a record and returns when it is on disk.
func write(f *os.File, r record) error {
	_, err := f.WriteAt(r.encode(), 0)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("local: write record: %w", err)
	}
	return nil
}

// list reads the records of a namespace without locks, so some may change in the meantime. It
// leaves out damaged records.
func (d slots) list(namespace string) (map[int64]record, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	records := map[int64]record{}
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), ".slot")
		name, ok := strings.CutPrefix(name, namespace+".")
		worker, err := strconv.ParseInt(name, 10, 64)
		if !ok || err != nil || d.path(namespace, worker) != filepath.Join(string(d), e.Name()) {
			continue
		}
		b, _ := readFile(filepath.Join(string(d), e.Name()), recordSize+1) // one more byte, to detect a longer file
		if r, err := decode(b, worker); err == nil {
			records[worker] = r
		}
	}
	return records, nil
}
