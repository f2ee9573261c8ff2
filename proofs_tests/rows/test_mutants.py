"""A wrong version of each clause: the hand-computed tables kill every one."""

from __future__ import annotations

from cerlab.rows.machine import Search
from proofs_tests.mutants.driver import Mutant, kills, mutant
from proofs_tests.rows.judges import judge
from proofs_tests.rows.mutants_of_errors import OF_ERRORS
from proofs_tests.rows.mutants_of_patterns import OF_PATTERNS
from proofs_tests.rows.mutants_of_reading import OF_READING
from proofs_tests.rows.mutants_of_results import OF_RESULTS
from proofs_tests.rows.mutants_of_values import OF_VALUES


def merged_by_state_and_row(self: Search, q: int, row: int) -> tuple[int, int, None]:
    """A failure holds for every mapping (5.7)."""
    return q, row, None


SEARCH = judge("rows-contexts", evaluator="search")
OF_SEARCH = [mutant(SEARCH, Search, "_place", merged_by_state_and_row)]
MUTANTS: list[Mutant] = [
    *(*OF_READING, *OF_PATTERNS, *OF_VALUES, *OF_RESULTS, *OF_ERRORS, *OF_SEARCH)
]

OF_CLAUSES = {
    "1.1": "null_is_zero",
    "1.2": "null_keys_apart partitions_from_the_last",
    "1.3": "never_descending nulls_always_last ties_in_reverse",
    "1.4": "numbers_go_on_over_partitions",
    "2.1": "every_name_in_upper_case every_name_as_it_stands",
    "2.2": "columns_but_for_case the_first_of_two the_first_column_for_an_unknown_one",
    "2.3": "unions_of_one no_duplicate-variable",
    "2.4": "the_input_before_variables only_the_alias_of_the_input",
    "3.1": "one_of_each_spelling in_the_order_of_the_standard",
    "3.2": "all_rows_omit_empty_matches",
    "3.3": "skip_to_is_to_the_first always_one_row",
    "3.4": "undefined_is_false no_unknown-variable no_duplicate-variable",
    "3.5": "keys_of_any_input",
    "3.6": "items_unread items_keep_their_names",
    "4.1": "alternation_binds_tighter quantifiers_bind_looser",
    "4.2": "at_most_is_exactly any_bounds at_least_one at_most_one_needed no_option",
    "4.3": "permute_in_reverse permute_once_each",
    "4.4": "permute_is_reserved",
    "5.1": "excluded_rows_unseen",
    "5.2": "null_holds start_anywhere start_of_the_match end_before_the_last_row "
    "empty_takes_nothing_only_at_first sequence_from_the_right alternation_prefers_right "
    "exclusion_forgotten exclusion_within_exclusion_shown always_greedy always_reluctant",
    "5.3": "an_empty_iteration_ends_the_loop",
    "5.4": "longest a_match_begins_after_the_last_row",
    "5.5": "possessive alternation_is_ordered_choice alternation_prefers_longer",
    "5.6": "empty_iterations_are_rejected",
    "5.7": "merged_by_state_and_row",
    "6.0": "row_under_test_unmapped number_of_the_last_match labels_are_running",
    "6.1": "aggregates_are_final of_all_variables",
    "6.2": "column_of_the_current_row column_of_the_first_row column_of_the_final_row",
    "6.3": "columns_of_their_variable no_mixed-variables",
    "6.4": "last_is_first offsets_count_from_1 nulls_do_not_count",
    "6.5": "prev_is_next steps_stay_in_the_match steps_among_rows_of_the_variable "
    "steps_from_the_current_row step_drops_the_inner_call",
    "6.6": "count_counts_nulls sum_is_0 avg_is_of_rows min_is_max aggregates_are_running",
    "6.7": "classifier_of_the_final_row classifier_names_the_union number_from_0",
    "6.8": "no_final-in-define modes_anywhere",
    "6.9": "no_nesting offsets_unread",
    "6.10": "two_valued_not strict_and strict_or null_equals_null is_false_of_null "
    "in_ignores_null case_takes_null",
    "6.11": "between_excludes_its_ends remainder_of_the_divisor zero_for_null all_kinds_compare",
    "7.1": "a_match_begins_after_the_last_row empty_matches_obey_the_skip_clause",
    "7.2": "always_past_the_last_row past_the_variable first_is_last last_is_first_row "
    "an_absent_variable_is_passed_over the_same_match_is_passed_over",
    "7.3": "empty_matches_take_no_number",
    "8.1": "empty_matches_hidden",
    "8.2": "excluded_rows_shown empty_matches_shown",
    "8.3": "unmatched_rows_hidden unmatched_rows_of_matches_shown no_exclusion-unmatched",
    "8.4": "columns_as_duckdb_has_them no_duplicate-column no_no-columns",
    "8.5": "partitions_from_the_last",
    "8.6": "sums_are_doubles",
    "9.1": "within_is_inclusive within_of_the_last_step within_admits_null no_within-order",
    "10.1": "any_number_of_arguments no_unknown-variable no_no-columns",
    "10.2": "places_of_expressions no_name_is_near",
    "10.3": "permute_of_nine distinct_is_dropped filter_is_dropped window_is_dropped",
    "11.1": "possessive",
    "11.2": "empty_iterations_are_rejected",
    "11.3": "undefined_is_false",
    "11.4": "classifier_is_empty_text",
    "11.5": "empty_matches_obey_the_skip_clause",
    "11.6": "first_sees_the_whole_match",
    "11.7": "row_under_test_unmapped",
    "11.8": "labels_are_running labels_beyond_the_test",
    "11.9": "no_exclusion-unmatched",
    "11.10": "columns_as_duckdb_has_them",
    "11.11": "any_bounds",
    "11.12": "every_name_as_it_stands every_name_in_upper_case",
    "11.13": "within_is_inclusive",
    "11.14": "unions_have_no_row",
    "11.15": "nulls_first_with_desc",
    "11.16": "without_order_by_sorted",
    "11.17": "division_truncates",
    "11.18": "permute_in_reverse",
    "11.19": "unmatched_rows_measured",
    "11.20": "numbers_are_conditions",
    "11.21": "null_keys_apart",
    "12.1": "patterns_without_parentheses expressions_without_parentheses",
    "12.2": "columns_by_name",
}
"""The mutants of each numbered clause; 12.3 says what outside checks compare."""


def test_every_clause_has_a_mutant() -> None:
    counts = {1: 4, 2: 4, 3: 6, 4: 4, 5: 7, 7: 3, 8: 6, 9: 1, 10: 3, 11: 21, 12: 2}
    clauses = {f"{n}.{i + 1}" for n, count in counts.items() for i in range(count)}
    assert OF_CLAUSES.keys() == clauses | {f"6.{i}" for i in range(12)}
    ids = {name for names in OF_CLAUSES.values() for name in names.split()}
    assert ids == {each.id for each in MUTANTS}


def test_without_a_mutant_every_row_is_right() -> None:
    for each in {wrong.judge for wrong in MUTANTS}:
        assert all(each.case(n) for n in range(each.count))


test_the_tables_kill = kills(MUTANTS)
