(** The theorems of [Statements], and what each assumes: nothing. *)

Require Import Mechanised.Statements.
Require Mechanised.EvaluateProofs Mechanised.QueryProofs.

Theorem evaluate_correct : Evaluate_correct.
Proof. intros D S phi. exact (EvaluateProofs.evaluate_correct phi S). Qed.
Print Assumptions evaluate_correct.

Theorem answers_correct : Answers_correct.
Proof. exact @EvaluateProofs.answers_correct. Qed.
Print Assumptions answers_correct.

Theorem answers_once : Answers_once.
Proof. exact @EvaluateProofs.answers_once. Qed.
Print Assumptions answers_once.

Theorem query_correct : Query_correct.
Proof. exact @QueryProofs.query_answers_correct. Qed.
Print Assumptions query_correct.

Theorem query_once : Query_once.
Proof. exact @QueryProofs.query_answers_once. Qed.
Print Assumptions query_once.
