/* wire.h - the framed protocol between host and guest agent. FORMAT.md beside this file is its description.
   Compiled into both sides, so: no libc, no allocation, no I/O. */
#ifndef INTERP_LIB_WIRE_H
#define INTERP_LIB_WIRE_H
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION     1u
#define WIRE_HEADER      16u
#define WIRE_PAYLOAD_MAX 65520u
#define WIRE_FRAME_MAX   (WIRE_HEADER + WIRE_PAYLOAD_MAX)
#define WIRE_WINDOW      131072u
#define WIRE_PUT_WINDOW 524288u
#define WIRE_LATE_WINDOW 65536u
#define WIRE_CHANNEL_LATE  1u
#define WIRE_CHANNEL_FIRST 16u
#define WIRE_ID          16u
#define WIRE_FOREVER     UINT64_MAX
#define WIRE_KILL_NS     UINT64_C(1000000000)   /* the least that the end of a tree is given, while nothing is wrong */

enum wire_type {
    WIRE_HELLO = 1, WIRE_WELCOME = 2, WIRE_CREDIT = 3, WIRE_DATA = 4, WIRE_NOP = 5, WIRE_FATAL = 6, WIRE_BYE = 7,
    WIRE_KERNEL_START = 16, WIRE_KERNEL_READY = 17, WIRE_KERNEL_STOP = 18, WIRE_KERNEL_GONE = 19,
    WIRE_EXEC = 32, WIRE_EXIT = 33, WIRE_INTERRUPT = 34, WIRE_LATE = 35, WIRE_SIGNAL = 36, WIRE_RESIZE = 37,
    WIRE_REQUEST = 48, WIRE_REPLY = 49,
    WIRE_FILE = 64, WIRE_FILE_DONE = 65, WIRE_FILE_CANCEL = 66
};
enum { WIRE_FLAG_END = 1 };
enum wire_kind { WIRE_KIND_PASSED = 1, WIRE_KIND_PATHS = 2, WIRE_KIND_SCRIPT = 3 };
enum { WIRE_START_CACHED = 1, WIRE_START_WANT_CACHE = 2, WIRE_START_ONESHOT = 4 };
enum wire_step { WIRE_STEP_NONE = 0, WIRE_STEP_BUILD = 1, WIRE_STEP_RUN = 2 };
enum wire_build { WIRE_BUILD_DONE = 1, WIRE_BUILD_FAILED = 2, WIRE_BUILD_MISSING = 3 };   /* status of a kernel's frame b */
enum wire_ready {
    WIRE_READY_OK = 1, WIRE_READY_MISSING = 2, WIRE_READY_STALE = 3, WIRE_READY_FAILED = 4, WIRE_READY_LIMIT = 5,
    WIRE_READY_TIMEOUT = 6, WIRE_READY_PROTOCOL = 7
};
enum { WIRE_EXEC_STDIN = 1, WIRE_EXEC_MERGE = 256, WIRE_EXEC_PTY = 512 };
enum wire_how { WIRE_HOW_FINAL = 1, WIRE_HOW_DIED = 2, WIRE_HOW_KILLED = 3, WIRE_HOW_NOT_RUN = 4, WIRE_HOW_PROTOCOL = 5, WIRE_HOW_STOPPED = 6 };
enum wire_word { WIRE_WORD_NONE = 0, WIRE_WORD_OK = 1, WIRE_WORD_ERROR = 2, WIRE_WORD_EXIT = 3, WIRE_WORD_INTERRUPTED = 4 };
enum wire_cause { WIRE_CAUSE_NONE = 0, WIRE_CAUSE_WALL = 1, WIRE_CAUSE_CPU = 2, WIRE_CAUSE_IDLE = 3, WIRE_CAUSE_CANCEL = 4, WIRE_CAUSE_SIGNAL = 5 };
#define WIRE_SIGNAL_MAX 31u
enum wire_kernel_state { WIRE_KERNEL_ALIVE = 1, WIRE_KERNEL_PROVEN = 2, WIRE_KERNEL_UNPROVEN = 3 };
enum { WIRE_LIMIT_MEMORY = 1, WIRE_LIMIT_PIDS = 2, WIRE_LIMIT_DISK = 4, WIRE_LIMIT_INODES = 8, WIRE_LIMIT_FILE = 16 };
enum { WIRE_EXIT_WATCH = 1, WIRE_EXIT_RAN = 2, WIRE_EXIT_SAVED = 4, WIRE_EXIT_NO_PTY = 8 };
enum wire_reply { WIRE_REPLY_OK = 0, WIRE_REPLY_UNSUPPORTED = 1, WIRE_REPLY_REFUSED = 2, WIRE_REPLY_FAILED = 3 };
#define WIRE_FILES    8u           /* at a time */
#define WIRE_PATH_MAX 4095u
enum wire_file_op { WIRE_FILE_PUT = 1, WIRE_FILE_GET = 2, WIRE_FILE_LIST = 3, WIRE_FILE_STAT = 4, WIRE_FILE_MKDIR = 5, WIRE_FILE_RENAME = 6, WIRE_FILE_REMOVE = 7, WIRE_FILE_SNAP = 8, WIRE_FILE_DIFF = 9,
    WIRE_FILE_PACK = 10, WIRE_FILE_UNPACK = 11 };
