// consumer.cpp - interp.hpp as a host uses it; built with and without exceptions. Ends with 77 where no sandbox can be had.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <interp/interp.hpp>
#include <poll.h>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(++failed, std::fprintf(stderr, "line %d: %s\n", __LINE__, #x)))

static_assert(!std::is_copy_constructible<interp::session>::value && std::is_nothrow_move_constructible<interp::session>::value, "owned by one");
static_assert(!std::is_copy_assignable<interp::result>::value && std::is_nothrow_move_assignable<interp::result>::value, "owned by one");
static_assert(sizeof(interp::result) == sizeof(interp_result *), "nothing but the handle");

static void files(interp::session &s, interp::error &e)
{
    CHECK(s.mkdir("d", INTERP_FILE_PARENTS, e) && s.put("d/a", "some bytes", e, 0600) && s.rename("d/a", "d/b", INTERP_FILE_KEEP, e));
    CHECK(s.get_file("d/b", e).data() == "some bytes" && !s.get_file("d/b", e, 3) && e.code() == INTERP_E_LIMIT);
    CHECK(s.list("d", 0, 10, e).data().find("\"name\":\"b\"") != std::string_view::npos && s.stat("d/b", e).data().find("\"mode\":384") != std::string_view::npos);
    interp::call put = s.start_put("d/c", INTERP_UNKNOWN, e);
    CHECK(put.write("in pieces", e) == 9 && put.write_end(e));
    put.end([](const interp::event &) {}, e);
    CHECK(!e && put.json().find("\"size\":9") != std::string_view::npos);
    std::string got;
    s.start_get("d/c", e).end([&](const interp::event &ev) { got += std::string(ev.data()); }, e);
    CHECK(got == "in pieces" && s.remove("d", INTERP_FILE_RECURSIVE, e) && !s.stat("d", e) && e.code() == INTERP_E_NOT_FOUND);
}

static void alive(const interp::context &x, interp::session &s, interp::error &e)
{
    interp::request q = interp::request::make(x, e);
    CHECK(q.language("bash", e) && q.code("echo one; tail -f given; echo two", e) && q.file("given", "a file\n", e) && q.set(interp_request_set_hold_output, 1, e));
    interp::call k = s.start(q, e);
    std::string seen;
    while (seen.size() < 11 && k.wait(10000, e) == INTERP_OK) {
        char piece[4];
        interp::call::output_view v;
        while ((v = k.output(INTERP_STREAM_STDOUT, seen.size(), piece, sizeof piece, e)).status == INTERP_OK)
            seen.append(piece, v.size);
    }
    CHECK(seen == "one\na file\n" && s.kernels().find("\"busy\"") != std::string_view::npos);
    CHECK(k.signal(2, e));
    CHECK(k.end([](const interp::event &) {}, e).interrupted() == "signal");
    CHECK(s.set_env("LATER", "yes", e) && s.run("bash", "echo $LATER", e).out() == "yes\n" && s.unset_env("LATER", e) && s.run("bash", "echo $LATER", e).out() == "\n");
    CHECK(s.probe_json() == "{}" && s.probe(e) && s.probe_json().find("\"languages\"") != std::string_view::npos && s.probe_text().find("bash") != std::string_view::npos);
    CHECK(s.delete_kernel("bash", nullptr, e) && s.kernels() == "[]");
    interp::result missing = s.run("bash", "no-such-command", e);
    CHECK(!missing.ok() && !missing.hint().empty() && missing.claimed_by() == "guest" && missing.step().empty());
}

