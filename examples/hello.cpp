// hello.cpp - sessions in C++: state, files, streaming with a lambda, an error of the code, a failure of ours.
// SPDX-License-Identifier: MIT
#include <interp/interp.hpp>
#include <iostream>

int main()
try {
    interp::context ctx;
    interp::session box(ctx, interp::config(ctx).set(interp_config_set_memory_bytes, 128u << 20).env("NAME", "world"));

    box.run("python", "import os\nname = os.environ['NAME']");
    std::cout << box.run("python", "print('hello,', name)").out();

    box.put("numbers.txt", "20\n22\n");
    box.run("python", "total = sum(map(int, open('numbers.txt')))\nopen('total.txt', 'w').write(str(total))");
    std::cout << "total: " << box.get_file("total.txt").data() << '\n';

    interp::request count(ctx, "bash", "for i in 1 2 3; do echo $i; sleep 0.1; done");
    count.set(interp_request_set_stream, 1);
    interp::result r = box.exec(count, [](const interp::event &e) {
        if (e.is_output())
            std::cout << "got " << e.data() << std::flush;
    });
    std::cout << r.outcome_name() << ", " << r.total_lines(INTERP_STREAM_STDOUT) << " lines\n";

    r = box.run("python", "1 / 0");
    std::cout << r.error_type() << " in line " << r.error_line() << ": " << r.error_message() << '\n';
    return 0;
} catch (const interp::failure &e) {
    std::cerr << e.why().reason() << ": " << e.what() << '\n';
    return e.code() == INTERP_E_ISOLATION || e.code() == INTERP_E_UNSUPPORTED ? 77 : 1;
}
