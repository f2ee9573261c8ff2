(** Which of two words of marks a strategy prefers, mark by mark. *)

Require Import Mechanised.Tactics.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Strategies.

Definition is_take (m : mark) : bool := match m with Take => true | Skip => false end.

Lemma is_take_eq m n : is_take m = is_take n -> m = n.
Proof. now destruct m, n. Qed.

Lemma takes_bound w k : takes w k = true -> k < length w.
Proof.
  unfold takes. destruct (nth_error (rev w) k) eqn:E; [|easy]. intros _.
  rewrite <- rev_length. eapply nth_error_length. eassumption.
Qed.

Lemma takes_beyond w k : length w <= k -> takes w k = false.
Proof. intros L. destruct (takes w k) eqn:E; auto. apply takes_bound in E. lia. Qed.

Lemma takes_last m w : takes (m :: w) (length w) = is_take m.
Proof.
  unfold takes; cbn. rewrite nth_error_app2 by (rewrite rev_length; auto).
  rewrite rev_length, Nat.sub_diag. now destruct m.
Qed.

Lemma takes_earlier m w k : k < length w -> takes (m :: w) k = takes w k.
Proof. intros L. unfold takes; cbn. now rewrite nth_error_app1 by (rewrite rev_length; auto). Qed.

(** Words of one length that take the same are the same. *)
Lemma takes_equal v w : length v = length w ->
  (forall k, k < length w -> takes v k = takes w k) -> v = w.
Proof.
  revert w; induction v as [|n v IH]; intros [|m w] L H; try easy. injection L as L. f_equal.
  - apply is_take_eq. rewrite <- (takes_last n v), <- (takes_last m w), L. apply H. cbn; lia.
  - apply IH; auto. intros k K. specialize (H k). cbn in H.
    rewrite !takes_earlier in H by lia. apply H. lia.
Qed.

Fixpoint wins (s : strategy) (v w : list mark) : Prop :=
  match v, w with
  | n :: v, m :: w =>
      match s with
      | Strict => False
      | Nxt => wins s v w \/ (v = w /\ n = Take /\ m = Skip)
      | Last => (n = Take /\ m = Skip) \/ (n = m /\ wins s v w)
      | Max => (m = Take -> n = Take) /\ (wins s v w \/ (v = w /\ n = Take /\ m = Skip))
      end
  | _, _ => False
  end.

Lemma is_take_true m : is_take m = true <-> m = Take.
Proof. now destruct m. Qed.
Lemma is_take_false m : is_take m = false <-> m = Skip.
Proof. now destruct m. Qed.

