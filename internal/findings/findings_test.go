package findings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

func TestEncryption(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cipher, host string
		level        string
	}{
		{"TLS_AES_256_GCM_SHA384", "10.0.0.7", lease.LevelOK},
		{"", "localhost", lease.LevelOK},
		{"", "127.0.0.2", lease.LevelOK},
		{"", "::1", lease.LevelOK},
		{"", "10.0.0.7", lease.LevelNote},
		{"", "db.example", lease.LevelNote},
	} {
		var l findings.List
		l.Encryption(tt.cipher, tt.host)
		require.Len(t, l, 1)
		require.Equal(t, tt.level, l[0].Level, tt)
		require.Equal(t, tt.level == lease.LevelNote, l[0].Advice != "", tt)
	}
}
