(** The theorems of [Statements], and what each assumes: nothing. *)

Require Import Mechanised.Statements.
Require Mechanised.EvaluateProofs Mechanised.QueryProofs.
Require Mechanised.CompileProofs Mechanised.CeaProofs.

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

Theorem compile_correct : Compile_correct.
Proof. intros D S phi i Ls R. exact (CompileProofs.compile_correct S phi R i Ls). Qed.
Print Assumptions compile_correct.

Theorem compile_linear : Compile_linear.
Proof. exact @CompileProofs.compile_linear. Qed.
Print Assumptions compile_linear.

Theorem marked_correct : Marked_correct.
Proof. exact @CeaProofs.marked_correct. Qed.
Print Assumptions marked_correct.
