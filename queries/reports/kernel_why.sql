-- Why a kernel or op counts as what it counts as.
--
-- Answers: which rule gave this name its class?
-- Grain: one row per name: the one that is exactly $name, else every name that contains it, longest time first.
-- Params:
--   $run VARCHAR: run to read.
--   $name VARCHAR: name, or a part of it; upper and lower case differ.
-- Columns:
--   name VARCHAR: name exactly as in the trace.
--   category VARCHAR: category; unknown where no rule matches.
--   impl VARCHAR: implementation; NULL where the rule names none.
--   rule VARCHAR: rule that won; NULL where none did.
--   weight_type VARCHAR: Marlin weight type; NULL elsewhere.
--   group_size INTEGER: Marlin group size; NULL elsewhere.
--   tile VARCHAR: Marlin tile MxNxK; NULL elsewhere.
--   n BIGINT: activities over all ranks and steps.
--   sum_ns BIGINT: their durations added up.
-- Limits: of a kernel whose name hides the collective (RCCL Generic) its arguments decide, not the name.

SELECT
    name,
    category,
    impl,
    rule,
    weight_type,
    group_size,
    tile,
    n,
    sum_ns
FROM kernel_names
WHERE run = $run AND contains(name, $name)
QUALIFY name = $name OR NOT bool_or(name = $name) OVER ()
ORDER BY sum_ns DESC, name
