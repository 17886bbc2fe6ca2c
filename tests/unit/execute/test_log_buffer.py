"""The unsent lines and progress of one attempt: what is kept, what is dropped, and how fast lines are sent."""

from tickwork.execute.log.buffer import (
    LINE_COST,
    LONGEST_LINE,
    LONGEST_MESSAGE,
    MAX_UNSENT,
    PROGRESS_INTERVAL,
    RATE,
    LogBatch,
    LogBuffer,
)
from tickwork.model.worker_protocol import LogLine

FAR = 1000.0  # seconds: any allowance is full again


def texts(batch: LogBatch | None) -> list[str]:
    assert batch
    return [line.text for line in batch.lines]


def printed(*pieces: str) -> list[str]:
    buffer = LogBuffer()
    for piece in pieces:
        buffer.print(0, "stdout", piece)
    return texts(buffer.take_rest(0))


# Lines


def test_line_numbers_continue_over_batches():
    buffer = LogBuffer()
    buffer.log(1, "info", "a")
    buffer.log(2, "error", "b")
    first = buffer.take_batch(0.0)
    buffer.log(3, "info", "c")
    second = buffer.take_batch(1.0)
    assert first
    assert second
    assert [(line.at, line.level, line.text) for line in first.lines] == [(1, "info", "a"), (2, "error", "b")]
    assert (first.first, second.first, texts(second)) == (0, 2, ["c"])
    assert buffer.take_batch(2.0) is None


def test_the_oldest_lines_are_left_out_and_a_line_says_how_many():
    buffer = LogBuffer()
    for number in range(10_000):
        buffer.log(number, "info", f"{number:>64}")
    batch = buffer.take_batch(0.0)
    kept = MAX_UNSENT // (64 + LINE_COST)
    assert batch
    assert batch.size <= MAX_UNSENT + LINE_COST
    notice, *lines = batch.lines
    assert (
        notice.text
        == f"… {10_000 - kept:,} lines left out: more than could be sent, which is 256 KiB a second"
    )
    assert [line.at for line in lines] == list(range(10_000 - kept, 10_000))
    assert batch.first == 10_000 - kept - 1  # the notice has the number of the last dropped line


