package docstest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/libtnb/sqlite" // the driver
	"github.com/stretchr/testify/require"
)

var (
	word    = regexp.MustCompile(`[a-z_]+`)
	ours    = regexp.MustCompile(`\b(?:snowlease_[a-z]+|[a-z]+_ms|[a-z]+_id)\b`)
	comment = regexp.MustCompile(`--[^\n]*`)
)

func schemaOf(t *testing.T, engine string) string {
	t.Helper()
	all := ""
	for _, of := range []string{"dbseq", "internal/sqlnumbers"} {
		text, err := os.ReadFile(filepath.Join(root, of, "schema", engine+".sql"))
		require.NoError(t, err)
		all += string(text) + "\n"
	}
	return all
}

func checkSQL(t *testing.T, b block) error {
	t.Helper()
	switch b.mark {
	case "sqlite":
		db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "docs.db"))
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), schemaOf(t, "sqlite"))
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), b.text)
		return err
	case "mysql", "postgres":
		known := map[string]bool{}
		for _, w := range word.FindAllString(schemaOf(t, b.mark), -1) {
			known[w] = true
		}
		text := strings.TrimSpace(comment.ReplaceAllString(b.text, ""))
		if !strings.HasSuffix(text, ";") {
			return fmt.Errorf("the last statement does not end with a semicolon")
		}
		for _, w := range ours.FindAllString(text, -1) {
			if !known[w] {
				return fmt.Errorf("%s is in no schema/%s.sql", w, b.mark)
			}
		}
		return nil
	}
	return fmt.Errorf("the engine is not told by a comment before the block: docstest: sqlite, mysql or postgres")
}

func TestSQL(t *testing.T) {
	t.Parallel()
	each(t, checkSQL, "sql")
}
