(** The few tactics of all proofs. *)

Require Export List NArith Arith Bool Lia.
Export ListNotations.

(** Take hypotheses apart: conjunctions, existentials, options, equal pairs. *)
Ltac break :=
  repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : exists _, _ |- _ => destruct H
  | H : Some _ = Some _ |- _ => injection H; clear H; intros
  | H : (_, _) = (_, _) |- _ => injection H; clear H; intros
  | H : inl _ = inl _ |- _ => injection H; clear H; intros
  | H : inr _ = inr _ |- _ => injection H; clear H; intros
  | H : inl _ = inr _ |- _ => discriminate H
  | H : inr _ = inl _ |- _ => discriminate H
  | H : None = Some _ |- _ => discriminate H
  | H : Some _ = None |- _ => discriminate H
  | H : false = true |- _ => discriminate H
  | H : true = false |- _ => discriminate H
  | H : In _ [] |- _ => destruct H
  | H : In _ [_] |- _ => destruct H as [H|[]]
  | H : _ \/ False |- _ => destruct H as [H|[]]
  | H : False |- _ => destruct H
  end; subst.

(** Boolean tests as propositions, everywhere. *)
Ltac reflect :=
  repeat match goal with
  | H : context [andb _ _ = true] |- _ => rewrite andb_true_iff in H
  | H : context [orb _ _ = true] |- _ => rewrite orb_true_iff in H
  | H : context [negb _ = true] |- _ => rewrite negb_true_iff in H
  | H : context [negb _ = false] |- _ => rewrite negb_false_iff in H
  | H : context [(_ <=? _) = true] |- _ => rewrite Nat.leb_le in H
  | H : context [(_ <=? _) = false] |- _ => rewrite Nat.leb_gt in H
  | H : context [(_ <? _) = true] |- _ => rewrite Nat.ltb_lt in H
  | H : context [(_ =? _) = true] |- _ => rewrite Nat.eqb_eq in H
  | H : context [(_ =? _)%N = true] |- _ => rewrite N.eqb_eq in H
  | H : context [eqb _ _ = true] |- _ => rewrite eqb_true_iff in H
  | |- context [andb _ _ = true] => rewrite andb_true_iff
  | |- context [orb _ _ = true] => rewrite orb_true_iff
  | |- context [negb _ = true] => rewrite negb_true_iff
  | |- context [(_ <=? _) = true] => rewrite Nat.leb_le
  | |- context [(_ <? _) = true] => rewrite Nat.ltb_lt
  | |- context [(_ =? _) = true] => rewrite Nat.eqb_eq
  | |- context [(_ =? _)%N = true] => rewrite N.eqb_eq
  | |- context [eqb _ _ = true] => rewrite eqb_true_iff
  end.

(** Membership in lists that functions build. *)
Ltac members :=
  repeat match goal with
  | H : context [In _ (_ ++ _)] |- _ => rewrite in_app_iff in H
  | H : context [In _ (map _ _)] |- _ => rewrite in_map_iff in H
  | H : context [In _ (flat_map _ _)] |- _ => rewrite in_flat_map in H
  | H : context [In _ (filter _ _)] |- _ => rewrite filter_In in H
  | H : context [In _ (nodup _ _)] |- _ => rewrite nodup_In in H
  | H : context [In _ (seq _ _)] |- _ => rewrite in_seq in H
  | |- context [In _ (_ ++ _)] => rewrite in_app_iff
  | |- context [In _ (map _ _)] => rewrite in_map_iff
  | |- context [In _ (flat_map _ _)] => rewrite in_flat_map
  | |- context [In _ (filter _ _)] => rewrite filter_In
  | |- context [In _ (nodup _ _)] => rewrite nodup_In
  | |- context [In _ (seq _ _)] => rewrite in_seq
  end.

Ltac on_event := repeat match goal with
  | H : context [match nth_error ?evs ?i with _ => _ end] |- _ =>
      let E := fresh "E" in destruct (nth_error evs i) eqn:E
  end.

Lemma nth_error_length {A} (evs : list A) i t : nth_error evs i = Some t -> i < length evs.
Proof. intros H. apply nth_error_Some. congruence. Qed.

Lemma nth_error_found {A} (evs : list A) i : i < length evs -> exists t, nth_error evs i = Some t.
Proof. intros H. apply nth_error_Some in H. destruct (nth_error evs i); eauto; congruence. Qed.