Lemma beats_wins s v : forall w, length v = length w -> beats s (takes v) (takes w) <-> wins s v w.
Proof.
  assert (nil : forall k, takes [] k = false) by (intros; apply takes_beyond; cbn; lia).
  induction v as [|n v IH]; intros [|m w] L; try easy.
  { destruct s; cbn; firstorder; rewrite nil in *; discriminate. }
  injection L as L. specialize (IH w L). destruct s; cbn [wins]; rewrite <- ?IH; cbn [beats] in *.
  - easy.
  - split.
    + intros (k & V & W & E). pose proof (takes_bound _ _ V) as K. cbn in K.
      destruct (Nat.eq_dec k (length w)) as [->|].
      * right. rewrite <- L, takes_last, is_take_true in V. rewrite takes_last, is_take_false in W.
        repeat split; auto. apply takes_equal; auto. intros l Hl. specialize (E l Hl).
        now rewrite !takes_earlier in E by lia.
      * left. rewrite takes_earlier in V, W by lia. exists k. repeat split; auto.
        intros l Hl. specialize (E l Hl). now rewrite !takes_earlier in E by lia.
    + intros [(k & V & W & E)|(-> & -> & ->)].
      * pose proof (takes_bound _ _ V) as K. exists k. rewrite !takes_earlier by lia.
        repeat split; auto. intros l Hl. rewrite !takes_earlier by lia. auto.
      * exists (length w). rewrite !takes_last. repeat split; auto.
        intros l Hl. now rewrite !takes_earlier by lia.
  - split.
    + intros (k & V & W & E). pose proof (takes_bound _ _ V) as K. cbn in K.
      destruct (Nat.eq_dec k (length w)) as [->|].
      * left. rewrite <- L, takes_last, is_take_true in V. rewrite takes_last, is_take_false in W. auto.
      * right. assert (n = m) as ->.
        { apply is_take_eq. rewrite <- (takes_last n v), <- (takes_last m w), L. apply E. lia. }
        split; auto. rewrite takes_earlier in V, W by lia. exists k. repeat split; auto. intros l Hl.
        destruct (Nat.lt_ge_cases l (length w)); [|now rewrite !takes_beyond by lia].
        specialize (E l Hl). now rewrite !takes_earlier in E by lia.
    + intros [[-> ->]|(-> & k & V & W & E)].
      * exists (length w). rewrite <- L at 1. rewrite !takes_last. repeat split; auto.
        intros l Hl. now rewrite !takes_beyond by (cbn; lia).
      * pose proof (takes_bound _ _ V) as K. exists k. rewrite !takes_earlier by lia.
        repeat split; auto. intros l Hl. destruct (Nat.lt_ge_cases l (length w)).
        -- rewrite !takes_earlier by lia. auto.
        -- destruct (Nat.eq_dec l (length w)) as [->|]; [|now rewrite !takes_beyond by (cbn; lia)].
           rewrite <- L at 1. now rewrite !takes_last.
  - split.
    + intros [A (k & V & W)]. split.
      * intros ->. specialize (A (length w)). rewrite <- L, takes_last, L, takes_last in A.
        now apply is_take_true, A.
      * assert (B : forall l, takes w l = true -> takes v l = true).
        { intros l Hl. pose proof (takes_bound _ _ Hl). specialize (A l).
          rewrite !takes_earlier in A by lia. auto. }
        pose proof (takes_bound _ _ V) as K. cbn in K.
        destruct (existsb (fun l => takes v l && negb (takes w l)) (seq 0 (length w))) eqn:X.
        -- apply existsb_exists in X as (l & _ & X). reflect. left. split; [auto | now exists l].
        -- right. destruct (Nat.eq_dec k (length w)) as [->|].
           ++ rewrite <- L, takes_last, is_take_true in V. rewrite takes_last, is_take_false in W.
              repeat split; auto. apply takes_equal; auto. intros l Hl.
              destruct (takes v l) eqn:Vl, (takes w l) eqn:Wl; auto.
              ** rewrite <- not_true_iff_false, existsb_exists in X. exfalso. apply X. exists l.
                 rewrite in_seq, Vl, Wl. cbn. split; [lia | auto].
              ** now rewrite (B l Wl) in Vl.
           ++ rewrite takes_earlier in V, W by lia. rewrite <- not_true_iff_false, existsb_exists in X.
              exfalso. apply X. exists k. rewrite in_seq, V, W. cbn. split; [lia | auto].
    + intros [M X].
      assert (B : (forall l, takes w l = true -> takes v l = true)) by (destruct X as [[B _]|[-> _]]; auto).
      split.
      * intros l Hl. pose proof (takes_bound _ _ Hl) as K. cbn in K.
        destruct (Nat.eq_dec l (length w)) as [->|].
        -- rewrite takes_last, is_take_true in Hl. rewrite <- L, takes_last, is_take_true. auto.
        -- rewrite takes_earlier in * by lia. auto.
      * destruct X as [[_ (k & V & W)]|(-> & -> & ->)].
        -- pose proof (takes_bound _ _ V). exists k. rewrite !takes_earlier by lia. auto.
        -- exists (length w). now rewrite !takes_last.
Qed.

(** <=last is total: two words of one length are equal, or one of them wins. *)
Lemma last_total v : forall w, length v = length w -> wins Last v w \/ v = w \/ wins Last w v.
Proof.
  induction v as [|n v IH]; intros [|m w] L; try easy; auto. injection L as L.
  destruct (IH w L) as [H|[->|H]], n, m; cbn; intuition.
Qed.

Lemma next_total v : forall w, length v = length w -> wins Nxt v w \/ v = w \/ wins Nxt w v.
Proof.
  induction v as [|n v IH]; intros [|m w] L; try easy; auto. injection L as L.
  destruct (IH w L) as [H|[->|H]], n, m; cbn; intuition.
Qed.

(** FOUND Lemma 1. *)
Theorem next_total_order : total_order next_below.
Proof.
  unfold next_below. split; [|split].
  - intros v (k & V & W & _). congruence.
  - intros u v w (k & Vk & Uk & Ek) (l & Wl & Vl & El). destruct (Nat.lt_trichotomy k l) as [L|[->|L]].
    + exists k. rewrite El by auto. repeat split; auto. intros i I. rewrite El by lia. auto.
    + congruence.
    + exists l. rewrite <- Ek by auto. repeat split; auto. intros i I. rewrite El by auto. apply Ek. lia.
  - intros v w L. rewrite !beats_wins by congruence. destruct (next_total v w L) as [H|[H|H]]; auto.
Qed.

Theorem last_total_order : total_order last_below.
Proof.
  unfold last_below. split; [|split].
  - intros v (k & V & W & _). congruence.
  - intros u v w (k & Vk & Uk & Ek) (l & Wl & Vl & El). destruct (Nat.lt_trichotomy k l) as [L|[->|L]].
    + exists l. rewrite <- Ek by auto. repeat split; auto. intros i I. rewrite El by auto. apply Ek. lia.
    + congruence.
    + exists k. rewrite El by auto. repeat split; auto. intros i I. rewrite El by lia. auto.
  - intros v w L. rewrite !beats_wins by congruence. destruct (last_total v w L) as [H|[H|H]]; auto.
Qed.
