/* mime.c - what a file is, by its first bytes; for text, which has none that say so, by its name */
#include "core.h"
#include <string.h>
#include <strings.h>

static const struct { uint8_t at, len; char bytes[9]; const char *mime; } magic[] = {
    { 0, 8, "\x89PNG\r\n\x1a\n", "image/png" }, { 0, 3, "\xff\xd8\xff", "image/jpeg" }, { 0, 4, "GIF8", "image/gif" }, { 8, 4, "WEBP", "image/webp" }, { 0, 2, "BM", "image/bmp" },
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
        if (n >= (size_t)magic[i].at + magic[i].len && !memcmp(head + magic[i].at, magic[i].bytes, magic[i].len))
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