// An archive goes up, down by a descriptor, and into a directory of this machine; each in its started form, too.
static void trees(interp::session &s, interp::error &e)
{
    CHECK(s.put("t/a/b", "deep", e) && s.put("t/c", "flat", e));
    interp::content tar = s.get_tar("t", 0, e);
    CHECK(tar.data().size() % 512 == 0 && tar.data().find("deep") != std::string_view::npos);
    CHECK(s.put_tar("u", tar.data(), 0, e).data().find("\"files\":2") != std::string_view::npos && s.get_file("u/a/b", e).data() == "deep");
    CHECK(!s.put_tar("u", "no archive", 0, e) && e.code() == INTERP_E_INVAL);
    std::FILE *file = std::tmpfile();
    CHECK(file && s.get_tar_to(fileno(file), "t", 0, e).data().find("\"complete\":true") != std::string_view::npos);
    std::rewind(file);
    CHECK(s.put_tar_from(fileno(file), "v", 0, e) && s.get_file("v/c", e).data() == "flat");
    std::fclose(file);
    std::string got;
    s.start_get_tar("t", 0, e).end([&](const interp::event &ev) { got += std::string(ev.data()); }, e);
    CHECK(got == tar.data());
    interp::call put = s.start_put_tar("w", 0, e);
    CHECK(put.write(got, e) == got.size() && put.write_end(e));
    put.end([](const interp::event &) {}, e);
    CHECK(!e && s.get_file("w/a/b", e).data() == "deep");
    char dir[] = "/tmp/interp-consumer-XXXXXX";
    CHECK(mkdtemp(dir) && s.get_dir("t", dir, INTERP_TREE_INTO, e) && s.put_dir("x", dir, 0, e) && s.get_file("x/c", e).data() == "flat");
    s.start_put_dir("y", dir, 0, e).end([](const interp::event &) {}, e);
    CHECK(!e && s.get_file("y/a/b", e).data() == "deep" && !s.start_get_dir("t", dir, 0, e) && e.code() == INTERP_E_EXISTS);
    CHECK(std::system((std::string("rm -r ") + dir).c_str()) == 0);
    const auto said = [&](interp::call k) {
        k.end([](const interp::event &) {}, e);
        return std::string(e ? std::string_view("failed") : k.json());
    };
    CHECK(said(s.start_mkdir("z", 0, e)) == "{\"created\":true}" && said(s.start_rename("z", "zz", 0, e)) != "failed" && said(s.start_stat("zz", e)).find("\"dir\"") != std::string::npos);
    CHECK(said(s.start_list(".", 0, 100, e)).find("\"zz\"") != std::string::npos && said(s.start_remove("zz", 0, e)) == "{\"removed\":1}" && said(s.start_stat("zz", e)) == "failed");
}

// What must not come out: of a context, a config, a session.
static void secrets(const interp::context &x, interp::config &c, interp::session &s, interp::error &e)
{
    CHECK(x.redact("A", "squeamish", e) && c.redact("B", "ossifrage", e) && c.detector("github-token", false, e) && s.redact("C", "correct-horse", e) && s.detector("github-token", true, e));
    CHECK(!c.detector("nonesuch", true, e) && e.code() == INTERP_E_NOT_FOUND);
    interp::redacted r = x.redacted("a squeamish text", e);
    CHECK(r.data() == "a [REDACTED:A] text" && r.counts_json() == "{\"A\":1}");
    CHECK(s.run("bash", "echo squeamish correct''-horse ossifrage", e).out() == "[REDACTED:A] [REDACTED:C] ossifrage\n");
    if (interp::has("redact.pcre2")) {
        CHECK(x.redact_pattern("N", "nr-[0-9]{6}", e) && c.redact_pattern("N", "nr-[0-9]{6}", e) && s.redact_pattern("M", "mr-[0-9]{6}", e));
        CHECK(s.run("bash", "echo nr-123456 mr-123456", e).out() == "[REDACTED:N] [REDACTED:M]\n");
    }
}

// One loop drives an open, an exec and a close, and knows them by their userdata.
static void by_loop(interp::error &e)
{
    interp::context x = interp::context::make(INTERP_CTX_LOOP, e);
    interp::config c = interp::config::make(x, e);
    interp::request q = interp::request::make(x, e);
    CHECK(q.language("bash", e) && q.code("echo by loop", e) && q.set(interp_request_set_label, "step", "one", e));
    const auto drive = [&](interp::call &k) {
        k.set_userdata(&k);
        for (bool done = false; !done;) {
            pollfd p{ x.fd(), POLLIN, 0 };
            if (poll(&p, 1, 60000) <= 0 || x.dispatch(e) < 0)
                return false;
            while (interp_call *named = x.next())
                done = done || (interp_call_userdata(named) == &k && k.each([](const interp::event &) {}));
        }
        return true;
    };
    auto [s, opening] = interp::session::start_open(x, c, e);
    CHECK(s && opening.kind() == INTERP_CALL_OPEN && opening.of_session() == s.get() && drive(opening));
    opening.finish(e);
    CHECK(!e && s.status() == INTERP_SESSION_OPEN);
    s.set_userdata(&q);
    interp::call k = s.start(q, e);
    CHECK(s.userdata() == &q && drive(k) && k.userdata() == &k && k.finish(e).out() == "by loop\n");
    interp::call probe = s.start_probe(e);
    CHECK(drive(probe) && s.probe_text().find("bash") != std::string_view::npos);
    interp::call again = s.start_restart("bash", nullptr, e), gone;
    CHECK(drive(again) && (gone = s.start_delete_kernel("bash", nullptr, e)) && drive(gone) && s.kernels() == "[]");
    interp::call closing = s.start_close(e);
    CHECK(drive(closing) && closing.kind() == INTERP_CALL_CLOSE && s.status() == INTERP_SESSION_GONE);
    CHECK(!x.start_gc(c, e) && e.code() == INTERP_E_UNSUPPORTED && !x.start_probe(c, e) && e.code() == INTERP_E_UNSUPPORTED);
}

