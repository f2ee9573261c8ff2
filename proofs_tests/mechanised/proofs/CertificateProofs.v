(** Machines with a bisimulation have the same answers. *)

Require Import Mechanised.Tactics Mechanised.Stream.
Require Import Mechanised.Machines Mechanised.Certificate.

Lemma related_in R p q : related R p q = true <-> In (p, q) R.
Proof.
  unfold related. rewrite existsb_exists. split.
  - intros [[p' q'] [I E]]. apply andb_true_iff in E as [E F].
    apply Nat.eqb_eq in E, F. now subst.
  - intros I. exists (p, q). split; auto. now rewrite !Nat.eqb_refl.
Qed.

Section Bisimulation.
Variables (letters : nat) (A B : complete_machine) (R : list (nat * nat)).
Hypothesis H : is_bisimulation letters A B R = true.

Lemma first_related : In (0, 0) R.
Proof. apply andb_true_iff in H as [F _]. now apply related_in. Qed.

Lemma related_agree p q : In (p, q) R -> accepting A p = accepting B q /\
  forall a m, a < letters -> In (next_state A p a m, next_state B q a m) R.
Proof.
  intros I. apply andb_true_iff in H as [_ F]. rewrite forallb_forall in F. specialize (F _ I). cbn beta iota in F.
  apply andb_true_iff in F as [E F]. split; [now apply eqb_prop|]. intros a m L.
  rewrite forallb_forall in F. specialize (F a). rewrite in_seq in F. specialize (F (conj (Nat.le_0_l a) L)).
  rewrite forallb_forall in F. apply related_in, F. destruct m as [[]|]; cbn; auto.
Qed.

Lemma after_related w : (forall a m, In (a, m) w -> a < letters) -> In (state_after A w, state_after B w) R.
Proof.
  unfold state_after. generalize first_related. generalize 0 at 1 3. generalize 0.
  induction w as [|[a m] w IH]; cbn; intros q p I L; auto.
  apply IH; [|intros b n J; now apply (L b n); right].
  apply related_agree; auto. now apply (L a m); left.
Qed.
End Bisimulation.

Lemma certificate_correct letters A B R w i ms : is_bisimulation letters A B R = true ->
  (forall a, In a w -> a < letters) -> machine_answer A w i ms <-> machine_answer B w i ms.
Proof.
  intros H L. unfold machine_answer.
  assert (I : In (state_after A (combine w (repeat None i ++ map Some ms)),
                  state_after B (combine w (repeat None i ++ map Some ms))) R).
  { apply (after_related letters); auto. intros a m J. apply L. eapply in_combine_l. eassumption. }
  apply (related_agree letters A B R H) in I as [E _]. now rewrite E.
Qed.
