from tickwork.execute.run_in_slots import Throughput


class ManualClock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def test_extra_credit_is_the_work_of_a_quarter_of_a_second():
    time = ManualClock()
    throughput = Throughput(time)
    assert throughput.extra_credit() == 0
    throughput.count(5_000)
    time.at = 0.5
    assert throughput.extra_credit() == 2_500


def test_ignores_a_sample_that_is_too_short():
    time = ManualClock()
    throughput = Throughput(time)
    throughput.count(1_000)
    time.at = 0.01
    assert throughput.extra_credit() == 0


def test_the_best_recent_rate_fades():
    time = ManualClock()
    throughput = Throughput(time)
    throughput.count(1_000)
    time.at = 0.1
    assert throughput.extra_credit() == 2_500
    throughput.count(10)
    time.at = 10.1
    assert throughput.extra_credit() == 1_250
    time.at = 200.0
    assert throughput.extra_credit() == 0


def test_reset_forgets_the_rate():
    time = ManualClock()
    throughput = Throughput(time)
    throughput.count(1_000)
    time.at = 0.1
    assert throughput.extra_credit() == 2_500
    throughput.reset()
    assert throughput.extra_credit() == 0
