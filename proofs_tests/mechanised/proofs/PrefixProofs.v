(** Whether a valuation is one of a formula does not depend on events after its end. *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics.

Lemma events_at_prefix {D} (evs evs' : stream D) V X : stop V <= length evs ->
  events_at (evs ++ evs') V X = events_at evs V X.
Proof.
  intros L. unfold events_at, where_. rewrite !flat_map_concat_map. f_equal. apply map_ext_in.
  intros i I. apply filter_In in I as [I _]. apply in_seq in I.
  rewrite nth_error_app1; [reflexivity | unfold stop in L; lia].
Qed.

Lemma holds_prefix {D} (evs evs' : stream D) V c : stop V <= length evs -> holds (evs ++ evs') V c <-> holds evs V c.
Proof.
  intros L. induction c as [P Xs | c IHc d IHd | c IHc d IHd]; cbn; [|tauto|tauto].
  replace (map (events_at (evs ++ evs') V) Xs) with (map (events_at evs V) Xs); [reflexivity|].
  apply map_ext. intros X. symmetry. now apply events_at_prefix.
Qed.

Lemma iteration_bounded n (R R' : valuation -> Prop) precedes V :
  (forall W, stop W <= n -> R W -> R' W) -> (forall W, R W -> row W <> []) ->
  iteration R precedes V -> stop V <= n -> iteration R' precedes V.
Proof.
  intros HR N I. induction I as [V RV | V W RV IW IH P]; intros L; [now apply one; auto|].
  assert (NW : row W <> []) by (clear - N IW; induction IW; auto using row_union).
  rewrite stop_union in L by auto. apply more; auto; [apply HR; auto; lia | apply IH; lia].
Qed.

Lemma sat_prefix {D} (evs evs' : stream D) phi : forall V, stop V <= length evs ->
  V |=[evs ++ evs'] phi <-> V |=[evs] phi.
Proof.
  assert (at_ : forall i, i < length evs -> nth_error (evs ++ evs') i = nth_error evs i).
  { intros i L. now apply nth_error_app1. }
  assert (rows : forall psi V, V |=[evs ++ evs'] psi \/ V |=[evs] psi -> row V <> []).
  { intros psi V [H|H]; apply sat_proper in H; apply H. }
  induction phi as [R | phi IH X | phi IH c | phi IH psi IH' | phi IH psi IH' | phi IH psi IH' | phi IH psi IH'
    | phi IH | phi IH | L phi IH | X Y phi IH | phi IH psi IH' | phi IH psi IH' | phi _ | s phi IH | phi IH w];
    intros V bound; cbn [sat].
  - apply exists_iff; intros i. apply exists_iff; intros t.
    split; intros (E & T & ->); rewrite at_ in * by (cbn in bound; unfold stop in bound; cbn in bound; lia); auto.
  - apply exists_iff; intros W. split; intros (H & ->); rewrite stop_relabel in bound; apply IH in H; auto.
  - now rewrite IH, holds_prefix.
  - now rewrite IH, IH'.
  - now rewrite IH, IH'.
  - apply exists_iff; intros W1. apply exists_iff; intros W2.
    split; intros (H1 & H2 & P & ->); rewrite stop_union in bound by eauto;
      apply IH in H1; apply IH' in H2; auto; lia.
  - apply exists_iff; intros W1. apply exists_iff; intros W2.
    split; intros (H1 & H2 & P & ->); rewrite stop_union in bound by eauto;
      apply IH in H1; apply IH' in H2; auto; lia.
  - split; intros I; (eapply iteration_bounded; [| | exact I | exact bound]); cbn; eauto;
      intros W LW H; now apply IH.
  - split; intros I; (eapply iteration_bounded; [| | exact I | exact bound]); cbn; eauto;
      intros W LW H; now apply IH.
  - apply exists_iff; intros W. split; intros (H & ->); rewrite stop_relabel in bound; apply IH in H; auto.
  - apply exists_iff; intros W. split; intros (H & ->); rewrite stop_relabel in bound; apply IH in H; auto.
  - apply exists_iff; intros W1. apply exists_iff; intros W2.
    split; intros (H1 & H2 & ->); rewrite stop_union in bound by eauto;
      apply IH in H1; apply IH' in H2; auto; lia.
  - rewrite IH by auto. split; intros (H & N); (split; [exact H|]); intros W HW I; apply (N W); auto;
      apply IH'; auto; destruct I; lia.
  - apply exists_iff; intros i. apply exists_iff; intros t.
    split; intros (E & N & ->); rewrite at_ in * by (unfold stop in bound; cbn in bound; lia); auto.
  - rewrite IH by auto.
    split; intros (H & A & N); (split; [exact H | split; [exact A|]]); intros W HW E; apply N; auto; apply IH; auto;
      pose proof (proper_stop _ (rows phi V (or_intror H))) as LV; unfold last_position in E;
      [pose proof (proper_stop _ (rows phi W (or_intror HW))) | pose proof (proper_stop _ (rows phi W (or_introl HW)))];
      lia.
  - rewrite IH by auto. split; intros (H & F); (split; [exact H|]);
      pose proof (proper_stop _ (rows phi V (or_intror H))) as LV; destruct w as [n|near]; cbn in *; auto;
      destruct F as (t & u & Et & Eu & F); exists t, u;
      rewrite (at_ (first V)) in * by lia; rewrite (at_ (last_position V)) in * by (unfold last_position; lia); auto.
Qed.

Theorem prefix {D} (evs evs' : stream D) phi V : last_position V < length evs -> V |=[evs ++ evs'] phi <-> V |=[evs] phi.
Proof.
  intros L. assert (B : row V <> [] -> V |=[evs ++ evs'] phi <-> V |=[evs] phi).
  { intros N. apply sat_prefix. pose proof (proper_stop _ N). unfold last_position in L. lia. }
  split; intros H; apply B; auto; apply sat_proper in H; apply H.
Qed.
