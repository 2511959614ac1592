"""What all views share: the choice and its address, and what is said where there is no database."""


def test_a_link_brings_its_choice_with_it(view):
    page = view(run="vllm_cpu_tp2_draft", rank=1, phase="draft")
    assert page.selectbox(key="choice_run").value == "vllm_cpu_tp2_draft"
    assert page.selectbox(key="choice_rank").value == "1"
    assert page.selectbox(key="choice_phase").value == "draft"


def test_a_choice_goes_into_the_address(view):
    page = view(run="baseline")
    page.selectbox(key="choice_rank").select("1").run()
    assert page.query_params["run"] == "baseline"
    assert page.query_params["rank"] == "1"


def test_what_a_run_does_not_have_is_left_out_of_a_link_with_a_message(view):
    page = view(run="baseline", rank=7, kind="nonsense")
    assert page.selectbox(key="choice_rank").value == ""
    assert [message.value.replace("\\", "") for message in page.warning] == [
        "Rank 7: there is none here, so it is left out.",
        "Kind of step nonsense: there is none here, so it is left out.",
    ]
    assert "rank" not in page.query_params


def test_without_a_database_the_page_says_what_to_run(view, tmp_path):
    page = view(database=tmp_path / "none.duckdb")
    assert "tracekit ingest PATH" in page.error[0].value.replace("\\", "")
