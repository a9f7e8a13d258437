/* sys.c - start code, self-relocation, and the helpers a freestanding program needs. */
#include "sys.h"

int guest_main(int argc, char **argv);
_Noreturn void start_c(uintptr_t *sp);

#if defined(__x86_64__)
__asm__(".text\n.globl _start\n.type _start,@function\n_start:\n xor %ebp,%ebp\n mov %rsp,%rdi\n and $-16,%rsp\n call start_c\n hlt\n");
#define RELATIVE 8u
#else
__asm__(".text\n.globl _start\n.type _start,%function\n_start:\n mov x29,#0\n mov x30,#0\n mov x0,sp\n and x1,x0,#-16\n mov sp,x1\n bl start_c\n brk #1\n");
#define RELATIVE 1027u
#endif

struct dyn { uintptr_t tag, val; };
struct rela { uintptr_t offset, info, addend; };
struct phdr { uint32_t type, flags; uintptr_t offset, vaddr, paddr, filesz, memsz, align; };
struct ehdr { uint8_t ident[16]; uint16_t type, machine; uint32_t version; uintptr_t entry, phoff, shoff; uint32_t flags; uint16_t ehsize, phentsize, phnum; };
extern const struct dyn _DYNAMIC[] __attribute__((visibility("hidden")));
extern const struct ehdr __ehdr_start __attribute__((visibility("hidden")));

/* Stack protector: one global guard, seeded from the kernel's random bytes before anything else runs. */
uintptr_t __stack_chk_guard = 0x00c5a1e5f00dd00du;
uintptr_t page_size = 4096;
_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
    sys_exit(97);
}

__attribute__((no_stack_protector)) _Noreturn void start_c(uintptr_t *sp)
{
    uintptr_t base = (uintptr_t)&__ehdr_start, rela = 0, size = 0;
    for (const struct dyn *d = _DYNAMIC; d->tag; d++) {
        if (d->tag == 7)
            rela = base + d->val;
        else if (d->tag == 8)
            size = d->val;
    }
    for (const struct rela *r = (const struct rela *)rela, *e = (const struct rela *)(rela + size); r < e; r++) {
        if ((r->info & 0xffffffffu) != RELATIVE)
            sys_exit(98);
        *(uintptr_t *)(base + r->offset) = base + r->addend;
    }
    int argc = (int)*sp;
    char **argv = (char **)(sp + 1);
    uintptr_t *v = sp + 2 + argc;
    while (*v)
        v++;
    for (v++; *v; v += 2)
        if (*v == 6) { /* AT_PAGESZ */
            page_size = v[1];
        } else if (*v == 25) { /* AT_RANDOM */
            __builtin_memcpy(&__stack_chk_guard, (const void *)v[1], sizeof __stack_chk_guard);
            __stack_chk_guard &= ~(uintptr_t)0xff;
        }
    const struct phdr *ph = (const struct phdr *)(base + __ehdr_start.phoff);
    for (unsigned i = 0; i < __ehdr_start.phnum; i++)
        if (ph[i].type == 0x6474e552u) { /* PT_GNU_RELRO */
            uintptr_t from = (base + ph[i].vaddr) & ~(page_size - 1), to = (base + ph[i].vaddr + ph[i].memsz) & ~(page_size - 1);
            if (to > from)
                sc3(NR_mprotect, (long)from, (long)(to - from), PROT_READ);
        }
    sys_exit(guest_main(argc, argv));
}

