from dataclasses import dataclass

from wikimem_daemon.clock import ClockWatch, SystemClock, timestamp


@dataclass
class FakeClock:
    mono: float = 100.0
    boot: float = 100.0
    wall: float = 1_700_000_000.0

    def monotonic(self) -> float:
        return self.mono

    def boottime(self) -> float:
        return self.boot

    def wall_ns(self) -> int:
        return int(self.wall * 1e9)

    def run(self, seconds: float) -> None:
        self.mono += seconds
        self.boot += seconds
        self.wall += seconds

    def sleep(self, seconds: float) -> None:
        self.boot += seconds
        self.wall += seconds


def test_time_that_passes_is_no_jump() -> None:
    clock = FakeClock()
    watch = ClockWatch(clock)
    clock.run(3600)
    assert watch.jumped() is None


def test_a_machine_that_slept_is_noticed_once() -> None:
    clock = FakeClock()
    watch = ClockWatch(clock)
    clock.run(1)
    clock.sleep(30)
    assert [watch.jumped(), watch.jumped()] == ["resume", None]


def test_a_clock_that_is_set_is_noticed_either_way() -> None:
    clock = FakeClock()
    watch = ClockWatch(clock)
    clock.wall -= 3600
    assert watch.jumped() == "clock-step"
    clock.wall += 7200
    assert [watch.jumped(), watch.jumped()] == ["clock-step", None]


def test_slewing_by_a_time_server_is_no_step() -> None:
    clock = FakeClock()
    watch = ClockWatch(clock)
    for _ in range(100):
        clock.run(1)
        clock.wall += 0.0005
        assert watch.jumped() is None


def test_the_machines_own_clock_does_not_jump_between_two_looks() -> None:
    watch = ClockWatch(SystemClock())
    assert watch.jumped() is None


def test_times_are_written_to_the_second_in_utc() -> None:
    assert timestamp(1_784_610_005_999_999_999) == "2026-07-21T05:00:05+00:00"
