(** What is proved, a definition each: [Theorems] has the proofs and says what they assume. *)

Require Import List NArith.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.
Require Import Mechanised.Query Mechanised.Automaton.
Require Import Mechanised.Evaluate Mechanised.EvaluateQuery Mechanised.Compile.

(** The evaluator is sound and complete for the table (CORE Table 2, SOCEL Table 1, FOUND Sec. 4). *)
Definition Evaluate_correct : Prop := forall D (S : stream D) phi V,
  In V (evaluate S phi) <-> V |=[S] phi.

(** So are its complex events, and each is there once. *)
Definition Answers_correct : Prop := forall D (S : stream D) phi C,
  In C (answers S phi) <-> answer S phi C.
Definition Answers_once : Prop := forall D (S : stream D) phi, NoDup (answers S phi).

(** The clauses FROM, PARTITION BY and CONSUME BY around it (CORE Sec. 2.2). *)
Definition Query_correct : Prop := forall D (q : query D) S C,
  In C (query_answers q S) <-> query_answer q S C.
Definition Query_once : Prop := forall D (q : query D) S, NoDup (query_answers q S).

(** A VCEA has the valuations of a formula, and linearly many states (CORE Thm. 2, without windows). *)
Definition Compile_correct : Prop := forall D (S : stream D) phi i Ls, regular phi = true ->
  Valuation i Ls |=[S] phi <-> accepted (compile phi) S i Ls.
Definition Compile_linear : Prop := forall D (phi : formula D),
  length (states (compile phi)) <= 2 * size phi.

(** With marks instead of labels it has the complex events (CORE App. A). *)
Definition Marked_correct : Prop := forall D (S : stream D) phi C, regular phi = true ->
  answer S phi C <-> exists i ms, accepted (marked (compile phi)) S i ms /\ C = of_marks i ms.
