-- Time of each phase of a step, on the device and on the host.
--
-- Answers: how long do forward, verify, sample and draft take in a step?
-- Grain: one row per (run, dp, rank, step, phase) that has activities or host time.
-- Columns:
--   run VARCHAR: run.
--   dp INTEGER: data-parallel engine.
--   rank INTEGER: rank; NULL where unknown.
--   step INTEGER: step.
--   phase VARCHAR: prepare, forward, verify, sample, draft or other.
--   kind VARCHAR: kind of the step.
--   start_ns BIGINT: start of its first activity; NULL where it has host time only.
--   n BIGINT: activities attributed to it.
--   sum_ns BIGINT: sum of their durations (work), ns.
--   busy_ns BIGINT: union of their intervals over all streams (wall), ns.
--   host_start_ns BIGINT: start of its first host scope, else of its first launch; NULL without.
--   host_dur_ns BIGINT: host time of its scopes; NULL where no scope names the phase.
--   phase_source VARCHAR: what decided: plugin, engine, span, kernels, graph or none.
-- Limits: attributed by launch and unclipped, so a phase may overhang its step's window.

SELECT
    step_phase.run,
    step_phase.dp,
    step_phase.rank,
    step_phase.step,
    step_phase.phase::VARCHAR AS phase,
    step.kind,
    step_phase.start_ns,
    step_phase.n,
    step_phase.sum_ns,
    step_phase.busy_ns,
    step_phase.host_start_ns,
    step_phase.host_dur_ns,
    step_phase.phase_source::VARCHAR AS phase_source
FROM step_phase
INNER JOIN step
    ON step.run = step_phase.run
    AND step.dp = step_phase.dp
    AND step.rank IS NOT DISTINCT FROM step_phase.rank
    AND step.step = step_phase.step
