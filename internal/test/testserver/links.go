package testserver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// links are proxies before the peer ports of an Etcd, one for each member. They tell
// connections apart by the header in which a member names itself.
type links struct {
	mu    sync.Mutex
	cut   map[string]bool // ids of members that reach nobody, in hexadecimal
	alone map[int]bool    // ports of members that nobody reaches
	conns map[net.Conn]link
	done  sync.WaitGroup
}

// A link is what a connection connects.
type link struct {
	from string
	to   int
}

// serve runs a proxy from a port to another until the test ends.
func (l *links) serve(t testing.TB, from, to int) error {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", from))
	if err != nil {
		return err
	}
	t.Cleanup(func() {
		_ = listener.Close()
		l.drop(func(is link) bool { return is.to == to })
	})
	l.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.done.Go(func() { l.pass(conn, to) })
		}
	})
	return nil
}

func (l *links) pass(conn net.Conn, to int) {
	defer conn.Close()
	l.note(conn, link{to: to}) // so that drop ends it
	defer l.forget(conn)
	var head [4096]byte
	n := 0
	for n < len(head) && !bytes.Contains(head[:n], []byte("\r\n\r\n")) {
		got, err := conn.Read(head[n:])
		if err != nil {
			return
		}
		n += got
	}
	_, from, _ := bytes.Cut(head[:n], []byte("\r\nX-Server-From: "))
	from, _, _ = bytes.Cut(from, []byte("\r\n"))
	if !l.note(conn, link{string(from), to}) {
		return
	}
	peer, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", to), time.Second)
	if err != nil {
		return
	}
	defer peer.Close()
	if _, err := peer.Write(head[:n]); err != nil {
		return
	}
	l.done.Go(func() {
		_, _ = io.Copy(conn, peer) // ends with either
		_ = conn.Close()
		_ = peer.Close()
	})
	_, _ = io.Copy(peer, conn)
}

// note reports whether the connection may exist.
func (l *links) note(conn net.Conn, is link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[net.Conn]link{}
	}
	l.conns[conn] = is
	return !l.cut[is.from] && !l.alone[is.to]
}

func (l *links) forget(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// drop ends connections.
func (l *links) drop(which func(link) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn, is := range l.conns {
		if which(is) {
			_ = conn.Close()
		}
	}
}

// set cuts a member off, or not.
func (l *links) set(id string, port int, off bool) {
	l.mu.Lock()
	if l.cut == nil {
		l.cut, l.alone = map[string]bool{}, map[int]bool{}
	}
	l.cut[id], l.alone[port] = off, off
	l.mu.Unlock()
	if off {
		l.drop(func(is link) bool { return is.from == id || is.to == port })
	}
}
