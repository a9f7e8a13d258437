/* driver.c - runs a fuzz target without libFuzzer: every seed, then repeatable mutations of each.
     fuzz-NAME [-runs=N] FILE-OR-DIRECTORY...
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include <dirent.h>
#include <sys/stat.h>

static unsigned long runs = 200;
static int files;
static uint64_t state;

static uint64_t rnd(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}
static size_t mutate(uint8_t *p, size_t n, size_t cap)
{
    static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, '"', '\\', '{', '[', ']', '}', ',', ':' };
    for (unsigned k = 1 + (unsigned)(rnd() % 4); k; k--) {
        size_t at = n ? rnd() % n : 0, len;
        switch (rnd() % 6) {
        case 0:
            if (n)
                p[at] ^= (uint8_t)(1u << rnd() % 8);
            break;
        case 1:
            if (n)
                p[at] = odd[rnd() % sizeof odd];
            break;
        case 2:
            n = n ? rnd() % n : 0;
            break;
        case 3:                                        /* a piece of itself once more */
            len = n ? rnd() % (n - at) + 1 : 0;
            if (len && n + len <= cap) {
                memmove(p + at + len, p + at, n - at);
                n += len;
            }
            break;
        case 4:
            if (n + 8 <= cap)
                for (int i = 0; i < 8; i++)
                    p[n++] = (uint8_t)rnd();
            break;
        default:                                       /* drop a piece */
            len = n ? rnd() % (n - at) : 0;
            memmove(p + at, p + at + len, n - at - len);
            n -= len;
        }
    }
    return n;
}
static void run_file(const char *path)
{
    enum { CAP = 1 << 20 };
    static uint8_t seed[CAP], work[CAP];
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("# cannot read %s\n", path);
        return;
    }
    size_t n = fread(seed, 1, CAP / 2, f);
    fclose(f);
    const char *name = strrchr(path, '/');
    printf("# %s\n", name ? name + 1 : path);
    fflush(stdout);
    files++;
    uint8_t *exact = fuzz_copy(seed, n);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    state = n * 1000003u + (n ? seed[n / 2] : 0);
    for (unsigned long i = 0; i < runs; i++) {
        memcpy(work, seed, n);
        size_t m = mutate(work, n, CAP);
        exact = fuzz_copy(work, m);
        (void)LLVMFuzzerTestOneInput(exact, m);
        free(exact);
    }
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (!strncmp(argv[i], "-runs=", 6)) {
            runs = strtoul(argv[i] + 6, NULL, 10);
        } else if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            DIR *d = opendir(argv[i]);
            for (struct dirent *e; d && (e = readdir(d));) {
                char path[4096];
                snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
                if (e->d_name[0] != '.')
                    run_file(path);
            }
            if (d)
                closedir(d);
        } else
            run_file(argv[i]);
    }
    printf("%d passed, %d failed, 0 skipped\n", files, files ? 0 : 1);
    return files ? 0 : 1;
}
