"""One attempt's unsent lines and progress: what is kept, what is left out, and how fast it goes."""

from tickwork.execute.log.buffer import (
    BETWEEN_PROGRESS,
    LINE_COST,
    LONGEST_LINE,
    LONGEST_MESSAGE,
    RATE,
    UNTOLD,
    LogBuffer,
    LogPage,
)
from tickwork.model.worker_protocol import LogLine

FAR = 1000.0  # seconds: any allowance is full again


def texts(page: LogPage | None) -> list[str]:
    assert page
    return [line.text for line in page.lines]


def printed(*pieces: str) -> list[str]:
    book = LogBuffer()
    for piece in pieces:
        book.print(0, "stdout", piece)
    return texts(book.last_page(0))


# Lines


def test_lines_are_numbered_through_all_pages():
    book = LogBuffer()
    book.log(1, "info", "a")
    book.log(2, "error", "b")
    first = book.tear_off(0.0)
    book.log(3, "info", "c")
    second = book.tear_off(1.0)
    assert first
    assert second
    assert [(line.at, line.level, line.text) for line in first.lines] == [(1, "info", "a"), (2, "error", "b")]
    assert (first.first, second.first, texts(second)) == (0, 2, ["c"])
    assert book.tear_off(2.0) is None


def test_the_oldest_lines_are_left_out_and_a_line_says_how_many():
    book = LogBuffer()
    for number in range(10_000):
        book.log(number, "info", f"{number:>64}")
    page = book.tear_off(0.0)
    kept = UNTOLD // (64 + LINE_COST)
    assert page
    assert page.size <= UNTOLD + LINE_COST
    mark, *lines = page.lines
    assert (
        mark.text == f"… {10_000 - kept:,} lines left out: more than could be sent, which is 256 KiB a second"
    )
    assert [line.at for line in lines] == list(range(10_000 - kept, 10_000))
    assert page.first == 10_000 - kept - 1  # the mark stands where the last of those was


