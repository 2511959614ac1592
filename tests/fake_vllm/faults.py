"""What goes wrong on purpose: FAKE_VLLM="name,name=value,..." in the server's environment.

start-s=S             takes S seconds to be healthy (default 0.05)
step-ms=MS            length of a step (default 1)
exit-at-start         says why and ends with 1 before it listens
exit-text=TEXT        what it says then
never-healthy         keeps loading; nothing listens
health-503            listens, but /health never says so
die-at-step=N         the server ends in its Nth step
worker-dies-at-step=N rank 0 is killed in the Nth step; requests fail, /health is 500
request-500=N         all requests but the first N fail
request-500-text=TEXT  what they say
stream-error=N        the same, in the middle of the stream
start-profile-404, start-profile-500[=WORDS], start-profile-slow=S
stop-profile-slow=S   the traces take S seconds
stop-profile-500      no trace, and 500
stop-profile-hangup   the connection ends without an answer, the traces come
stop-profile-never    no answer, no trace
missing-rank=R        rank R writes no trace
truncated-rank=R      the trace of rank R ends in the middle
disk-full             the traces end in the middle, and only the log says so
ignore-sigterm        server and workers go on after SIGTERM and SIGINT
worker-ignores-sigterm  the workers alone do, and outlive the server
chatty=KIB            so much log at each start of a profile
"""

import os


class Faults(dict):
    """Faults that are on, each with its value ('' without one)."""

    def number(self, name, default):
        return float(self.get(name) or default)

    def is_rank(self, name, rank):
        return self.get(name) == str(rank)


def from_environment():
    words = filter(None, os.environ.get("FAKE_VLLM", "").split(","))
    return Faults((name, value) for name, _, value in (word.partition("=") for word in words))