static int quiet()
{
    interp::error e;
    interp::context x = interp::context::make(0, e);
    CHECK(x && !e);
    interp::config c = interp::config::make(x, e);
    CHECK(c.set(interp_config_set_memory_bytes, 128u << 20, e) && c.set(interp_config_set_isolation, "namespaces", e) && c.env("A", "b", e));
    CHECK(!c.set(interp_config_set_memory_bytes, 0, e) && e.code() == INTERP_E_INVAL && e.reason() == "option-range" && !e.message().empty());
    CHECK(!c.json("{\"nonesuch\":1}", e) && e.message().find("nonesuch") != std::string_view::npos);
    CHECK(c.json("{\"timeout_ms\":20000}", e) && !e);
    interp::session s = interp::session::open(x, c, e);
    if (!s) {
        std::fprintf(stderr, "%s\n", std::string(e.message()).c_str());
        return e.code() == INTERP_E_ISOLATION || e.code() == INTERP_E_UNSUPPORTED ? 77 : 1;
    }
    interp::session moved = std::move(s);
    CHECK(!s && moved && s.status() == INTERP_SESSION_GONE && moved.status() == INTERP_SESSION_OPEN && moved.info().find("local") != std::string_view::npos);
    interp::result r = moved.run("bash", "echo \"$A\"; echo two >&2; exit 3", e);
    CHECK(r && !r.ok() && r.out() == "b\n" && r.err() == "two\n" && r.exit_code() == 3 && r.outcome_name() == "error" && r.total_bytes(INTERP_STREAM_STDOUT) == 2);
    interp::request q = interp::request::make(x, e);
    CHECK(q.language("bash", e) && q.code("read line; echo got $line", e) && q.set(interp_request_set_interactive, 1, e) && q.set(interp_request_set_stream, 1, e));
    interp::call k = moved.start(q, e);
    CHECK(k && k.kind() == INTERP_CALL_EXEC && k.write("word\n", e) == 5 && k.write_end(e));
    std::string seen;
    interp::result end = k.end([&](const interp::event &ev) { seen += ev.is_output() ? std::string(ev.data()) : std::string(); }, e);
    CHECK(end.ok() && seen == "got word\n");
    interp::cancel stop = x.new_cancel(e), other = stop;
    CHECK(q.code("sleep 30", e) && q.attach(stop, e));
    std::thread t([other] { other.fire(); });
    interp::result cancelled = moved.exec(q, e);
    t.join();
    CHECK(cancelled.outcome() == INTERP_OUTCOME_CANCELLED && stop.fired());
    files(moved, e);
    trees(moved, e);
    alive(x, moved, e);
    secrets(x, c, moved, e);
    by_loop(e);
    CHECK(x.gc(c, e) == 0 && e.code() == INTERP_E_UNSUPPORTED && c.json().find("\"timeout_ms\":20000") != std::string_view::npos && c.languages().find("\"python\"") != std::string_view::npos);
    CHECK(c.set(interp_config_set_policy, "{\"code_bytes\":5}", e) && c.set(interp_config_set_label, "job", "7", e) && !c.set(interp_config_add_language, "{}", e) && e.code() == INTERP_E_INVAL);
    CHECK(!interp::version().empty() && interp::version_number() > 0 && interp::has("backend.local") && interp::status_name(INTERP_E_BUSY) == "INTERP_E_BUSY" && interp::estimate_tokens("four words of text") > 2);
    moved.reset();
    c.reset();
    x.reset();
    CHECK(r.out() == "b\n" && r.json().find("\"exit_code\":3") != std::string_view::npos);   // outlives them all
    interp::context loop = interp::context::make(INTERP_CTX_LOOP, e);
    CHECK(loop.fd() >= 0 && loop.dispatch(e) == INTERP_OK && !loop.next());
    interp::result none;
    CHECK(!none && !none.ok() && none.out().empty() && none.part(0).mime.empty() && none.outcome() == 0);
    return 0;
}

