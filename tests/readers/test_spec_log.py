import pytest

from tracekit.readers.spec_log import read_acceptance

RATES = "0.696, 0.370, 0.196"
COUNTS = "Accepted: 58 tokens, Drafted: 95 tokens"
SERVER = "(APIServer pid=7) INFO 11-29 12:03:32 [metrics.py:120] "
OLD = "INFO 07-09 03:15:05 [metrics.py:82] SpecDecoding metrics: Draft acceptance rate: 61.1%, "
NEW = (
    f"{SERVER}SpecDecoding metrics: Mean acceptance length: 2.26, Accepted throughput: 22.34 "
    f"tokens/s, Drafted throughput: 36.58 tokens/s, {COUNTS}, Per-position acceptance rate: "
    f"{RATES}, Avg Draft acceptance rate: 61.1%"
)
BATCH = (
    "[2026-01-02 03:04:05{place}] Decode batch{dot} #running-req: {running}, #token: 1999, "
    "token usage: 0.01, {accept}cuda graph: True, gen throughput (token/s): 93.12, #queue-req: 0"
)
DIFFUSION = (
    f"{SERVER}DiffusionDecoding metrics: Committed token throughput: 3.10 tokens/s, Mean denoising "
    "steps per canvas: 4.00, Mean tokens committed per denoising step: 2.26, Committed: 58 tokens, "
    "Denoising steps: 95, Canvas positions evaluated: 95"
)
FIGURES = "drafts, n_drafted, n_accepted, mean_acceptance_length, position_rates"
NGRAM = (46, 95, 58, 2.26, [0.696, 0.370, 0.196])


def old(mean, rates=RATES, counts=COUNTS):
    return f"{OLD}Mean acceptance length: {mean}, {counts}, Per-position acceptance rate: {rates}"


def batch(accept="accept len: 3.05, accept rate: 0.68, ", place="", dot=",", running=4):
    return BATCH.format(accept=accept, place=place, dot=dot, running=running)


def read(folder, text, windows=None):
    folder.read(read_acceptance, "server_log", {"server.log": f"{text}\n"}, windows)


@pytest.mark.parametrize(
    "text",
    [NEW, f"\x1b[36m{NEW}\x1b[0m\r", old("2.26"), old("1.26")],
    ids=["0.10.2 on", "coloured", "0.9", "0.8.5, without the bonus token"],
)
def test_means_have_the_bonus_token_whoever_wrote_them(folder, text):
    read(folder, f"{SERVER}hello\n{text}")
    assert folder.rows(f"SELECT {FIGURES} FROM spec_sample") == [NGRAM]
    assert folder.rows("SELECT engine, dp, acceptance_rate FROM spec_sample") == [
        ("vllm", 0, 58 / 95)
    ]
    assert folder.losses() == {}


@pytest.mark.parametrize(
    ("counts", "rate"),
    [(COUNTS, 58 / 95), ("Accepted: 0 tokens, Drafted: 0 tokens", None)],
)
def test_the_first_lines_of_all_have_counts_alone(folder, counts, rate):
    read(folder, f"{OLD.replace('61.1', '61.1' if rate else 'nan')}{counts}")
    query = (
        "SELECT acceptance_rate, mean_acceptance_length, drafts, position_rates FROM spec_sample"
    )
    assert folder.rows(query) == [(rate, None, None, None)]
    assert folder.losses() == {}


@pytest.mark.parametrize(
    ("mean", "accepted", "drafted", "rates", "drafts"),
    [
        ("1.97", 121, 375, "0.408, 0.304, 0.256", 125),
        ("2.12", 64, 171, "0.526, 0.333, 0.263", 57),
        ("4.00", 90, 90, "1.000, 1.000, 1.000", 30),
        ("2.51", 20_000, 39_735, "0.755, 0.503, 0.252", 13_245),
        ("1.00", 0, 90, "0.000, 0.000, 0.000", None),
        ("1.00", 0, 90, "0.000", 90),
        ("1.01", 1, 375, "0.008, 0.000, 0.000", None),
    ],
)
def test_drafts_are_told_where_the_digits_suffice(folder, mean, accepted, drafted, rates, drafts):
    counts = f"Accepted: {accepted} tokens, Drafted: {drafted} tokens"
    read(folder, old(mean, rates, counts))
    assert folder.rows("SELECT drafts FROM spec_sample") == [(drafts,)]
    assert folder.losses() == {}