void *memcpy(void *restrict d, const void *restrict s, size_t n)
{
    void *r = d;
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
    uint8_t *o = d;
    const uint8_t *i = s;
    for (; n >= 8; n -= 8, o += 8, i += 8) {
        uint64_t w;
        __builtin_memcpy(&w, i, 8);
        __builtin_memcpy(o, &w, 8);
    }
    while (n--) {
        *o++ = *i++;
        __asm__ volatile("" : : : "memory");
    }
#endif
    return r;
}
void *memmove(void *d, const void *s, size_t n)
{
    uint8_t *o = d;
    const uint8_t *i = s;
    if (o <= i || o >= i + n) {
        /* forward copies are safe: memcpy here never writes behind what it has yet to read (8 bytes are read before they are written) */
        return memcpy(d, s, n);
    } else {
        while (n--) {
            o[n] = i[n];
            __asm__ volatile("" : : : "memory");
        }
    }
    return d;
}
void *memset(void *d, int c, size_t n)
{
    void *r = d;
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
#else
    uint8_t *o = d;
    while (n--) {
        *o++ = (uint8_t)c;
        __asm__ volatile("" : : : "memory");
    }
#endif
    return r;
}
int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (; n; n--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}
size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) {
        n++;
        __asm__ volatile("" : : : "memory");
    }
    return n;
}
int str_eq(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n == strlen(b) && memcmp(a, b, n) == 0;
}
size_t str_put(char *d, size_t cap, size_t at, const char *s)
{
    while (*s && at + 1 < cap)
        d[at++] = *s++;
    d[at] = 0;
    return at;
}
size_t str_num(char *d, size_t cap, size_t at, uint64_t v)
{
    char t[24];
    size_t n = sizeof t;
    t[--n] = 0;
    do
        t[--n] = (char)('0' + v % 10);
    while (v /= 10);
    return str_put(d, cap, at, t + n);
}
const char *scan_num(const char *p, uint64_t *v)
{
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p < '0' || *p > '9')
        return NULL;
    uint64_t n = 0;
    while (*p >= '0' && *p <= '9')
        n = n * 10 + (uint64_t)(*p++ - '0');
    *v = n;
    return p;
}
const char *scan_key(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; *line;) {
        size_t i = 0;
        while (i < n && line[i] == key[i])
            i++;
        if (i == n)
            return line + n;
        while (*line && *line != '\n')
            line++;
        line += *line != 0;
    }
    return NULL;
}
void random_hex(char *d, size_t bytes)
{
    uint8_t b[32];
    if (bytes > sizeof b)
        bytes = sizeof b;
    for (size_t have = 0; have < bytes;) {
        long r = sys_getrandom(b + have, bytes - have);
        if (r > 0)
            have += (size_t)r;
        else if (r != -E_INTR)
            sys_exit(96); /* without randomness no name of ours is unguessable */
    }
    for (size_t i = 0; i < bytes; i++) {
        *d++ = "0123456789abcdef"[b[i] >> 4];
        *d++ = "0123456789abcdef"[b[i] & 15];
    }
    *d = 0;
}
long write_all(int fd, const void *p, size_t n)
{
    const uint8_t *s = p;
    while (n) {
        long r = sys_write(fd, s, n);
        if (r == -E_INTR)
            continue;
        if (r <= 0)
            return r ? r : -E_IO;
        s += r;
        n -= (size_t)r;
    }
    return 0;
}
uint64_t now_ns(void)
{
    struct timespec_k t = { 0, 0 };
    sys_clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.sec * NSEC + (uint64_t)t.nsec;
}
static void close_span(unsigned from, unsigned to)
{
    if (from > to || sc3(NR_close_range, (long)from, (long)to, 0) == 0)
        return;
    for (unsigned i = from; i <= to && i < 4096; i++)
        sys_close((int)i);
}
void close_but(const int *keep, int n, int from)
{
    unsigned at = (unsigned)from;
    for (;;) {
        int next = -1;
        for (int i = 0; i < n; i++)
            if (keep[i] >= 0 && (unsigned)keep[i] >= at && (next < 0 || keep[i] < next))
                next = keep[i];
        if (next < 0)
            break;
        if ((unsigned)next > at)
            close_span(at, (unsigned)next - 1);
        at = (unsigned)next + 1;
    }
    close_span(at, UINT32_MAX);
}