def test_one_line_left_out_is_told_as_one():
    book = LogBuffer()
    for _ in range(UNTOLD // LONGEST_LINE):
        book.log(0, "info", "x" * LONGEST_LINE)
    assert (
        texts(book.tear_off(0.0))[0]
        == "… 1 line left out: more than could be sent, which is 256 KiB a second"
    )


def test_lines_go_out_no_faster_than_the_rate_and_the_newest_remain():
    book = LogBuffer()
    seconds, told = 20, 0
    for step in range(seconds * 10):
        for number in range(1_000):
            book.log(step, "info", f"{number:>36}")
        page = book.tear_off(step / 10)
        told += page.size - LINE_COST if page else 0
    assert RATE * (seconds - 1) <= told <= RATE * seconds + UNTOLD
    rest = book.last_page(0)
    assert rest
    assert rest.lines[-1].text.strip() == "999"


def test_what_is_held_back_by_the_rate_comes_later():
    book = LogBuffer()
    for told in (7, 0):
        for _ in range(7):
            book.log(0, "info", "x" * LONGEST_LINE)
        page = book.tear_off(0.0)
        assert len(page.lines if page else []) == told
    assert book.has_more
    page = book.tear_off(FAR)
    assert page
    assert (page.first, len(page.lines), book.has_more) == (7, 7, False)


def test_a_clock_that_goes_back_gives_no_allowance():
    book = LogBuffer()
    book.tear_off(100.0)
    for _ in range(1_000):
        book.log(0, "info", "x")
    assert book.tear_off(50.0)
    for _ in range(1_000):
        book.log(0, "info", "x")
    page = book.tear_off(50.0)
    assert page is None or len(page.lines) < 1_000


def test_a_mark_that_is_copied_and_left_out_counts_for_all_it_stands_for():
    child, book = LogBuffer(), LogBuffer()
    lines = 0
    for step in range(50):
        for _ in range(2_000):
            child.log(step, "info", "x" * 36)
            lines += 1
        page = child.tear_off(FAR * (step + 1))
        assert page
        book.copy(page, ahead=7)
    page = book.last_page(0)
    assert page
    assert page.lines[-1].at == 49 + 7
    told = sum(line.text.startswith("x") for line in page.lines)
    marks = [int(line.text.split()[1].replace(",", "")) for line in page.lines if line.text.startswith("…")]
    assert told + sum(marks) == lines


def test_lines_that_are_copied_do_not_go_back_in_time():
    book = LogBuffer()
    for at, ahead in ((10, 500), (20, 100), (600, 100)):
        book.copy(LogPage(0, [LogLine(at, "info", "x")], None, 1), ahead)
    page = book.last_page(0)
    assert page
    assert [line.at for line in page.lines] == [510, 510, 700]


# What is in a line


def test_of_a_long_line_the_middle_is_cut_out():
    book = LogBuffer()
    book.log(0, "info", "a" * 10_000 + "b" * 10_000)
    (text,) = texts(book.last_page(0))
    assert text.startswith("a" * 4_096 + " … 11,808 characters left out … b")
    assert text.endswith("b" * 4_096)


def test_nothing_is_cut_out_of_the_longest_line_allowed():
    assert printed("x" * LONGEST_LINE, "\n") == ["x" * LONGEST_LINE]


def test_a_line_that_never_ends_is_cut_likewise():
    (text,) = printed("begin ", *["x" * 100] * 10_000, " end", "\n")
    left_out = 6 + 1_000_000 + 4 - LONGEST_LINE
    assert text.startswith("begin x")
    assert text.endswith("x end")
    assert f" … {left_out:,} characters left out … " in text


def test_nul_and_halves_of_characters_are_made_harmless():
    book = LogBuffer()
    book.log(0, "info", "a\0b\udcffc")
    book.print(0, "stdout", "\0\ud800\n")
    book.progress(0.5, "\0\udfff")
    page = book.last_page(0)
    assert texts(page) == ["a\\x00b\\udcffc", "\\x00\\ud800"]
    assert page
    assert page.progress == (0.5, "\\x00\\udfff")


# Prints


def test_pieces_become_lines():
    assert printed("a", " ", "b", "\n", "c\nd\n", "\n", "e") == ["a b", "c", "d", "", "e"]


def test_streams_do_not_mix_in_a_line():
    book = LogBuffer()
    book.print(0, "stdout", "out")
    book.print(0, "stderr", "err")
    book.print(0, "stdout", "put\n")
    page = book.last_page(0)
    assert page
    assert [(line.level, line.text) for line in page.lines] == [("stdout", "output"), ("stderr", "err")]


def test_an_unfinished_line_waits_for_its_end():
    book = LogBuffer()
    book.print(0, "stdout", "half")
    assert book.tear_off(0.0) is None
    book.print(0, "stdout", " done\n")
    assert texts(book.tear_off(1.0)) == ["half done"]


def test_a_bar_that_grows_counts_as_it_was_left():
    assert printed("\r 1%", "\r 50%", "\r100%", "\n") == ["100%"]
    assert printed("1%\r", "100%\r", "\n") == ["100%"]
    assert printed("windows\r\n") == ["windows"]
    assert printed(*(f"\r{n:>100}" for n in range(1_000)), "\n") == [f"{999:>100}"]


# Progress


def test_only_the_newest_progress_is_told():
    book = LogBuffer()
    for number in range(100):
        book.progress(number / 100, f"step {number}")
    page = book.tear_off(0.0)
    assert page == LogPage(0, [], (0.99, "step 99"), LINE_COST)
    assert book.tear_off(FAR) is None


def test_progress_is_told_twice_a_second_at_most_and_at_the_end():
    book = LogBuffer()
    told = []
    for step in range(100):
        book.progress(step / 100, None)
        if page := book.tear_off(step / 10):
            told.append(page.progress)
    assert len(told) <= 100 / 10 / BETWEEN_PROGRESS + 1
    book.progress(1, "done")
    last = book.last_page(0)
    assert last
    assert last.progress == (1.0, "done")


def test_a_message_is_short_text_whatever_it_was():
    book = LogBuffer()
    book.progress(0, "x" * 1_000)
    page = book.last_page(0)
    assert page
    assert page.progress
    assert page.progress[1] == "x" * (LONGEST_MESSAGE - 1) + "…"
    book.progress(True, 42)  # type: ignore[arg-type]
    page = book.last_page(0)
    assert page
    assert page.progress
    assert page.progress == (1.0, "42")
    assert isinstance(page.progress[0], float)
