package hostseq

import (
	"cmp"
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

const maxFile = 1024 // bytes, more than a record, and several times the length of a pin

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

// openFile opens a file of the directory, which it creates if necessary and content is not nil. It
// follows no links. Anything but a regular file, a file of another user, or one with a second name,
// is an error.
func (d slots) openFile(path string, flag int, content []byte) (*os.File, error) {
	f, err := openNoFollow(path, flag)
	if errors.Is(err, fs.ErrNotExist) && content != nil {
		if err = d.create(path, content); err == nil {
			f, err = openNoFollow(path, flag)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && linked(info) { // create has made the second name, and either will remove it or has crashed
		d.removeNew(f)
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

// readFile is openFile and read, for a reader without the lock.
func (d slots) readFile(path string, content []byte) ([]byte, error) {
	f, err := d.openFile(path, os.O_RDONLY, content)
	if err != nil {
		return nil, err
	}
	b, err := read(f)
	return b, errors.Join(err, f.Close())
}

func (d slots) path(namespace string, worker int64) string {
	return filepath.Join(string(d), fmt.Sprintf("%s.%d.slot", namespace, worker))
}

// pin checks the request against the pin of the first member of the namespace.
func (d slots) pin(req lease.Request) error {
	path := filepath.Join(string(d), req.Namespace+".pin")
	stored, err := d.readFile(path, []byte(req.Pin().String()+"\n"))
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

// removeNew removes the first name of f.
func (d slots) removeNew(f *os.File) {
	names, _ := fs.Glob(os.DirFS(string(d)), newPrefix+"*")
	for _, name := range names {
		if name = filepath.Join(string(d), name); d.same(f, name) {
			_ = os.Remove(name)
		}
	}
}

// open locks the file of a worker id, which it creates if necessary, and reads its record.
// Errors: ErrHeld, lease.ErrDamaged.
func (d slots) open(namespace string, worker int64) (*os.File, record, error) {
	path := d.path(namespace, worker)
	f, err := d.openFile(path, os.O_RDWR, record{Worker: worker}.encode())
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
	b, unread := read(f)
	r, damage := decode(b, worker)
	switch {
	case err != nil:
		return r, fmt.Errorf("local: lock %s: %w: set dir to a directory on a file system with locks", path, err)
	case !locked:
		return r, fmt.Errorf("%w: %d of namespace %q by %q (file %s)", ErrHeld, worker, namespace, r.Holder, path)
	case !d.same(f, path):
		return r, fmt.Errorf("local: %s was replaced or deleted in the meantime: its worker id may be in use until ttl has passed", path)
	case damage != nil:
		return r, fmt.Errorf("%w: %w: file %s: %w: its last use is unknown; delete the file once a right clock has passed all ids of worker id %d",
			lease.ErrSetup, lease.ErrDamaged, path, cmp.Or(unread, damage), worker)
	}
	return r, nil
}

// same reports whether f is still the file at path.
func (d slots) same(f *os.File, path string) bool {
	mine, err := f.Stat()
	there, gone := os.Lstat(path)
	return err == nil && gone == nil && os.SameFile(mine, there)
}

func read(f *os.File) ([]byte, error) { return io.ReadAll(io.NewSectionReader(f, 0, maxFile)) }

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
		number := strings.TrimSuffix(strings.TrimPrefix(e.Name(), namespace+"."), ".slot")
		worker, _ := strconv.ParseInt(number, 10, 64)
		path := d.path(namespace, worker)
		if path != filepath.Join(string(d), e.Name()) {
			continue // the name of no file, or of another namespace
		}
		b, _ := d.readFile(path, nil)
		if r, err := decode(b, worker); err == nil {
			records[worker] = r
		}
	}
	return records, nil
}
