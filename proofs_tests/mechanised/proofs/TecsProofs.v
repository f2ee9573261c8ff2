(** Nodes keep their invariants and denote what they should (CORE Sec. 4.1, 4.2; Thm. 3). *)

Require Import Mechanised.Tactics.
Require Import Permutation.
Require Import Mechanised.Stream Mechanised.Nodes Mechanised.Tecs.

Lemma safe_odepth n : safe n -> odepth n <= 1.
Proof. destruct n; cbn; lia. Qed.

Lemma paths_not_empty n : paths n <> [].
Proof.
  induction n as [i | j n IHn | n1 IHn1 n2 IHn2]; cbn; try easy; [destruct (paths n); easy|]. intros E. now apply app_eq_nil in E.
Qed.

(** No start below a time-ordered node is later than its largest. *)
Lemma starts_below n : time_ordered n -> forall i P, In (i, P) (paths n) -> i <= max_start n.
Proof.
  induction n as [i | j n IHn | n1 IHn1 n2 IHn2]; cbn; intros T i' P I.
  - destruct I as [I|[]]. injection I as <- _. lia.
  - apply in_map_iff in I as ([i0 P0] & E & I). injection E as <- _. eauto.
  - destruct T as (L & T1 & T2). apply in_app_iff in I as [I|I]; [eauto | specialize (IHn2 T2 i' P I); lia].
Qed.

Lemma max_start_reached n : exists P, In (max_start n, P) (paths n).
Proof.
  induction n as [i | j n IHn | n1 IHn1 n2 IHn2]; cbn; [exists []; auto | |].
  - destruct IHn as [P H]. exists (j :: P). members. exists (max_start n, P). auto.
  - destruct IHn1 as [P H]. exists P. members. auto.
Qed.

(** * Union of nodes *)

Theorem unite_correct m n : good m -> good n -> max_start m = max_start n ->
  good (unite m n) /\ max_start (unite m n) = max_start m /\
  Permutation (paths (unite m n)) (paths m ++ paths n).
Proof.
  intros (Tm & Bm & Sm) (Tn & Bn & Sn) E. pose proof (safe_odepth _ Sm). pose proof (safe_odepth _ Sn).
  destruct m as [i|j m|l1 r1], n as [i'|j' n|l2 r2]; cbn [unite is_union] in *;
    try (split; [repeat split; cbn in *; tauto || lia | split; [reflexivity || (symmetry; exact E) |]];
         cbn [paths]; try reflexivity; apply Permutation_app_comm).
  cbn in Tm, Bm, Sm, Tn, Bn, Sn, E. break.
  destruct (max_start r2 <=? max_start r1) eqn:R; reflect; (split; [|split; [reflexivity|]]).
  - repeat split; cbn; auto; try lia.
  - cbn [paths]. rewrite <- !app_assoc. apply Permutation_app_head.
    rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  - repeat split; cbn; auto; try lia.
  - cbn [paths]. rewrite <- !app_assoc. apply Permutation_app_head.
    rewrite app_assoc. apply Permutation_app_comm.
Qed.

Lemma unite_max m n : max_start m = max_start n -> max_start (unite m n) = max_start m.
Proof. destruct m, n; cbn; intros; auto. Qed.

(** * Union-lists *)

Lemma insert_rest_correct n ns : good n -> Forall good ns -> decreasing ns ->
  Forall good (insert_rest n ns) /\ decreasing (insert_rest n ns) /\
  Permutation (all_paths (insert_rest n ns)) (paths n ++ all_paths ns) /\
  head_max (insert_rest n ns) <= Nat.max (max_start n) (head_max ns) /\ insert_rest n ns <> [].
Proof.
  intros G. induction ns as [|m ns IH]; intros F Dec.
  { cbn. rewrite !app_nil_r. repeat split; auto; try easy. lia. }
  inversion F as [|? ? Gm Fns]; subst. cbn [insert_rest].
  assert (Dns : decreasing ns) by (destruct ns; [easy | apply Dec]).
  destruct (max_start m =? max_start n) eqn:E; reflect.
  - destruct (unite_correct m n Gm G E) as (Gu & Mu & Pu). repeat split; auto; try easy.
    + destruct ns as [|k ns]; [easy|]. cbn in *. rewrite Mu. tauto.
    + cbn. rewrite Pu, <- app_assoc. apply Permutation_app_swap_app.
    + cbn. lia.
  - apply Nat.eqb_neq in E. destruct (max_start m <? max_start n) eqn:L.
    + apply Nat.ltb_lt in L. repeat split; auto; try easy. cbn. lia.
    + apply Nat.ltb_ge in L. destruct (IH Fns Dns) as (G' & D' & P' & H' & N'). repeat split; auto; try easy.
      * destruct (insert_rest n ns) as [|k ks]; [easy|]. split; auto. cbn in H'.
        destruct ns as [|k' ns]; cbn in *; [lia | break; lia].
      * cbn. rewrite P'. apply Permutation_app_swap_app.
      * cbn. lia.
Qed.

Lemma insert_rest_below n ns b : Forall (fun m => max_start m <= b) ns -> max_start n <= b ->
  Forall (fun m => max_start m <= b) (insert_rest n ns).
Proof.
  induction 1 as [|m ns H F IH]; intros L; cbn [insert_rest]; [auto|].
  destruct (max_start m =? max_start n) eqn:E; [|destruct (max_start m <? max_start n); repeat constructor; auto].
  constructor; auto. reflect. now rewrite unite_max.
Qed.

Theorem insert_correct n ns : union_list ns -> good n -> max_start n <= head_max ns ->
  union_list (insert n ns) /\ head_max (insert n ns) = head_max ns /\
  Permutation (all_paths (insert n ns)) (paths n ++ all_paths ns).
Proof.
  destruct ns as [|n0 ns]; [easy|]. intros (U & F & Dec & B) G L. cbn in L.
  inversion F as [|? ? G0 Fns]; subst.
  destruct (insert_rest_correct n ns G Fns Dec) as (F' & D' & P' & _ & _).
  split; [|split; [reflexivity|]].
  - split; [exact U|]. split; [constructor; auto|]. split; [auto|]. now apply insert_rest_below.
  - cbn. rewrite P'. apply Permutation_app_swap_app.
Qed.

Lemma merge_rest_correct ns : forall n, Forall good (n :: ns) ->
  decreasing (n :: ns) -> time_ordered (merge_rest n ns) /\ bounded (merge_rest n ns) /\
  odepth (merge_rest n ns) <= 2 /\ max_start (merge_rest n ns) = max_start n /\
  Permutation (paths (merge_rest n ns)) (all_paths (n :: ns)).
Proof.
  induction ns as [|m ns IH]; intros n F Dec; inversion F as [|? ? (T & B & Sf) Fns]; subst; cbn [merge_rest].
  - pose proof (safe_odepth _ Sf). cbn. rewrite app_nil_r. repeat split; auto; lia.
  - destruct Dec as [L Dec]. destruct (IH m Fns Dec) as (T' & B' & O' & M' & P').
    pose proof (safe_odepth _ Sf). cbn [time_ordered bounded odepth max_start paths].
    repeat split; auto; try lia. cbn. now rewrite P'.
Qed.

Theorem merge_correct ns : union_list ns ->
  good (merge ns) /\ max_start (merge ns) = head_max ns /\ Permutation (paths (merge ns)) (all_paths ns).
Proof.
  destruct ns as [|n0 [|n1 ns]]; [easy | |]; intros (U & F & Dec & B); inversion F as [|? ? G0 Fns]; subst.
  - cbn. rewrite app_nil_r. auto.
  - destruct (merge_rest_correct ns n1 Fns Dec) as (T' & B' & O' & M' & P').
    destruct G0 as (T0 & B0 & S0). inversion B; subst.
    assert (O : odepth n0 = 0) by now destruct n0.
    cbn [merge merge_rest]. repeat split; cbn; auto; try lia. now rewrite P'.
Qed.

(** * Algorithm 2 *)

Lemma filter_all {A} (f : A -> bool) l : (forall x, In x l -> f x = false) -> filter f l = [].
Proof. induction l as [|x l IH]; cbn; intros H; auto. rewrite H by auto. auto. Qed.

Lemma enumerate_paths lowest n : time_ordered n -> lowest <= max_start n ->
  enumerate lowest n = filter (fun '(i, _) => lowest <=? i) (paths n).
Proof.
  induction n as [i | j n IHn | n1 IHn1 n2 IHn2]; cbn; intros T L.
  - now rewrite (proj2 (Nat.leb_le lowest i)).
  - rewrite IHn by auto. clear. induction (paths n) as [|[i P] l IH]; cbn; auto.
    destruct (lowest <=? i); cbn; now rewrite <- IH.
  - break. rewrite filter_app, IHn1 by auto. f_equal.
    destruct (lowest <=? max_start n2) eqn:E; reflect; [now rewrite IHn2|].
    symmetry. apply filter_all. intros [i P] I. apply starts_below in I; auto. apply Nat.leb_gt. lia.
Qed.

Theorem listed_correct lowest n : time_ordered n ->
  listed_from lowest n = filter (fun '(i, _) => lowest <=? i) (paths n).
Proof.
  intros T. unfold listed_from. destruct (lowest <=? max_start n) eqn:E; reflect; [now apply enumerate_paths|].
  symmetry. apply filter_all. intros [i P] I. apply starts_below in I; auto. apply Nat.leb_gt. lia.
Qed.
