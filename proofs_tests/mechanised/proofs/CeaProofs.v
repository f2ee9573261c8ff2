(** Marks instead of labels: the same complex events (CORE App. A). *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs Mechanised.CompileProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Compile.

Section Marked.
  Context {D : Type} (A : vcea D) (evs : stream D).

  Lemma step_marked_some t m p y : step (marked A) t m (Some p) y <->
    exists L q, m = mark_of L /\ y = Some q /\ step A t L p q.
  Proof.
    unfold step. split.
    - intros (P & H & T). cbn in H. members. destruct H as [H|H].
      + members. destruct H as ([[[p' P'] L] q] & E & I). break. eauto 7.
      + members. destruct H as ([[[p' P'] L] q] & E & I). break.
    - intros (L & q & -> & -> & P & I & T). exists P. split; auto. cbn. members. left.
      members. now exists (p, P, L, q).
  Qed.

  Lemma step_marked_none t m y : step (marked A) t m None y <->
    exists L p q, m = mark_of L /\ y = Some q /\ initial A p = true /\ step A t L p q.
  Proof.
    unfold step, from_initial. split.
    - intros (P & H & T). cbn in H. unfold from_initial in H. members. destruct H as [H|H].
      + members. destruct H as ([[[p' P'] L] q] & E & I). break.
      + members. destruct H as ([[[p' P'] L] q] & E & I). members. break.
        exists L, p', q. repeat split; auto. now exists P.
    - intros (L & p & q & -> & -> & N & P & I & T). exists P. split; auto. cbn. unfold from_initial.
      members. right. members. exists (p, P, L, q). now members.
  Qed.

  Lemma path_marked ms : forall i p y, path (marked A) evs i (Some p) ms y <->
    exists Ls q, ms = map mark_of Ls /\ y = Some q /\ path A evs i p Ls q.
  Proof.
    induction ms as [|m ms IH]; intros i p y.
    - rewrite path_nil. split; [intros <-; exists [], p; now rewrite path_nil|].
      intros ([|L Ls] & q & E & -> & H); [|easy]. apply path_nil in H. now subst.
    - rewrite path_cons. split.
      + intros (t & x & E & H & R). apply step_marked_some in H as (L & q & -> & -> & H).
        apply IH in R as (Ls & r & -> & -> & R). exists (L :: Ls), r. repeat split; auto.
        apply path_cons. eauto.
      + intros ([|L Ls] & r & E & -> & H); [easy|]. injection E; intros; subst.
        rewrite path_cons in H. destruct H as (t & q & E' & H & R). exists t, (Some q).
        repeat split; auto; [apply step_marked_some; eauto 6 | apply IH; eauto].
  Qed.

  Lemma accepted_marked i ms : accepted (marked A) evs i ms <->
    exists Ls, ms = map mark_of Ls /\ accepted A evs i Ls.
  Proof.
    split.
    - intros (N & [p|] & y & I & F & H); [easy|]. destruct ms as [|m ms]; [easy|].
      rewrite path_cons in H. destruct H as (t & x & E & H & R).
      apply step_marked_none in H as (L & p & q & -> & -> & I' & H).
      apply path_marked in R as (Ls & r & -> & -> & R). exists (L :: Ls). split; auto.
      eapply accepted_cons; eassumption.
    - intros (Ls & -> & N & p & q & I & F & H). split; [now destruct Ls|].
      destruct Ls as [|L Ls]; [easy|]. exists None, (Some q). repeat split; auto. cbn.
      rewrite path_cons in H. apply path_cons. destruct H as (t & r & E & H & R). exists t, (Some r).
      repeat split; auto; [apply step_marked_none; eauto 9 | apply path_marked; eauto].
  Qed.
End Marked.

Lemma positions_marks Ls : forall i,
  filter (fun k => negb (is_none (nth (k - i) Ls none))) (seq i (length Ls)) =
  taken_from i (map mark_of Ls).
Proof.
  induction Ls as [|L Ls IH]; intros i; cbn; auto. rewrite Nat.sub_diag.
  rewrite <- (IH (S i)). unfold mark_of.
  assert (E : filter (fun k => negb (is_none (match k - i with 0 => L | S m => nth m Ls none end)))
      (seq (S i) (length Ls)) = filter (fun k => negb (is_none (nth (k - S i) Ls none))) (seq (S i) (length Ls))).
  { apply filter_ext_in. intros k K. apply in_seq in K. now replace (k - i) with (S (k - S i)) by lia. }
  rewrite E. destruct (is_none L); reflexivity.
Qed.

Lemma complex_marks i Ls : complex (Valuation i Ls) = of_marks i (map mark_of Ls).
Proof.
  unfold complex, of_marks, positions, where_, last_position, stop; cbn. rewrite map_length, <- positions_marks.
  f_equal. apply filter_ext_in. intros k K. apply in_seq in K. unfold taken, at_position; cbn.
  now rewrite (proj2 (Nat.leb_le i k)) by lia.
Qed.

Theorem marked_correct {D} (evs : stream D) phi C : regular phi = true ->
  answer evs phi C <-> exists i ms, accepted (marked (compile phi)) evs i ms /\ C = of_marks i ms.
Proof.
  intros R. unfold answer. split.
  - intros ([i Ls] & H & ->). exists i, (map mark_of Ls). split; [|apply complex_marks].
    apply accepted_marked. exists Ls. split; auto. now apply compile_correct.
  - intros (i & ms & H & ->). apply accepted_marked in H as (Ls & -> & H).
    exists (Valuation i Ls). split; [now apply compile_correct | symmetry; apply complex_marks].
Qed.
