package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// onePath returns an error if the file of a database in WAL mode can be reached by several
// paths. SQLite keeps the WAL and its locks beside each path, so processes on two paths do
// not see each other's changes, and each would lend the same worker ids and numbers.
// A file mounted alone into a container also loses its WAL with the container. mounts lists
// the mount points, as Linux does.
func (c *conn) onePath(ctx context.Context, mounts string) error {
	file, _, err := one(ctx, c, "file", nil, column[sql.NullString])
	if err != nil || file.String == "" {
		return err
	}
	mode, _, err := one(ctx, c, "journal", nil, column[string])
	if err != nil || mode != "wal" {
		return err
	}
	what := ""
	if n := links(file.String); n > 1 {
		what = fmt.Sprintf("has %d hard links: remove all but one", n)
	} else if mounted(file.String, mounts) {
		what = "is a mount point of its own: mount its folder"
	}
	if what == "" {
		return nil
	}
	return advised{errors.New("the SQLite file is in WAL mode and " + what + ", or open it with journal_mode(DELETE) everywhere. Each path has a WAL of its own, so processes on two paths would lend the same worker ids")}
}

// mounted reports whether a file is one of the mount points. On systems without a list, it
// is not.
func mounted(file, mounts string) bool {
	text, err := os.ReadFile(mounts)
	if err != nil {
		return false
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	point := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(file)
	return slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 4 && f[4] == point
	})
}