@pytest.mark.parametrize(
    ("text", "dp", "running", "mean", "rate"),
    [
        (batch(), 0, 4, 3.05, 0.68),
        (batch(place=" DP1 TP0"), 1, 4, 3.05, 0.68),
        (batch(dot="."), 0, 4, 3.05, 0.68),
        (batch(dot=" [1234],"), 0, 4, 3.05, 0.68),
        (batch("accept len: 2.00, ", running=1), 0, 1, 2.0, None),
        (batch("accept len: 3.05, accept rate: 0.68, block accept len: 2.1, "), 0, 4, 3.05, 0.68),
    ],
)
def test_decode_batches_of_sglang(folder, text, dp, running, mean, rate):
    read(folder, text)
    query = "SELECT dp, n_running, mean_acceptance_length, acceptance_rate, engine FROM spec_sample"
    assert folder.rows(query) == [(dp, running, mean, rate, "sglang")]
    assert folder.rows(f"SELECT count(*) FROM spec_sample WHERE coalesce({FIGURES[:6]}) > 0") == [
        (0,)
    ]
    assert folder.losses() == {}


@pytest.mark.parametrize("text", [DIFFUSION, batch(""), f"{SERVER}accept len: 3.05, is good"])
def test_other_lines_are_no_samples_and_no_loss(folder, text):
    read(folder, text)
    assert folder.rows("FROM spec_sample") == []
    assert folder.losses() == {}


@pytest.mark.parametrize(
    "bad",
    [
        NEW[:120],
        NEW[: NEW.index("Drafted:") + 12],
        old("2.26")[:-3],
        old("2.26")[: -len(", 0.196")],
        old("2.26").replace("Accepted: 58", "Accepted: 580"),
        old("7.26"),
        old("2.26").replace(f", Per-position acceptance rate: {RATES}", ""),
        batch()[: batch().index("accept rate") + 15],
        batch("accept len: 0.30, "),
        batch("accept len: 3.05, accept rate: 6.80, "),
    ],
    ids=lambda text: text[-30:],
)
def test_garbled_lines_are_counted_and_spoil_no_other(folder, bad):
    read(folder, f"{NEW}\n{bad}\n{batch()}")
    assert folder.rows("SELECT engine FROM spec_sample ORDER BY at_byte") == [
        ("vllm",),
        ("sglang",),
    ]
    assert folder.losses() == {"line on drafts not understood": 1}
    ((example,),) = folder.rows("SELECT example FROM ledger")
    assert example.startswith(f"byte {len(NEW) + 1}: ")


def test_two_processes_may_write_into_one_line(folder):
    engine = "(EngineCore_DP1 pid=9) INFO 07-09 03:15:05 "
    read(folder, engine + NEW[len(SERVER) :] + NEW + batch(place=" DP1")[:60] + batch(running=2))
    query = "SELECT engine, dp, n_running FROM spec_sample ORDER BY ALL"
    assert folder.rows(query) == [("sglang", 0, 2), ("vllm", 1, None), ("vllm", 1, None)]


def test_lines_belong_to_the_window_they_begin_in(folder):
    part = {"path": "server.log", "from_byte": len(NEW) + 1, "to_byte": 2 * len(NEW)}
    read(folder, "\n".join([NEW] * 3), [{"name": "a", "log": part}])
    assert folder.rows("SELECT window_name FROM spec_sample ORDER BY at_byte") == [
        (None,),
        ("a",),
        (None,),
    ]
