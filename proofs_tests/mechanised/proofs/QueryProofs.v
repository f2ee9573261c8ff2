(** The clauses by lists are the clauses as they are defined. *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Evaluate.
Require Import Mechanised.Query Mechanised.EvaluateQuery.

Lemma in_substream {D} (q : query D) evs k i p t : In (p, t) (substream q evs k i) <->
  nth_error evs p = Some t /\ reads q t = true /\ i <= p /\ key q t = Some k.
Proof.
  unfold substream. members. split.
  - intros (p' & _ & H). destruct (nth_error evs p') as [u|] eqn:E; break.
    destruct (reads q u) eqn:R, (i <=? p') eqn:L, (key q u) as [k'|] eqn:K; cbn in H; break; try easy.
    destruct (N.eqb k k') eqn:N; break. reflect. subst. auto.
  - intros (E & R & L & K). exists p. rewrite E, R, K, N.eqb_refl, (proj2 (Nat.leb_le i p) L).
    pose proof (nth_error_length _ _ _ E). cbn. members. split; [lia | auto].
Qed.

Lemma answers_of_correct {D} (q : query D) evs k i C :
  In C (answers_of q evs k i) <-> answer_of q evs k i C.
Proof.
  unfold answers_of, answer_of. members. apply exists_iff; intro C'.
  rewrite answers_correct. intuition.
Qed.

(** An answer ends inside the stream and not before the position from which it is looked for. *)
Lemma answer_of_end {D} (q : query D) evs k i C : answer_of q evs k i C ->
  In k (keys q evs) /\ i <= end_ C < length evs.
Proof.
  intros (C' & (V & HV & ->) & ->). apply sat_proper in HV as [HR HL].
  apply proper_stop in HR. rewrite map_length in HL. cbn.
  set (s := substream q evs k i) in *.
  assert (J : last_position V < length s) by (unfold last_position; lia).
  destruct (nth_error_found s _ J) as [[p t] E].
  assert (nth (last_position V) (map fst s) 0 = p) as ->.
  { apply nth_error_nth. now rewrite nth_error_map, E. }
  apply nth_error_In, in_substream in E. destruct E as (E & R & L & K). split.
  - unfold keys. members. exists t. split; [eauto using nth_error_In | rewrite K; now left].
  - split; auto. eauto using nth_error_length.
Qed.

Lemma first_end_least Cs n C : In C Cs -> first_end Cs n <= end_ C.
Proof.
  unfold first_end. induction Cs as [|C' Cs IH]; cbn; [easy|]. intros [->|H]; [lia | specialize (IH H); lia].
Qed.

Lemma first_end_some Cs n : (exists C, In C Cs /\ end_ C < n) ->
  exists C, In C Cs /\ end_ C = first_end Cs n.
Proof.
  intros (C0 & H0 & L). pose proof (first_end_least _ n _ H0).
  assert (E : first_end Cs n = n \/ exists C, In C Cs /\ end_ C = first_end Cs n).
  { clear. unfold first_end. induction Cs as [|C Cs [IH|(C1 & I & E)]]; cbn; auto.
    - rewrite IH. destruct (Nat.min_dec (end_ C) n) as [M|M]; rewrite M; eauto.
    - rewrite <- E. destruct (Nat.min_dec (end_ C) (end_ C1)) as [M|M]; rewrite M; eauto. }
  destruct E; [lia | auto].
Qed.

Section Consumed.
  Variables (from : nat -> complex_event -> Prop) (list_from : nat -> list complex_event) (n : nat).
  Hypothesis same : forall i C, In C (list_from i) <-> from i C.
  Hypothesis ends : forall i C, from i C -> i <= end_ C < n.

  Lemma consumed_step rounds i C : In C (consumed list_from (S rounds) n i) <->
    (In C (list_from i) /\ end_ C = first_end (list_from i) n) \/
    (list_from i <> [] /\ In C (consumed list_from rounds n (S (first_end (list_from i) n)))).
  Proof.
    cbn [consumed]. destruct (list_from i) as [|C0 Cs]; [cbn; intuition|].
    set (l := C0 :: Cs). rewrite in_app_iff, filter_In, Nat.eqb_eq. intuition easy.
  Qed.

  Lemma consumed_sound rounds i C : In C (consumed list_from rounds n i) -> consuming from i C.
  Proof.
    revert i; induction rounds as [|rounds IH]; intros i H; [easy|].
    rewrite consumed_step in H.
    assert (X : exists C, In C (list_from i) /\ end_ C = first_end (list_from i) n).
    { apply first_end_some. destruct (list_from i) as [|C0 Cs] eqn:E; [cbn in H; tauto|].
      exists C0. split; [now left|]. apply (ends i), same. rewrite E. now left. }
    destruct X as (C1 & I1 & E1). destruct H as [[H F]|[_ H]].
    - apply now; [now apply same|]. intros C' H'. apply same in H'.
      rewrite F. now apply first_end_least.
    - rewrite <- E1 in H. apply later with C1; [now apply same | | auto].
      intros C' H'. apply same in H'. rewrite E1. now apply first_end_least.
  Qed.

  Lemma consumed_complete i C : consuming from i C ->
    forall rounds, n <= rounds + i -> In C (consumed list_from rounds n i).
  Proof.
    assert (L : forall i C, from i C -> (forall C', from i C' -> end_ C <= end_ C') ->
      end_ C = first_end (list_from i) n /\ list_from i <> []).
    { intros j C0 H H'. pose proof (proj2 (same _ _) H) as I. split.
      - destruct (first_end_some (list_from j) n) as (C1 & I1 & E1).
        + exists C0. split; auto. now apply (ends j).
        + pose proof (first_end_least _ n _ I). specialize (H' C1 (proj1 (same _ _) I1)). lia.
      - intros E. rewrite E in I. easy. }
    induction 1 as [i C H H' | i C C' H H' _ IH]; intros rounds Hr;
      destruct (L _ _ H H') as [E N]; pose proof (ends _ _ H);
      (destruct rounds; [lia|]); rewrite consumed_step, <- E.
    - left. split; [now apply same | reflexivity].
    - right. split; auto. apply IH. lia.
  Qed.
End Consumed.

Lemma unlimited_answers_correct {D} (q : query D) evs C :
  In C (unlimited_answers q evs) <-> unlimited_answer q evs C.
Proof.
  assert (A : forall i C, In C (flat_map (fun k => answers_of q evs k i) (keys q evs)) <->
    exists k, answer_of q evs k i C).
  { intros i C0. members. split.
    - intros (k & _ & H). exists k. now apply answers_of_correct.
    - intros (k & H). exists k. rewrite answers_of_correct. split; auto. now apply answer_of_end in H. }
  unfold unlimited_answers, unlimited_answer. rewrite nodup_In. destruct (consume q).
  - apply A.
  - split; intros H.
    + eapply consumed_sound in H; [exact H | exact A | intros i C0 [k K]; now apply answer_of_end in K].
    + eapply consumed_complete; [exact A | intros i C0 [k K]; now apply answer_of_end in K | exact H | lia].
  - members. split; intros (k & H).
    + exists k. destruct H as [_ H]. eapply consumed_sound; [apply answers_of_correct | | exact H].
      intros i C0 K. now apply answer_of_end in K.
    + exists k. split.
      * clear -H. remember 0 as i eqn:E. clear E. induction H as [i C K|i C C' K _ _ IH]; auto. now apply answer_of_end in K.
      * eapply consumed_complete; [apply answers_of_correct | | exact H | lia].
        intros i C0 K. now apply answer_of_end in K.
Qed.

Lemma first_ones_correct n Cs all C : NoDup Cs -> (forall C, In C Cs <-> all C) ->
  In C (first_ones n Cs) <-> among_first n all C.
Proof.
  intros N same. unfold first_ones, among_first. rewrite filter_In, Nat.ltb_lt, same.
  set (before_it := fun C' => _). apply and_iff_compat_l. split.
  - intros L Ds ND H. eapply Nat.le_lt_trans; [|exact L]. apply NoDup_incl_length; auto.
    intros C' I. destruct (H C' I) as (H1 & H2 & H3). apply filter_In. rewrite same. split; auto.
    unfold before_it. now rewrite H2, Nat.eqb_refl, H3.
  - intros H. apply H; [now apply nodup_filter|]. intros C' I. apply filter_In in I as [I B].
    unfold before_it in B. apply andb_prop in B as [B1 B2]. apply Nat.eqb_eq in B1.
    apply same in I. auto.
Qed.

Lemma unlimited_answers_once {D} (q : query D) evs : NoDup (unlimited_answers q evs).
Proof. apply NoDup_nodup. Qed.

Theorem query_answers_correct {D} (q : query D) evs C :
  In C (query_answers q evs) <-> query_answer q evs C.
Proof.
  unfold query_answers, query_answer. destruct (limit q) as [n|]; cbn.
  - apply first_ones_correct; [apply unlimited_answers_once | apply unlimited_answers_correct].
  - apply unlimited_answers_correct.
Qed.

Theorem query_answers_once {D} (q : query D) evs : NoDup (query_answers q evs).
Proof.
  unfold query_answers. destruct (limit q); cbn; auto using nodup_filter, unlimited_answers_once.
  apply nodup_filter, unlimited_answers_once.
Qed.