def test_the_notice_counts_one_line_as_one():
    buffer = LogBuffer()
    for _ in range(MAX_UNSENT // LONGEST_LINE):
        buffer.log(0, "info", "x" * LONGEST_LINE)
    assert (
        texts(buffer.take_batch(0.0))[0]
        == "… 1 line left out: more than could be sent, which is 256 KiB a second"
    )


def test_lines_are_sent_no_faster_than_the_rate_and_the_newest_are_kept():
    buffer = LogBuffer()
    seconds, sent = 20, 0
    for step in range(seconds * 10):
        for number in range(1_000):
            buffer.log(step, "info", f"{number:>36}")
        batch = buffer.take_batch(step / 10)
        sent += batch.size - LINE_COST if batch else 0
    assert RATE * (seconds - 1) <= sent <= RATE * seconds + MAX_UNSENT
    rest = buffer.take_rest(0)
    assert rest
    assert rest.lines[-1].text.strip() == "999"


def test_lines_over_the_rate_are_sent_later():
    buffer = LogBuffer()
    for sent in (7, 0):
        for _ in range(7):
            buffer.log(0, "info", "x" * LONGEST_LINE)
        batch = buffer.take_batch(0.0)
        assert len(batch.lines if batch else []) == sent
    assert buffer.has_more
    batch = buffer.take_batch(FAR)
    assert batch
    assert (batch.first, len(batch.lines), buffer.has_more) == (7, 7, False)


def test_a_clock_that_goes_back_gives_no_allowance():
    buffer = LogBuffer()
    buffer.take_batch(100.0)
    for _ in range(1_000):
        buffer.log(0, "info", "x")
    assert buffer.take_batch(50.0)
    for _ in range(1_000):
        buffer.log(0, "info", "x")
    batch = buffer.take_batch(50.0)
    assert batch is None or len(batch.lines) < 1_000


def test_a_dropped_notice_counts_for_all_lines_that_it_represents():
    child, buffer = LogBuffer(), LogBuffer()
    lines = 0
    for step in range(50):
        for _ in range(2_000):
            child.log(step, "info", "x" * 36)
            lines += 1
        batch = child.take_batch(FAR * (step + 1))
        assert batch
        buffer.add_batch(batch, clock_offset=7)
    batch = buffer.take_rest(0)
    assert batch
    assert batch.lines[-1].at == 49 + 7
    sent = sum(line.text.startswith("x") for line in batch.lines)
    dropped = [
        int(line.text.split()[1].replace(",", "")) for line in batch.lines if line.text.startswith("…")
    ]
    assert sent + sum(dropped) == lines


def test_times_of_copied_lines_do_not_go_back():
    buffer = LogBuffer()
    for at, clock_offset in ((10, 500), (20, 100), (600, 100)):
        buffer.add_batch(LogBatch(0, [LogLine(at, "info", "x")], None, 1), clock_offset)
    batch = buffer.take_rest(0)
    assert batch
    assert [line.at for line in batch.lines] == [510, 510, 700]


# The text of a line


def test_the_middle_of_a_long_line_is_cut_out():
    buffer = LogBuffer()
    buffer.log(0, "info", "a" * 10_000 + "b" * 10_000)
    (text,) = texts(buffer.take_rest(0))
    assert text.startswith("a" * 4_096 + " … 11,808 characters left out … b")
    assert text.endswith("b" * 4_096)


def test_nothing_is_cut_out_of_the_longest_line_allowed():
    assert printed("x" * LONGEST_LINE, "\n") == ["x" * LONGEST_LINE]


def test_the_middle_of_a_line_printed_in_pieces_is_cut_out():
    (text,) = printed("begin ", *["x" * 100] * 10_000, " end", "\n")
    left_out = 6 + 1_000_000 + 4 - LONGEST_LINE
    assert text.startswith("begin x")
    assert text.endswith("x end")
    assert f" … {left_out:,} characters left out … " in text


def test_nul_and_lone_surrogates_are_escaped():
    buffer = LogBuffer()
    buffer.log(0, "info", "a\0b\udcffc")
    buffer.print(0, "stdout", "\0\ud800\n")
    buffer.progress(0.5, "\0\udfff")
    batch = buffer.take_rest(0)
    assert texts(batch) == ["a\\x00b\\udcffc", "\\x00\\ud800"]
    assert batch
    assert batch.progress == (0.5, "\\x00\\udfff")


# Printed text


def test_pieces_become_lines():
    assert printed("a", " ", "b", "\n", "c\nd\n", "\n", "e") == ["a b", "c", "d", "", "e"]


def test_streams_do_not_mix_in_a_line():
    buffer = LogBuffer()
    buffer.print(0, "stdout", "out")
    buffer.print(0, "stderr", "err")
    buffer.print(0, "stdout", "put\n")
    batch = buffer.take_rest(0)
    assert batch
    assert [(line.level, line.text) for line in batch.lines] == [("stdout", "output"), ("stderr", "err")]


def test_an_unfinished_line_waits_for_its_end():
    buffer = LogBuffer()
    buffer.print(0, "stdout", "half")
    assert buffer.take_batch(0.0) is None
    buffer.print(0, "stdout", " done\n")
    assert texts(buffer.take_batch(1.0)) == ["half done"]


def test_a_progress_bar_is_logged_in_its_last_state():
    assert printed("\r 1%", "\r 50%", "\r100%", "\n") == ["100%"]
    assert printed("1%\r", "100%\r", "\n") == ["100%"]
    assert printed("windows\r\n") == ["windows"]
    assert printed(*(f"\r{n:>100}" for n in range(1_000)), "\n") == [f"{999:>100}"]


# Progress


def test_only_the_newest_progress_is_sent():
    buffer = LogBuffer()
    for number in range(100):
        buffer.progress(number / 100, f"step {number}")
    batch = buffer.take_batch(0.0)
    assert batch == LogBatch(0, [], (0.99, "step 99"), LINE_COST)
    assert buffer.take_batch(FAR) is None


def test_progress_is_sent_twice_a_second_at_most_and_at_the_end():
    buffer = LogBuffer()
    sent = []
    for step in range(100):
        buffer.progress(step / 100, None)
        if batch := buffer.take_batch(step / 10):
            sent.append(batch.progress)
    assert len(sent) <= 100 / 10 / PROGRESS_INTERVAL + 1
    buffer.progress(1, "done")
    last = buffer.take_rest(0)
    assert last
    assert last.progress == (1.0, "done")


def test_a_progress_message_is_converted_to_text_and_shortened():
    buffer = LogBuffer()
    buffer.progress(0, "x" * 1_000)
    batch = buffer.take_rest(0)
    assert batch
    assert batch.progress
    assert batch.progress[1] == "x" * (LONGEST_MESSAGE - 1) + "…"
    buffer.progress(True, 42)  # type: ignore[arg-type]
    batch = buffer.take_rest(0)
    assert batch
    assert batch.progress
    assert batch.progress == (1.0, "42")
    assert isinstance(batch.progress[0], float)
