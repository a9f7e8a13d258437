"""The bars, with room for a machine that is busy with something else."""
import bench

from conftest import SLOW


def test_overhead_of_an_exec():
    binding, c = bench.overhead()
    print('exec: %.0f us through the binding, %.0f us in C' % (binding, c))
    assert binding - c <= 4 * 60 * SLOW


def test_time_of_an_import():
    wall, cpu = bench.import_ms()
    print('import: %.1f ms, %.1f ms of CPU' % (wall, cpu))
    assert cpu <= 30 * SLOW
