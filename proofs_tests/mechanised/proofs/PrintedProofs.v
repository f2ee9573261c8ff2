(** One final state that is entered by taking; what goes wrong without (E6), and in LAST as printed (E7). *)

Require Import Mechanised.Tactics Mechanised.StrategyProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton.
Require Import Mechanised.Strategies Mechanised.Determinise Mechanised.Printed.

Section SingleFinal.
  Context {D : Type} (A : cea D).

  Lemma step_single t m x y : step (single_final A) t m x y <-> exists p q, x = Some p /\ step A t m p q /\
    (y = Some q \/ (y = None /\ m = Take /\ final A q = true)).
  Proof.
    unfold step. split.
    - intros (P & I & T). cbn in I. members. destruct I as [I|I].
      + members. destruct I as ([[[p P'] n] q] & E & I). break. eauto 8.
      + destruct I as ([[[p P'] n] q] & I & E).
        destruct n, (final A q) eqn:F; cbn in E; break. exists p, q. eauto 8.
    - intros (p & q & -> & (P & I & T) & [->|(-> & -> & F)]); exists P; split; auto; cbn; members.
      + left. members. now exists (p, P, m, q).
      + right. exists (p, P, Take, q). split; auto. rewrite F. now left.
  Qed.

  Lemma reaches_single s w : forall p, reaches (single_final A) s w (Some p) <-> reaches A s w p.
  Proof.
    revert w; induction s as [|t s IH]; intros [|m w] p;
      try (split; intros H; now apply reaches_length in H); rewrite ?reaches_nil, ?reaches_cons.
    - reflexivity.
    - split.
      + intros (x & H & K). apply step_single in K as (p' & q & -> & K & [E|[? _]]); break.
        exists p'. split; auto. now apply IH.
      + intros (p' & H & K). exists (Some p'). split; [now apply IH|]. apply step_single. eauto 6.
  Qed.

  Lemma output_single s w : output (single_final A) s w <-> output A s w.
  Proof.
    unfold output. split.
    - intros (w' & [q|] & -> & H & F); [easy|]. exists w'. destruct s as [|t s]; [now apply reaches_length in H|].
      rewrite reaches_cons in H. destruct H as (x & H & K).
      apply step_single in K as (p & q & -> & K & [|(_ & _ & F')]); [easy|].
      exists q. repeat split; auto. apply reaches_cons. exists p. split; auto. now apply reaches_single.
    - intros (w' & q & -> & H & F). exists w', None. repeat split; auto.
      destruct s as [|t s]; [now apply reaches_length in H|]. rewrite reaches_cons in H |- *.
      destruct H as (p & H & K). exists (Some p). split; [now apply reaches_single|].
      apply step_single. eauto 9.
  Qed.

  Lemma single_ends_by_taking : ends_by_taking (single_final A).
  Proof.
    intros x P m [q|] I F; [easy|]. cbn in I. members. destruct I as [I|I].
    - members. destruct I as ([[[p P'] n] q] & E & I). break.
    - destruct I as ([[[p P'] n] q] & I & E).
      destruct n, (final A q); cbn in E; break. reflexivity.
  Qed.

  Lemma single_listed : listed A -> listed (single_final A).
  Proof.
    intros [L L']. split.
    - intros [q|] I; [|easy]. right. members. eauto.
    - intros x P m [q|] I; [|now left]. right. cbn in I. members. exists q. split; auto. destruct I as [I|I].
      + members. destruct I as ([[[p P'] n] q'] & E & I). break. eauto.
      + destruct I as ([[[p P'] n] q'] & I & E). destruct n, (final A q'); cbn in E; break.
  Qed.

  Theorem nxt_of_any (dec : decidable_states A) s w : listed A ->
    selected Nxt A s w <-> recognises (nxt_machine (single_final A) (option_dec dec)) s w.
  Proof.
    intros L. rewrite <- nxt_correct.
    - unfold selected. now setoid_rewrite output_single.
    - now apply single_listed.
    - exact single_ends_by_taking.
  Qed.
End SingleFinal.

(** * Counterexamples *)

Definition any : predicate unit := fun _ => true.
Definition e6 : cea unit := Automaton nat (seq 0 2)
  [(0, any, Skip, 0); (0, any, Take, 1); (1, any, Skip, 1)] (Nat.eqb 0) (Nat.eqb 1).
Definition e7 : cea unit := Automaton nat (seq 0 3)
  [(0, any, Skip, 0); (0, any, Take, 2); (2, any, Skip, 2); (2, any, Take, 1)] (Nat.eqb 0) (Nat.eqb 1).
Definition event_ : event unit := Event 0%N tt.

Ltac list_states := split; [intros q I; apply Nat.eqb_eq in I as <-; cbn; auto |
  intros p P m q I; repeat (destruct I as [I|I]; [injection I as _ _ _ <-; cbn; auto|]); destruct I].
Lemma e6_listed : listed e6.
Proof. list_states. Qed.
Lemma e7_listed : listed e7.
Proof. list_states. Qed.

(** NXT with a final state that is entered by skipping: {1} is selected at the second event (E6). *)
Theorem printed_nxt_wrong : exists A (dec : decidable_states A) s w,
  listed A /\ selected Nxt A s w /\ ~ @printed_recognises unit A dec Nxt s w.
Proof.
  exists e6, Nat.eq_dec, [event_; event_], [Take; Skip].
  split; [exact e6_listed|]. split; [|intros (_ & _ & H); discriminate H].
  apply (nxt_of_any e6 Nat.eq_dec); [exact e6_listed|].
  split; [reflexivity|]. split; [now exists [Skip] | reflexivity].
Qed.

(** LAST of two events out of three: {1, 2} is selected (E7). *)
Theorem printed_last_wrong : exists A (dec : decidable_states A) s w,
  listed A /\ selected Last A s w /\ ~ @printed_recognises unit A dec Last s w.
Proof.
  exists e7, Nat.eq_dec, [event_; event_; event_], [Take; Take; Skip].
  split; [exact e7_listed|]. split; [|intros (_ & _ & H); discriminate H].
  apply (last_correct e7 Nat.eq_dec); [exact e7_listed|].
  split; [reflexivity|]. split; [now exists [Take; Skip] | reflexivity].
Qed.
