package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	idSecret   = "a secret of the tests, 32 bytes."
	sealedText = "ord_36mwvs7er4ssmnnmzc1g4fzdwm"
	plainID    = "912338055136935936"
)

// Secrets stand in the variable or in a file, and no message shows one.
func TestPublicIDSecrets(t *testing.T) {
	t.Setenv(envSecrets, idSecret)
	require.Equal(t, sealedText+"\n"+plainID+"\n", in(t).ok("publicid --prefix=ord "+plainID+" "+sealedText))
	file := in(t, "--prefix=ord", "--secrets="+writeFile(t, "another one of the tests, longer.\r\n\n"+idSecret))
	require.Equal(t, plainID+"\n", file.ok("publicid "+sealedText))
	sealed := file.ok("publicid " + plainID)
	require.Regexp(t, `^ord_\w{26}\n$`, sealed)
	require.NotContains(t, sealed, sealedText, "the first secret seals")

	const short = "too-short-to-be-one"
	for _, c := range []struct{ env, line, want string }{
		{short, "publicid 5 --prefix=ord", "with the secrets of " + envSecrets + ": publicid: secret 1 of prefix ord has 19 bytes: use at least 32"},
		{"\n", "publicid 5 --prefix=ord", envSecrets + " has no secret: write one a line"},
		{idSecret, "publicid 5 --prefix=ord --secrets=" + writeFile(t, ""), "config.yaml has no secret"},
		{"", "publicid 5 --prefix=ord --secrets=" + short, "--secrets is not a file that can be read: no such file"},
		{"", "publicid 5 --prefix=Ord", `prefix "Ord": character 'O' at 0`},
	} {
		t.Setenv(envSecrets, c.env)
		printed := in(t).exits(exitUsage, c.line, c.want)
		require.NotContains(t, printed, idSecret)
		require.NotContains(t, printed, short)
	}
}