#if defined(__cpp_exceptions)
static void loud()
{
    int lines = 0;
    {
        interp::context x;
        x.log([&](std::int32_t, std::string_view) { lines++; });
        x.redact("TOKEN", "correct horse battery");
        try {
            interp::config(x).set(interp_config_set_pids, 1);
            CHECK(false && "a wrong value was taken");
        } catch (const interp::failure &f) {
            interp::failure copy = f;
            CHECK(copy.code() == INTERP_E_INVAL && std::string(copy.what()).find("pids") != std::string::npos && copy.why().reason() == "option-range");
        }
        std::uint64_t records = 0;
        x.audit("{}");
        x.audit_records([&](std::string_view record, std::uint64_t seq) {
            records = seq;
            return record.find("\"seq\"") != std::string_view::npos;
        });
        interp::session s(x, interp::config(x).json("{\"memory_bytes\":134217728,\"change_set\":true,\"fetch_files_bytes\":1000,\"spill_dir\":\"/tmp\",\"output_head_bytes\":64,\"output_tail_bytes\":64}"));
        interp::request q(x, "python", "print('correct horse ' + 'battery')\n6 * 7");
        q.set(interp_request_set_stream, 1);
        std::string seen;
        interp::result r = s.exec(q, [&](const interp::event &e) { seen += e.is_output() ? std::string(e.data()) : std::string(); });
        CHECK(r.ok() && r.value() == "42" && seen == "[REDACTED:TOKEN]\n" && r.part(0).data == "42");
        try {
            s.exec(q, [](const interp::event &e) {
                if (e.is_output())
                    throw 42;
            });
            CHECK(false && "what a lambda throws was lost");
        } catch (int n) {
            CHECK(n == 42);
        }
        CHECK(s.run("python", "1 + 1").value() == "2");   // and the session goes on
        CHECK(s.run("python", "1 / 0").error_type() == "ZeroDivisionError");
        interp::result wrote = s.run("python", "open('made', 'w').write('text')\nfor i in range(1000): print('line', i)");
        CHECK(wrote.file_count() == 1 && wrote.file(0).change == INTERP_FILE_CREATED && wrote.file(0).path == "made" && wrote.file(0).data == "text");
        char page[7];
        interp::result::place at = wrote.find(INTERP_STREAM_STDOUT, "line 500");
        CHECK(at.found && at.line == 501 && wrote.read(INTERP_STREAM_STDOUT, at.offset, page, sizeof page) == 7 && std::string_view(page, 7) == "line 50");
        CHECK(wrote.readable_bytes(INTERP_STREAM_STDOUT) == wrote.total_bytes(INTERP_STREAM_STDOUT) && !wrote.find(INTERP_STREAM_STDOUT, "nowhere").found);
        s.put("x/y", "z");
        s.put_tar("w", s.get_tar("x").data());
        CHECK(s.get_file("w/y").data() == "z" && x.redacted("correct horse battery").counts_json() == "{\"TOKEN\":1}");
        s.remove("x", INTERP_FILE_RECURSIVE);
        s.put("x", "y");
        CHECK(s.get_file("x").data() == "y" && records > 3 && x.audit_head().seq == records);
        try {
            s.get_file("not there");
            CHECK(false && "a file that is not there was read");
        } catch (const interp::failure &f) {
            CHECK(f.code() == INTERP_E_NOT_FOUND);
        }
        s.restart("python");
        try {
            s.restart("ruby");
            CHECK(false && "a kernel that never was has been restarted");
        } catch (const interp::failure &) {
        }
    }
    (void)lines;
}
#endif

int main()
{
    int code = quiet();
#if defined(__cpp_exceptions)
    if (code == 0)
        loud();
#endif
    return code ? code : failed != 0;
}