enum { WIRE_FILE_PARENTS = 1, WIRE_FILE_RECURSIVE = 2, WIRE_FILE_KEEP = 4, WIRE_FILE_HALVES = 8 };
enum wire_file_type { WIRE_TYPE_FILE = 1, WIRE_TYPE_DIR = 2, WIRE_TYPE_LINK = 3, WIRE_TYPE_FIFO = 4, WIRE_TYPE_SOCKET = 5, WIRE_TYPE_CHAR = 6, WIRE_TYPE_BLOCK = 7,
    WIRE_TYPE_SAME = 8 };             /* of an unpack: another name of a file that is there */
enum { WIRE_ENTRY_CLOSED = 1, WIRE_ENTRY_SHORT = 2 };
#define WIRE_ENTRY    24u          /* a record without its path */
enum { WIRE_CHANGE_CREATED = 2, WIRE_CHANGE_CHANGED = 4, WIRE_CHANGE_DELETED = 8, WIRE_CHANGE_CONTENT = 16 };
enum { WIRE_FILE_NOT_REGULAR = 1000, WIRE_FILE_CHANGED = 1001, WIRE_FILE_LOST = 1002 };      /* errors that have no errno */
enum { WIRE_ARCH_X86_64 = 1, WIRE_ARCH_AARCH64 = 2 };

/* ---- kernel frames (guest/kernels/PROTOCOL.md): header of what a kernel sends and takes */
#define KFRAME_HEADER   16u
#define KFRAME_JSON_MAX (1u << 20)
#define KFRAME_BIN_MAX  (32u << 20)
struct kframe { uint32_t json_len, bin_len, token; uint8_t type, status; };
void interp__kframe_put(uint8_t out[KFRAME_HEADER], const struct kframe *f);
int  interp__kframe_get(const uint8_t in[KFRAME_HEADER], struct kframe *f);      /* 0, or -1: a length over its bound or a reserved byte set */

/* ---- frames */
struct wire_frame {
    uint32_t size, seq, ack;
    uint16_t channel;
    uint8_t  type, flags;
    const uint8_t *payload;
};
struct wire_peer { uint32_t sent, acked, taken; };   /* last seq sent; highest of them acknowledged; last seq taken in */

/* Writes a header for a frame with this payload size into out and advances p->sent. */
void interp__wire_header(struct wire_peer *p, uint8_t out[WIRE_HEADER], uint8_t type, uint8_t flags, uint16_t channel, uint32_t size);

/* Looks for one whole frame at the start of buf. >0: bytes it takes, *f filled (payload points into buf).
   0: more bytes are needed. <0: violation (a size, a flag, a number out of order); the stream is dead.
   A type is checked against what the side `from_agent` may send. */
long interp__wire_next(struct wire_peer *p, const uint8_t *buf, size_t len, int from_agent, struct wire_frame *f);

/* The same of a frame whose payload need not be there yet, and p stays as it is: who takes the payload as it comes says interp__wire_taken. */
long interp__wire_head(const struct wire_peer *p, const uint8_t *buf, size_t len, int from_agent, struct wire_frame *f);
void interp__wire_taken(struct wire_peer *p, const struct wire_frame *f);

