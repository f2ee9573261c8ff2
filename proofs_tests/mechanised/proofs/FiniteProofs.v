(** The machines of the strategies are CEA with finitely many states (FOUND Prop. 1 and Thm. 4). *)

Require Import Mechanised.Tactics Mechanised.StrategyProofs Mechanised.PrintedProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton.
Require Import Mechanised.Strategies Mechanised.Determinise.

(** * Machines with a list of configurations *)

Section Finite.
  Context {D : Type} (M : machine D) (dec : forall c c' : configuration M, {c = c'} + {c <> c'}).
  Variable cs : list (configuration M).
  Hypothesis started : In (start M) cs.
  Hypothesis closed : forall t m c, In c cs -> In (next M t m c) cs.
  Let B := as_cea M dec cs.

  Lemma step_as_cea t m c c' : step B t m c c' <-> In c cs /\ c' = next M t m c.
  Proof.
    unfold step, B, as_cea; cbn [delta]. split.
    - intros (P & I & H). apply in_flat_map in I as (c0 & I0 & I). apply in_flat_map in I as (m0 & _ & I).
      apply in_map_iff in I as (c1 & E & _). injection E as -> <- -> ->.
      destruct (dec (next M t m c) c'); [auto | discriminate].
    - intros (I & ->). exists (fun u => if dec (next M u m c) (next M t m c) then true else false). split.
      + apply in_flat_map. exists c. split; auto. apply in_flat_map. exists m. split; [destruct m; cbn; auto|].
        apply in_map_iff. exists (next M t m c). auto.
      + destruct (dec (next M t m c) (next M t m c)); [auto | easy].
  Qed.

  Lemma initial_as_cea c : initial B c = true <-> c = start M.
  Proof. unfold B, as_cea; cbn. destruct (dec c (start M)); split; intros; auto; discriminate. Qed.

  Lemma after_in s : forall w, In (after M s w) cs.
  Proof. induction s as [|t s IH]; intros [|m w]; cbn; auto. Qed.

  Lemma reaches_as_cea s : forall w c, reaches B s w c <-> length w = length s /\ c = after M s w.
  Proof.
    induction s as [|t s IH]; intros w c.
    - split.
      + intros R. inversion R as [q I|]; subst. apply initial_as_cea in I. auto.
      + intros (L & ->). destruct w; [|easy]. constructor. now apply initial_as_cea.
    - destruct w as [|m w]; [split; [inversion 1 | intros (L & _); easy]|]. split.
      + intros R. inversion R as [|? ? p ? ? ? R' T]; subst. apply IH in R' as (L & ->).
        apply step_as_cea in T as (_ & ->). split; cbn; auto.
      + intros (L & ->). injection L as L. apply (at_next B s w (after M s w)); [now apply IH|].
        apply step_as_cea. split; auto using after_in.
  Qed.

  Lemma output_as_cea s w : output B s w <-> recognises M s w.
  Proof.
    unfold output, recognises. split.
    - intros (w' & q & -> & R & F). apply reaches_as_cea in R as (L & ->). eauto.
    - intros (L & (w' & ->) & F). exists w', (after M s (Take :: w')). repeat split; auto.
      now apply reaches_as_cea.
  Qed.

  Lemma constructed_as_cea (wanted : stream D -> list mark -> Prop) n : length cs <= n ->
    (forall s w, wanted s w <-> recognises M s w) -> constructed wanted B n.
  Proof.
    intros L H. repeat split; auto.
    - intros c I. apply initial_as_cea in I as ->. exact started.
    - intros c P m c' I. unfold B, as_cea in I; cbn in I. apply in_flat_map in I as (c0 & _ & I).
      cbn in I. rewrite app_nil_r in I. apply in_app_iff in I as [I|I]; apply in_map_iff in I as (c1 & E & I);
        injection E as _ _ _ <-; exact I.
    - intros p q I J. apply initial_as_cea in I, J. congruence.
    - intros t m p q r T T'. apply step_as_cea in T, T'. destruct T, T'. congruence.
    - intros W. now apply output_as_cea, H.
    - intros O. now apply H, output_as_cea.
  Qed.
End Finite.

(** * Sublists *)

Lemma sublists_filter {A} (f : A -> bool) l : In (filter f l) (sublists l).
Proof.
  induction l as [|x l IH]; cbn; [now left|]. apply in_app_iff.
  destruct (f x); [left; now apply in_map | now right].
Qed.

Lemma filter_filter {A} (f g : A -> bool) l : filter f (filter g l) = filter (fun x => g x && f x) l.
Proof. induction l as [|x l IH]; cbn; auto. destruct (g x); cbn; [destruct (f x)|]; now rewrite IH. Qed.

Lemma sublists_filter_sublist {A} (f : A -> bool) l : forall k, In k (sublists l) -> In (filter f k) (sublists l).
Proof.
  induction l as [|x l IH]; cbn; intros k I; [destruct I as [<-|[]]; now left|].
  apply in_app_iff in I as [I|I].
  - apply in_map_iff in I as (k' & <- & I). cbn. apply in_app_iff. destruct (f x); [left; apply in_map|right]; auto.
  - apply in_app_iff. right. auto.
Qed.

Lemma length_sublists {A} (l : list A) : length (sublists l) = 2 ^ length l.
Proof. induction l as [|x l IH]; cbn; auto. rewrite app_length, map_length, IH. lia. Qed.

Lemma in_pairs {A B} (l : list A) (l' : list B) a b : In (a, b) (pairs l l') <-> In a l /\ In b l'.
Proof.
  unfold pairs. rewrite in_flat_map. split.
  - intros (x & Ix & I). apply in_map_iff in I as (y & E & I). injection E as -> ->. auto.
  - intros (I & J). exists a. split; auto. now apply in_map.
Qed.

Lemma length_pairs {A B} (l : list A) (l' : list B) : length (pairs l l') = length l * length l'.
Proof. unfold pairs. induction l as [|x l IH]; cbn; auto. now rewrite app_length, map_length, IH. Qed.

Lemma length_pairs_of_sets {A} (l : list A) : length (pairs (sublists l) (sublists l)) = 4 ^ length l.
Proof. rewrite length_pairs, !length_sublists. change 4 with (2 * 2). now rewrite Nat.pow_mul_l. Qed.
Lemma length_triples_of_sets {A} (l : list A) :
  length (pairs (pairs (sublists l) (sublists l)) (sublists l)) = 8 ^ length l.
Proof. rewrite length_pairs, length_pairs_of_sets, length_sublists. change 8 with (4 * 2). now rewrite Nat.pow_mul_l. Qed.
Lemma length_blocks {A B} (ks : list A) (l : list B) : length (pairs ks (sublists l)) = length ks * 2 ^ length l.
Proof. now rewrite length_pairs, length_sublists. Qed.

Lemma nil_in_sublists {A} (l : list A) : In [] (sublists l).
Proof. induction l as [|x l IH]; cbn; [now left | apply in_app_iff; auto]. Qed.

(** * The constructions *)

Section Constructions.
  Context {D : Type} (A : cea D) (dec : decidable_states A).
  Hypothesis all_listed : listed A.
  Let n := length (states A).

  Lemma in_sets_as_set U : In (as_set A dec U) (sublists (states A)).
  Proof. apply sublists_filter. Qed.

  Theorem determinised_constructed : constructed (output A) (determinised A dec) (2 ^ n).
  Proof.
    apply constructed_as_cea.
    - apply sublists_filter.
    - intros t m U _. apply in_sets_as_set.
    - apply Nat.eq_le_incl. exact (length_sublists (states A)).
    - intros s w. now apply determinised_correct.
  Qed.

  Theorem strict_constructed : constructed (selected Strict A) (strict_cea A dec) (4 * 2 ^ n).
  Proof.
    apply constructed_as_cea.
    - apply in_pairs. split; [cbn; auto | apply sublists_filter].
    - intros t m [b U] _. apply in_pairs. split; [|apply in_sets_as_set].
      destruct b as [[]|], m; cbn; auto 6.
    - apply Nat.eq_le_incl. exact (length_blocks [None; Some Before; Some Inside; Some After] (states A)).
    - intros s w. now apply strict_correct.
  Qed.

  Theorem max_constructed : constructed (selected Max A) (max_cea A dec) (4 ^ n).
  Proof.
    apply constructed_as_cea.
    - apply in_pairs. split; [apply sublists_filter | apply nil_in_sublists].
    - intros t m [R B] _. apply in_pairs. split; [|apply in_sets_as_set].
      apply sublists_filter_sublist, in_sets_as_set.
    - apply Nat.eq_le_incl. exact (length_pairs_of_sets (states A)).
    - intros s w. now apply max_correct.
  Qed.

  Theorem last_constructed : constructed (selected Last A) (last_cea A dec) (8 ^ n).
  Proof.
    apply constructed_as_cea.
    - apply in_pairs. split; [apply in_pairs; split|]; [apply sublists_filter | |]; apply nil_in_sublists.
    - intros t m [[R B] W] _. apply in_pairs. split; [apply in_pairs; split|]; try apply in_sets_as_set.
      apply sublists_filter_sublist, in_sets_as_set.
    - apply Nat.eq_le_incl. exact (length_triples_of_sets (states A)).
    - intros s w. now apply last_correct.
  Qed.
End Constructions.

Theorem nxt_constructed {D} (A : cea D) (dec : decidable_states A) : listed A ->
  constructed (selected Nxt A) (nxt_cea (single_final A) (option_dec dec)) (4 ^ (1 + length (states A))).
Proof.
  intros L. apply constructed_as_cea.
  - apply in_pairs. split; [apply sublists_filter | apply nil_in_sublists].
  - intros t m [R B] _. apply in_pairs. split; [|apply sublists_filter].
    apply sublists_filter_sublist, sublists_filter.
  - apply Nat.eq_le_incl. rewrite <- (map_length Some (states A)).
    exact (length_pairs_of_sets (states (single_final A))).
  - intros s w. now apply nxt_of_any.
Qed.
