package cli

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

// envSecrets is the variable with the secrets of public ids, one a line. There is no flag for
// secrets, because other users of the host can see arguments.
const envSecrets = "SNOWLEASE_PUBLICID_SECRETS"

func publicIDCommand(p program) *cobra.Command {
	var prefix, file string
	cmd := &cobra.Command{
		Use:   "publicid --prefix PREFIX [flags] ID|TEXT...|-",
		Short: "Translate ids to public ids and back",
		Long: `Publicid prints the public id (TEXT) of each decimal ID, and the decimal ID of each TEXT,
as package publicid does. "-" reads them from standard input, one a line.

With secrets, public ids are sealed; without, they are plain. The secrets are in the file
of --secrets or, without that flag, in the variable ` + envSecrets + `, one a line.
The first secret seals, and each of them can open.`,
		Example: `  snowlease publicid --prefix cus 912338055136935936
  snowlease publicid --prefix ord --secrets /run/secrets/order-ids ord_3z5h8216y10geyvz9xdn5qawmb`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			codec, err := publicCodec(prefix, file)
			if err != nil {
				return err
			}
			return translate(p, cmd, args, func(text string) (string, error) {
				if strings.Trim(text, "0123456789") != "" {
					id, err := codec.Decode(text)
					return strconv.FormatInt(id, 10), err
				}
				id, err := snowflake.ParseID(text)
				if err != nil {
					return "", err
				}
				return codec.Encode(int64(id))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&prefix, "prefix", "", "prefix of the public ids, without \"_\"")
	flags.StringVar(&file, "secrets", "", "`file` with the secrets, one a line (default: "+envSecrets+")")
	must(cmd.MarkFlagRequired("prefix"))
	return cmd
}

// publicCodec returns a plain codec, or a sealed one if there are secrets.
func publicCodec(prefix, file string) (*publicid.Codec, error) {
	text, from := os.Getenv(envSecrets), envSecrets
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secrets is not a file that can be read: %w", unnamed(err))
		}
		text, from = string(b), file
	}
	var secrets [][]byte
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			secrets = append(secrets, []byte(line))
		}
	}
	if len(secrets) == 0 {
		if cmp.Or(file, text) != "" {
			return nil, fmt.Errorf("%s has no secret: write one a line", from)
		}
		return publicid.New(prefix)
	}
	codec, err := publicid.NewSealed(prefix, secrets[0], secrets[1:]...)
	if err != nil {
		return nil, fmt.Errorf("with the secrets of %s: %w", from, err)
	}
	return codec, nil
}
