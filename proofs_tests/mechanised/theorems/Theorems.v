(** The theorems of [Statements], and what each assumes: nothing. *)

Require Import Mechanised.Statements.
Require Mechanised.EvaluateProofs Mechanised.PrefixProofs Mechanised.QueryProofs.
Require Mechanised.CompileProofs Mechanised.ProductProofs Mechanised.CeaProofs.
Require Mechanised.WordProofs Mechanised.FiniteProofs Mechanised.SelectedProofs Mechanised.GlobalProofs Mechanised.PrintedProofs.
Require Mechanised.TecsProofs Mechanised.AlgorithmProofs Mechanised.EngineProofs Mechanised.CertificateProofs.

Theorem evaluate_correct : Evaluate_correct.
Proof. intros D evs phi. exact (EvaluateProofs.evaluate_correct phi evs). Qed.
Print Assumptions evaluate_correct.

Theorem answers_correct : Answers_correct.
Proof. exact @EvaluateProofs.answers_correct. Qed.
Print Assumptions answers_correct.

Theorem answers_once : Answers_once.
Proof. exact @EvaluateProofs.answers_once. Qed.
Print Assumptions answers_once.

Theorem prefix : Prefix.
Proof. exact @PrefixProofs.prefix. Qed.
Print Assumptions prefix.

Theorem count_correct : Count_correct.
Proof. exact @EvaluateProofs.count_correct. Qed.
Print Assumptions count_correct.

Theorem count_up_correct : Count_up_correct.
Proof. exact @EvaluateProofs.count_up_correct. Qed.
Print Assumptions count_up_correct.

Theorem query_correct : Query_correct.
Proof. exact @QueryProofs.query_answers_correct. Qed.
Print Assumptions query_correct.

Theorem query_once : Query_once.
Proof. exact @QueryProofs.query_answers_once. Qed.
Print Assumptions query_once.

Theorem compile_correct : Compile_correct.
Proof. exact @CompileProofs.compile_correct. Qed.
Print Assumptions compile_correct.

Theorem compile_linear : Compile_linear.
Proof. intros D phi. split; [apply CompileProofs.compile_well_formed | apply CompileProofs.compile_linear]. Qed.
Print Assumptions compile_linear.

Theorem and_correct : And_correct.
Proof. exact @ProductProofs.rows_and. Qed.
Print Assumptions and_correct.

Theorem all_correct : All_correct.
Proof. intros D evs phi psi A B W W' H H'. now apply ProductProofs.rows_all. Qed.
Print Assumptions all_correct.

Theorem unless_correct : Unless_correct.
Proof. intros D evs phi psi A B dec W H H'. now apply ProductProofs.rows_unless. Qed.
Print Assumptions unless_correct.

Theorem automata_of_formulas : Automata_of_formulas.
Proof. exact @ProductProofs.automata_of_formulas. Qed.
Print Assumptions automata_of_formulas.

Theorem marked_correct : Marked_correct.
Proof. exact @EngineProofs.marked_within. Qed.
Print Assumptions marked_correct.

Theorem next_total_order : Next_total_order.
Proof. exact WordProofs.next_total_order. Qed.
Print Assumptions next_total_order.

Theorem last_total_order : Last_total_order.
Proof. exact WordProofs.last_total_order. Qed.
Print Assumptions last_total_order.

Theorem determinised_correct : Determinised_correct.
Proof. exact @FiniteProofs.determinised_constructed. Qed.
Print Assumptions determinised_correct.

Theorem strict_correct : Strict_correct.
Proof. exact @FiniteProofs.strict_constructed. Qed.
Print Assumptions strict_correct.

Theorem nxt_correct : Nxt_correct.
Proof. exact @FiniteProofs.nxt_constructed. Qed.
Print Assumptions nxt_correct.

Theorem last_correct : Last_correct.
Proof. exact @FiniteProofs.last_constructed. Qed.
Print Assumptions last_correct.

Theorem max_correct : Max_correct.
Proof. exact @FiniteProofs.max_constructed. Qed.
Print Assumptions max_correct.

Theorem strategy_answers_correct : Strategy_answers_correct.
Proof. intros D evs phi x C R E. now apply SelectedProofs.strategy_answers_correct. Qed.
Print Assumptions strategy_answers_correct.

Theorem global_answers_correct : Global_answers_correct.
Proof. intros D evs phi width x C R E. now apply GlobalProofs.global_answers_correct. Qed.
Print Assumptions global_answers_correct.

Theorem global_answers_once : Global_answers_once.
Proof. exact @GlobalProofs.global_answers_once. Qed.
Print Assumptions global_answers_once.

Theorem printed_nxt_wrong : Printed_nxt_wrong.
Proof. exact PrintedProofs.printed_nxt_wrong. Qed.
Print Assumptions printed_nxt_wrong.

Theorem printed_last_wrong : Printed_last_wrong.
Proof. exact PrintedProofs.printed_last_wrong. Qed.
Print Assumptions printed_last_wrong.

Theorem unite_correct : Unite_correct.
Proof. exact TecsProofs.unite_correct. Qed.
Print Assumptions unite_correct.

Theorem insert_correct : Insert_correct.
Proof. exact TecsProofs.insert_correct. Qed.
Print Assumptions insert_correct.

Theorem merge_correct : Merge_correct.
Proof. exact TecsProofs.merge_correct. Qed.
Print Assumptions merge_correct.

Theorem algorithm2_correct : Algorithm2_correct.
Proof. exact TecsProofs.listed_correct. Qed.
Print Assumptions algorithm2_correct.

Theorem algorithm1_correct : Algorithm1_correct.
Proof. exact @AlgorithmProofs.outputs_correct. Qed.
Print Assumptions algorithm1_correct.

Theorem algorithm1_once : Algorithm1_once.
Proof. exact @AlgorithmProofs.outputs_once. Qed.
Print Assumptions algorithm1_once.

Theorem tecs_answers_correct : Tecs_answers_correct.
Proof. exact @EngineProofs.tecs_answers_correct. Qed.
Print Assumptions tecs_answers_correct.

Theorem tecs_answers_once : Tecs_answers_once.
Proof. exact @EngineProofs.tecs_answers_once. Qed.
Print Assumptions tecs_answers_once.

Theorem certificate_correct : Certificate_correct.
Proof. intros letters A B R H w i ms L. now apply (CertificateProofs.certificate_correct letters A B R). Qed.
Print Assumptions certificate_correct.
