/* mime.c - what a file is, by its first bytes; for text, which has none that say so, by its name; and what a type means */
#include "core.h"
#include <string.h>
#include <strings.h>

static const struct { uint8_t at, len; char bytes[9]; const char *mime; } magic[] = {
    { 0, 8, "\x89PNG\r\n\x1a\n", "image/png" }, { 0, 3, "\xff\xd8\xff", "image/jpeg" }, { 0, 4, "GIF8", "image/gif" }, { 8, 4, "WEBP", "image/webp" }, { 6, 4, "\0\0\0\0", "image/bmp" },
    { 0, 4, "II*\0", "image/tiff" }, { 0, 4, "MM\0*", "image/tiff" }, { 0, 5, "%PDF-", "application/pdf" }, { 0, 2, "\x1f\x8b", "application/gzip" },
    { 0, 3, "BZh", "application/x-bzip2" }, { 0, 6, "\xfd" "7zXZ\0", "application/x-xz" }, { 0, 4, "\x28\xb5\x2f\xfd", "application/zstd" }, { 0, 6, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed" },
    { 0, 7, "SQLite ", "application/vnd.sqlite3" }, { 0, 4, "\x7f" "ELF", "application/x-executable" }, { 0, 4, "PAR1", "application/vnd.apache.parquet" }, { 0, 4, "\0asm", "application/wasm" },
    { 0, 4, "fLaC", "audio/flac" }, { 0, 3, "ID3", "audio/mpeg" }, { 0, 4, "OggS", "audio/ogg" }, { 8, 4, "WAVE", "audio/wav" }, { 4, 4, "ftyp", "video/mp4" }, { 0, 4, "\x1a\x45\xdf\xa3", "video/webm" },
    { 0, 6, "\x93NUMPY", "application/x-npy" }, { 0, 8, "\x89HDF\r\n\x1a\n", "application/x-hdf5" }
};
static const struct { const char *end, *mime; } packed[] = {
    { ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" }, { ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
    { ".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" }, { ".odt", "application/vnd.oasis.opendocument.text" },
    { ".ods", "application/vnd.oasis.opendocument.spreadsheet" }, { ".jar", "application/java-archive" }, { ".epub", "application/epub+zip" }, { ".npz", "application/x-npz" }
};
static const struct { const char *end, *mime; } texts[] = {
    { ".csv", "text/csv" }, { ".tsv", "text/tab-separated-values" }, { ".json", "application/json" }, { ".html", "text/html" }, { ".htm", "text/html" }, { ".md", "text/markdown" },
    { ".svg", "image/svg+xml" }, { ".xml", "text/xml" }, { ".css", "text/css" }, { ".js", "text/javascript" }, { ".mjs", "text/javascript" }, { ".py", "text/x-python" }, { ".sh", "text/x-shellscript" },
    { ".c", "text/x-c" }, { ".h", "text/x-c" }, { ".tex", "text/x-tex" }, { ".ics", "text/calendar" }, { ".yaml", "text/yaml" }, { ".yml", "text/yaml" }
};

static int ends(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && !strcasecmp(name + n - k, end);
}

const char *interp__mime_guess(const char *name, const uint8_t *head, size_t n, uint64_t size)
{
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (n >= (size_t)magic[i].at + magic[i].len && !memcmp(head + magic[i].at, magic[i].bytes, magic[i].len) && (magic[i].at != 6 || !memcmp(head, "BM", 2)))
            return magic[i].mime;
    if (n >= 4 && !memcmp(head, "PK\3\4", 4)) {
        for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
            if (ends(name, packed[i].end))
                return packed[i].mime;
        return "application/zip";
    }
    size_t good = n < size ? interp__utf8_whole(head, n) : n;
    if (interp__utf8_valid(head, good) < good || memchr(head, 0, n))
        return "application/octet-stream";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (ends(name, texts[i].end))
            return texts[i].mime;
    return "text/plain";
}

/* Type and subtype of a media type are compared without regard to case, without parameters (RFC 2045 5.1). want: all of it, "text/" for all that begin so, "+xml" for all that end so. */
int interp__mime_is(const char *mime, const char *want)
{
    size_t n = strcspn(mime, "; \t"), k = strlen(want);
    if (n < k || (n > k && want[0] != '+' && want[k - 1] != '/'))
        return 0;
    return !strncasecmp(want[0] == '+' ? mime + n - k : mime, want, k);
}

static int is_one_of(const char *mime, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (interp__mime_is(mime, list[i]))
            return 1;
    return 0;
}

int interp__mime_is_json(const char *mime)
{
    return interp__mime_is(mime, "application/json") || interp__mime_is(mime, "+json");
}

int interp__mime_is_text(const char *mime)
{
    static const char *const list[] = { "text/", "+xml", "+yaml", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript", "application/typescript",
                                        "application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-latex", "application/x-tex", "application/x-sh" };
    return interp__mime_is_json(mime) || is_one_of(mime, list, sizeof list / sizeof *list);
}

/* Pictures, sound, packed data: no text is in them that could be read as it is. */
int interp__mime_is_opaque(const char *mime)
{
    static const char *const list[] = { "image/", "audio/", "video/", "font/", "application/pdf", "application/gzip", "application/zip", "+zip", "application/zstd", "application/x-bzip2", "application/x-xz",
                                        "application/x-7z-compressed", "application/java-archive", "application/x-npz", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                                        "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.openxmlformats-officedocument.presentationml.presentation",
                                        "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet" };
    return !interp__mime_is_text(mime) && is_one_of(mime, list, sizeof list / sizeof *list);
}