/* ---- payload cursors: out-of-bounds makes `bad` stick; reads then give zeros */
struct wire_in { const uint8_t *p, *end; int bad; };
struct wire_out { uint8_t *p, *end; int bad; };
struct wire_str { const uint8_t *p; uint16_t len; };
void     interp__wire_in_init(struct wire_in *i, const void *p, size_t n);
uint8_t  interp__wire_u8(struct wire_in *i);
uint16_t interp__wire_u16(struct wire_in *i);
uint32_t interp__wire_u32(struct wire_in *i);
uint64_t interp__wire_u64(struct wire_in *i);
void     interp__wire_bytes(struct wire_in *i, void *out, size_t n);
struct wire_str interp__wire_string(struct wire_in *i);
void     interp__wire_put_u8(struct wire_out *o, uint8_t v);
void     interp__wire_put_u16(struct wire_out *o, uint16_t v);
void     interp__wire_put_u32(struct wire_out *o, uint32_t v);
void     interp__wire_put_u64(struct wire_out *o, uint64_t v);
void     interp__wire_put_bytes(struct wire_out *o, const void *p, size_t n);
void     interp__wire_put_string(struct wire_out *o, const void *p, size_t n);   /* longer than 65,535: bad */

/* ---- messages with many fields: one reader and one writer each. Readers return 0, or -1 for a malformed payload. */
struct wire_identity { uint64_t inode, mtime_ns, ctime_ns, size; };
struct wire_hello { uint16_t version_min, version_max; uint32_t capabilities, umask, pids; uint8_t session[WIRE_ID], secret[WIRE_ID]; uint64_t lease_ns, watch_bytes, lifetime_ns, kill_ns; };
struct wire_welcome { uint16_t version, arch; uint32_t capabilities, uid; uint8_t ids, landlock, scoped, memory; };
struct wire_ready_msg { uint16_t kernel; uint8_t status, restored; int32_t exit_code, signal; struct wire_identity id; struct wire_str path, info, text; };
struct wire_exec { uint8_t id[WIRE_ID]; uint16_t kernel, base, rows, columns; uint32_t flags, number, token, code_bytes; uint64_t timeout_ns, grace_ns, cpu_ns, idle_ns, build_ns; struct wire_str prefix; };
struct wire_exit { uint8_t id[WIRE_ID]; uint8_t how, status, interrupted, kernel_state; int32_t exit_code, signal; uint64_t wall_ns, cpu_ns, memory_peak; uint32_t oom_kills, limits_hit, flags; uint8_t step; };
struct wire_file { uint16_t channel; uint8_t op, flags; uint32_t mode; uint64_t limit, timeout_ns; struct wire_str path, other; };
struct wire_file_done { uint16_t channel, error; uint8_t type, more; uint32_t mode; uint64_t size, mtime_ns, count; };
struct wire_entry { uint8_t type, flags; uint32_t mode; uint64_t size, mtime_ns; struct wire_str path; };      /* of a list */
/* KERNEL_START's lists are left to a cursor: `rest` stands at the candidates list. */
struct wire_start { uint16_t kernel, channel; uint8_t kind, flags; uint64_t timeout_ns; struct wire_identity id; struct wire_in rest; };

int  interp__wire_get_hello(const struct wire_frame *f, struct wire_hello *m);
int  interp__wire_get_welcome(const struct wire_frame *f, struct wire_welcome *m);
int  interp__wire_get_start(const struct wire_frame *f, struct wire_start *m);
int  interp__wire_get_ready(const struct wire_frame *f, struct wire_ready_msg *m);
int  interp__wire_get_exec(const struct wire_frame *f, struct wire_exec *m);
int  interp__wire_get_exit(const struct wire_frame *f, struct wire_exit *m);
int  interp__wire_get_file(const struct wire_frame *f, struct wire_file *m);
int  interp__wire_get_file_done(const struct wire_frame *f, struct wire_file_done *m);
int  interp__wire_get_entry(struct wire_in *i, struct wire_entry *m);                /* the next of a run of records; -1: it is not all there */
void interp__wire_put_hello(struct wire_out *o, const struct wire_hello *m);
void interp__wire_put_welcome(struct wire_out *o, const struct wire_welcome *m);
void interp__wire_put_start(struct wire_out *o, const struct wire_start *m);      /* without the lists, which the caller appends */
void interp__wire_put_ready(struct wire_out *o, const struct wire_ready_msg *m);
void interp__wire_put_exec(struct wire_out *o, const struct wire_exec *m);
void interp__wire_put_exit(struct wire_out *o, const struct wire_exit *m);
void interp__wire_put_file(struct wire_out *o, const struct wire_file *m);
void interp__wire_put_file_done(struct wire_out *o, const struct wire_file_done *m);
void interp__wire_put_entry(struct wire_out *o, const struct wire_entry *m);
#endif
