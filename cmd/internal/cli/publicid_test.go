package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	idSecret   = "a secret of the tests, 32 bytes."
	sealedText = "ord_36mwvs7er4ssmnnmzc1g4fzdwm"
)

func TestPublicID(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "cus_0saa6m2dr40006\n 31\n", "publicid", "--prefix=cus", "912338055136935936", "-")
	require.Zero(t, code, errs)
	require.Equal(t, "cus_0saa6m2dr40006\n912338055136935936\ncus_000000000000zv\n", out)

	file := writeFile(t, "another one of the tests, longer.\r\n\n"+idSecret)
	code, out, errs = call(t, "", "publicid", "--prefix=ord", "--secrets="+file, sealedText)
	require.Zero(t, code, errs)
	require.Equal(t, "912338055136935936\n", out)
	_, out, _ = call(t, "", "publicid", "--prefix=ord", "--secrets="+file, "912338055136935936")
	require.Regexp(t, `^ord_\w{26}\n$`, out)
	require.NotContains(t, out, sealedText, "the first secret seals")

	code, out, errs = call(t, "cus_0saa6m2dr40007\n5\n", "publicid", "--prefix=cus", "x", "0", "9223372036854775808", sealedText, "-")
	require.Equal(t, exitFailed, code)
	require.Equal(t, "cus_0000000000005a\n", out)
	for _, want := range []string{
		`argument 1: publicid: "x" is not an id of kind cus: it does not begin with "cus_"`, "argument 2: publicid: an id is positive, not 0",
		`argument 3: snowflake: parse id "9223372036854775808" in base 10: it is above 2^63-1`, "argument 4: ", "line 1: ", "its check character does not fit",
		"snowlease: 5 of 6 could not be translated",
	} {
		require.Contains(t, errs, want)
	}
}

// The variable has secrets too, and no message shows one.
func TestPublicIDSecrets(t *testing.T) {
	t.Setenv(envSecrets, idSecret)
	code, out, errs := call(t, "", "publicid", "--prefix=ord", "912338055136935936", sealedText)
	require.Zero(t, code, errs)
	require.Equal(t, sealedText+"\n912338055136935936\n", out)

	const short = "too-short-to-be-one"
	for _, c := range []struct {
		env, want string
		args      []string
	}{
		{short, "with the secrets of " + envSecrets + ": publicid: secret 1 of prefix ord has 19 bytes: use at least 32", nil},
		{"\n", envSecrets + " has no secret: write one a line", nil},
		{idSecret, "config.yaml has no secret", []string{"--secrets=" + writeFile(t, "")}},
		{"", "--secrets is not a file that can be read: no such file", []string{"--secrets=" + short}},
		{"", `prefix "Ord": character 'O' at 0`, []string{"--prefix=Ord"}},
	} {
		t.Setenv(envSecrets, c.env)
		args := append([]string{"publicid", "5", "--prefix=ord"}, c.args...)
		code, out, errs := call(t, "", args...)
		require.Equal(t, exitUsage, code, errs)
		require.Contains(t, errs, c.want)
		require.Empty(t, out)
		require.NotContains(t, errs, idSecret)
		require.NotContains(t, errs, short)
	}
}
