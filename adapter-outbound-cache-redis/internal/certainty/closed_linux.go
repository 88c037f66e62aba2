package certainty

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// established is TCP_ESTABLISHED of the kernel's net/tcp_states.h.
const established = 1

// isClosed reports whether the other side has ended the connection, as far as
// the kernel has heard. In doubt it has not.
func isClosed(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = raw.Control(func(descriptor uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(descriptor), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != established
	})
	return err == nil && closed
}
