-- Macros of the report whatif: tokens that a stream gets of a step. Rules in docs/whatif.md.

-- Rate of acceptance by position, of drafts, and how it is known.
CREATE OR REPLACE MACRO whatif_survival(told, longest) AS TABLE
WITH inputs AS (
    FROM told_inputs(told)
),

model AS (
    SELECT
        max(value) FILTER (WHERE input = 'accepted_per_draft') AS accepted_per_draft,
        max(value) FILTER (WHERE input = 'acceptance_beyond') AS rate_beyond,
        max(kind) FILTER (WHERE input = 'acceptance_beyond') AS beyond_kind,
        max(place) FILTER (WHERE input = 'acceptance') AS positions,
        arg_max(value, place) FILTER (WHERE input = 'acceptance') AS last_acceptance,
        max(kind) FILTER (WHERE input = 'acceptance') AS acceptance_kind,
        greatest(1, max(value) FILTER (WHERE input = 'k')) AS drafted
    FROM inputs
)

SELECT
    position,
    coalesce(
        value, last_acceptance * rate_beyond ** (position - positions),
        -- One rate for all positions, where no more is known.
        CASE WHEN accepted_per_draft >= 0
            THEN least(equal_rate(accepted_per_draft, coalesce(drafted, 1)), 1) ** position
        END
    ) AS rate,
    coalesce(
        kind, beyond_kind, if(position = 1, 'modelled', NULL)
    ) AS kind,
    coalesce(position > positions AND beyond_kind = 'assumed' AND acceptance_kind <> 'assumed', false) AS is_guess
FROM (SELECT unnest(range(1, longest + 1)) AS position)
CROSS JOIN model
LEFT JOIN inputs ON inputs.input = 'acceptance' AND inputs.place = position;

-- Expected tokens of each K and half of their range.
CREATE OR REPLACE MACRO whatif_yields(told, ks, concurrencies) AS TABLE
WITH model AS (
    SELECT
        max(value) FILTER (WHERE input = 'drafts') AS drafts,
        max(value) FILTER (WHERE input = 'acceptance_low') AS low,
        max(value) FILTER (WHERE input = 'acceptance_high') AS high,
        coalesce(max(value) FILTER (WHERE input = 'covered'), 1) AS covered
    FROM told_inputs(told)
),

asked AS (
    SELECT DISTINCT k
    FROM whatif_points(told, ks, concurrencies)
    WHERE k > 0
)

SELECT
    k,
    1 + any_value(covered) * sum(rate) AS expected_tokens,
    -- As of the rates in whatif_inputs: 2 drafts of which all is accepted and 2 of which nothing is are added.
    any_value(drafts) AS n,
    sum(rate) AS accepted,
    (n * accepted + 2 * k) / (n + 4) AS widened,
    (n * sum((2 * position - 1) * rate) + 2 * k ** 2) / (n + 4) AS widened_square,
    any_value(covered) * (
        abs(accepted - widened) + 1.96 * sqrt((widened_square - widened ** 2) / (n + 4))
    ) AS counted_error,
    any_value(covered) * coalesce(sum(rate) FILTER (WHERE is_guess), 0) AS guessed,
    -- Of a rate that is assumed the range holds both ends: it is as many times up as down.
    expected_tokens * (greatest(
        expected_tokens / (1 + any_value(covered) * sum(low ** position)),
        (1 + any_value(covered) * sum(high ** position)) / expected_tokens
    ) - 1) AS assumed_error,
    sqrt(
        coalesce(counted_error, 0) ** 2 + coalesce(assumed_error, 0) ** 2 + (whatif_doubt() * guessed) ** 2
    ) AS expected_error,
    CASE
        WHEN any_value(low) IS NOT NULL THEN 'acceptance'
        WHEN guessed > 0 THEN 'acceptance beyond the positions counted'
    END AS assumed_rates,
    arg_max(kind, position) AS kind
FROM asked
INNER JOIN whatif_survival(told, (SELECT max(k) FROM asked)) ON position <= k
CROSS JOIN model
GROUP BY k;
