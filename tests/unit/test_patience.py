"""An expression that would be searched for ever is given up."""

from __future__ import annotations

import signal
import time

import pytest

from webcrawler.exceptions import JobError
from webcrawler.patience import PatientPattern


def test_it_finds_what_an_expression_finds():
    pattern = PatientPattern("/[13]$")
    assert pattern.search("http://a.test/1")
    assert not pattern.search("http://a.test/2")


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(?P<n>", "(" * 5000])
def test_what_is_none_is_refused(text):
    with pytest.raises(JobError, match="is no regular expression"):
        PatientPattern(text)


def test_one_that_takes_for_ever_is_given_up():
    before = signal.getsignal(signal.SIGALRM)
    pattern = PatientPattern("(a+)+$", secs=0.05)
    started_at = time.thread_time()
    with pytest.raises(JobError, match=r"\(a\+\)\+\$ takes more than 0.05 s on http://a.test/aaa"):
        pattern.search("http://a.test/" + "a" * 100 + "!")
    assert time.thread_time() - started_at < 10
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert pattern.search("http://a.test/aaa")
