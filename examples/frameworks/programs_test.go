package frameworks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/genericclient"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/examples/frameworks/kitex/idl"
	"github.com/snowlease/snowlease/internal/test/limit"
)

const id = `^"?\d{18}"?\s?<nil>$`

// TestPrograms ends each service by SIGTERM while an order is being paid. The order gets its
// id, and the program gives back its worker id.
func TestPrograms(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	out, err := exec.CommandContext(limit.Compiling(t), "go", "build", "-o", bin, "./...").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, tc := range map[string]struct {
		order func(address string) string // none: the program orders by itself
		jobs  bool
		want  string
	}{
		"gozero":    {order: overHTTP, want: id},
		"kratos":    {order: overHTTP, want: id},
		"goframe":   {order: overHTTP, want: id},
		"hertz":     {order: overHTTP, want: id},
		"kitex":     {order: overKitex, want: id},
		"cron":      {jobs: true, want: `^order \d{18}\n$`},
		"xorm":      {want: `^\d{18} 7\n$`},
		"watermill": {want: `^evt_\w{14} by worker \d+\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paying, paid := make(chan struct{}), make(chan struct{})
			payments := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				paying <- struct{}{}
				<-paid
			}))
			defer payments.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			address := l.Addr().String()
			require.NoError(t, l.Close())

			cmd := exec.CommandContext(limit.Context(t), filepath.Join(bin, name))
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
			cmd.Env = append(os.Environ(), "PAYMENTS="+payments.URL, "PORT="+strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
			require.NoError(t, cmd.Start())
			got, ended := make(chan string, 1), make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if tc.order != nil {
				go func() { got <- tc.order(address) }()
			}
			if tc.order != nil || tc.jobs {
				select {
				case <-paying:
				case err := <-ended:
					require.Fail(t, "it ended", "%v\n%s", err, &stderr)
				}
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				if tc.order != nil {
					await(address, false)
				}
				close(paid)
			}
			require.NoError(t, <-ended, "%s", &stderr)
			if tc.order == nil {
				got <- stdout.String()
			}
			require.Regexp(t, tc.want, <-got, "%s", &stderr)
		})
	}
}

// await dials the address until it is listening, or until it is not.
func await(address string, listening bool) {
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) == listening {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func overHTTP(address string) string {
	await(address, true)
	resp, err := http.Post("http://"+address+"/orders", "", nil)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprint(string(body), err)
}

func overKitex(address string) string {
	await(address, true)
	codec, err := idl.Thrift()
	if err != nil {
		return err.Error()
	}
	c, err := genericclient.NewClient("orders", codec, client.WithHostPorts(address))
	if err != nil {
		return err.Error()
	}
	id, err := c.GenericCall(context.Background(), "create", `{"total": 5}`)
	return fmt.Sprint(id, err)
}
