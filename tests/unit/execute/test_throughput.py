from tickwork.execute.slots import Throughput


class Hand:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def test_looks_as_far_ahead_as_it_gets_done_in_a_quarter_of_a_second():
    hand = Hand()
    throughput = Throughput(hand)
    assert throughput.extra_credit() == 0
    throughput.count(5_000)
    hand.at = 0.5
    assert throughput.extra_credit() == 2_500


def test_does_not_judge_by_a_moment():
    hand = Hand()
    throughput = Throughput(hand)
    throughput.count(1_000)
    hand.at = 0.01
    assert throughput.extra_credit() == 0


def test_remembers_the_best_of_late_and_forgets_it_bit_by_bit():
    hand = Hand()
    throughput = Throughput(hand)
    throughput.count(1_000)
    hand.at = 0.1
    assert throughput.extra_credit() == 2_500
    throughput.count(10)
    hand.at = 10.1
    assert throughput.extra_credit() == 1_250
    hand.at = 200.0
    assert throughput.extra_credit() == 0


def test_expects_nothing_once_it_was_too_optimistic():
    hand = Hand()
    throughput = Throughput(hand)
    throughput.count(1_000)
    hand.at = 0.1
    assert throughput.extra_credit() == 2_500
    throughput.reset()
    assert throughput.extra_credit() == 0
