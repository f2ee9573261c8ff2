(** The automaton of a strategy on the CEA of a formula gives the answers under the strategy (FOUND Thm. 4). *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs Mechanised.CompileProofs Mechanised.CeaProofs.
Require Import Mechanised.WordProofs Mechanised.StrategyProofs Mechanised.PrintedProofs Mechanised.EngineProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Strategies Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise Mechanised.Selected.

(** * A CEA that waits for the first event of a run *)

Section Waiting.
  Context {D : Type} (A : cea D).

  Lemma step_waiting_none t m y : step (waiting A) t m None y <->
    (m = Skip /\ y = None) \/ exists p q, initial A p = true /\ y = Some q /\ step A t m p q.
  Proof.
    unfold step. split.
    - intros (P & I & T). cbn [delta waiting] in I. destruct I as [E|I].
      + injection E as _ <- <-. auto.
      + apply in_app_iff in I as [I|I]; apply in_map_iff in I as ([[[p P'] n] q] & E & I); [discriminate|].
        injection E as <- <- <-. apply filter_In in I as [I J]. right. exists p, q. eauto.
    - intros [(-> & ->)|(p & q & J & -> & P & I & T)].
      + exists always. split; [now left | reflexivity].
      + exists P. split; auto. cbn [delta waiting]. right. apply in_app_iff. right. apply in_map_iff.
        exists (p, P, m, q). split; auto. now apply filter_In.
  Qed.

  Lemma step_waiting_some t m p y : step (waiting A) t m (Some p) y <-> exists q, y = Some q /\ step A t m p q.
  Proof.
    unfold step. split.
    - intros (P & I & T). cbn [delta waiting] in I. destruct I as [E|I]; [discriminate|].
      apply in_app_iff in I as [I|I]; apply in_map_iff in I as ([[[p' P'] n] q] & E & I); [|discriminate].
      injection E as <- <- <- <-. eauto.
    - intros (q & -> & P & I & T). exists P. split; auto. cbn [delta waiting]. right. apply in_app_iff. left.
      apply in_map_iff. now exists (p, P, m, q).
  Qed.

  Lemma waiting_listed : listed A -> listed (waiting A).
  Proof.
    intros [_ W]. split.
    - intros [q|] I; [discriminate | now left].
    - intros x P m y I. cbn [delta waiting] in I. destruct I as [E|I]; [injection E as _ _ _ <-; now left|].
      right. apply in_app_iff in I as [I|I]; apply in_map_iff in I as ([[[p' P'] n] q] & E & I);
        injection E as _ _ _ <-; apply in_map.
      + now apply W in I.
      + apply filter_In in I as [I _]. now apply W in I.
  Qed.

  Lemma reaches_waiting s : forall w x, reaches (waiting A) s w x <-> match x with
    | None => w = repeat Skip (length s)
    | Some q => exists i ms p, ms <> [] /\ i + length ms = length s /\ w = rev ms ++ repeat Skip i /\
        initial A p = true /\ path A (rev s) i p ms q
    end.
  Proof.
    induction s as [|t s IH]; intros w x.
    - rewrite reaches_nil. destruct x as [q|]; cbn; [|intuition].
      split; [intros [_ H]; discriminate|]. intros (i & [|m ms] & p & N & L & _); [easy | cbn in L; lia].
    - assert (at_end : forall i, i = length s -> nth_error (rev (t :: s)) i = Some t).
      { intros i ->. cbn. rewrite nth_error_app2, rev_length, Nat.sub_diag by (rewrite rev_length; lia). reflexivity. }
      destruct w as [|m w].
      { split; [intros R; apply reaches_length in R; discriminate|]. destruct x as [q|]; [|discriminate].
        intros (i & ms & p & N & _ & E & _). symmetry in E. apply app_eq_nil in E as [E _].
        apply (f_equal (@rev mark)) in E. rewrite rev_involutive in E. easy. }
      rewrite reaches_cons. split.
      + intros (y & R & T). apply IH in R. destruct y as [p|].
        * apply step_waiting_some in T as (q & -> & T). destruct R as (i & ms & p0 & N & L & -> & I & R).
          exists i, (ms ++ [m]), p0. rewrite app_length, rev_app_distr. repeat split; auto.
          -- now destruct ms.
          -- cbn. lia.
          -- apply path_app. exists p. split; [cbn [rev]; now apply path_later|].
             apply path_cons. exists t, q. rewrite path_nil. auto.
        * subst w. apply step_waiting_none in T as [(-> & ->)|(p & q & I & -> & T)]; [reflexivity|].
          exists (length s), [m], p. repeat split; auto; [easy | cbn; lia|].
          apply path_cons. exists t, q. rewrite path_nil. auto.
      + destruct x as [q|].
        * intros (i & ms & p & N & L & E & I & R). destruct (exists_last N) as (ms' & m' & ->).
          rewrite app_length in L. cbn in L. rewrite rev_app_distr in E. injection E as -> ->.
          apply path_app in R as (r & R & T). rewrite path_cons in T. destruct T as (u & q' & E & T & Q).
          apply path_nil in Q as ->. rewrite at_end in E by lia. injection E as <-.
          destruct ms' as [|m0 ms0].
          -- apply path_nil in R as <-. exists None. split; [|apply step_waiting_none; right; eauto].
             apply IH. cbn in L |- *. f_equal. lia.
          -- exists (Some r). split; [|apply step_waiting_some; eauto]. apply IH. exists i, (m0 :: ms0), p.
             repeat split; auto; [easy | lia|]. cbn [rev] in R. eapply path_earlier; [|exact R].
             rewrite rev_length. lia.
        * cbn. intros E. injection E as -> ->. exists None. split; [now apply IH|].
          apply step_waiting_none. auto.
  Qed.
End Waiting.

(** * Words and valuations *)

(** The word of the marks of a valuation, from the first event of the stream on. *)
Definition word_of (V : valuation) : list mark := rev (map mark_of (row V)) ++ repeat Skip (first V).

Lemma length_word_of V : length (word_of V) = stop V.
Proof. unfold word_of, stop. rewrite app_length, rev_length, map_length, repeat_length. lia. Qed.

Lemma takes_word_of V k : takes (word_of V) k = taken V k.
Proof.
  unfold takes, word_of, taken, at_position. rewrite rev_app_distr, rev_involutive.
  replace (rev (repeat Skip (first V))) with (repeat Skip (first V)).
  2:{ clear. induction (first V) as [|n IH]; cbn; auto. rewrite <- IH. clear.
      induction n as [|n IH]; cbn; auto. now rewrite <- IH. }
  destruct (first V <=? k) eqn:E; reflect.
  - rewrite nth_error_app2 by (rewrite repeat_length; lia). rewrite repeat_length.
    rewrite nth_error_map. destruct (nth_error (row V) (k - first V)) as [L|] eqn:N; cbn.
    + rewrite (nth_error_nth _ _ _ N). unfold mark_of. now destruct (is_none L).
    + apply nth_error_None in N. now rewrite nth_overflow by auto.
  - rewrite nth_error_app1 by (rewrite repeat_length; lia).
    destruct (nth_error (repeat Skip (first V)) k) as [m|] eqn:N; [|reflexivity].
    apply nth_error_In, repeat_spec in N. now subst.
Qed.

Lemma beats_same s u u' v v' : (forall k, u k = u' k) -> (forall k, v k = v' k) -> beats s u v -> beats s u' v'.
Proof.
  intros U V. destruct s; cbn; auto.
  - intros (k & Uk & Vk & E). exists k. rewrite <- U, <- V. repeat split; auto. intros l L. rewrite <- U, <- V. auto.
  - intros (k & Uk & Vk & E). exists k. rewrite <- U, <- V. repeat split; auto. intros l L. rewrite <- U, <- V. auto.
  - intros (A & k & Uk & Vk). split; [intros l; rewrite <- U, <- V; auto|]. exists k. now rewrite <- U, <- V.
Qed.

Lemma admissible_same s v v' : (forall k, v k = v' k) -> admissible s v -> admissible s v'.
Proof. intros E. destruct s; cbn; auto. intros H i j k L. rewrite <- !E. eauto. Qed.

(** * Formulas whose answers take their first and their last event *)

Lemma taken_union V W k : row V <> [] -> row W <> [] -> taken (union V W) k = taken V k || taken W k.
Proof.
  intros NV NW. pose proof (proper_stop _ NV) as LV. pose proof (proper_stop _ NW) as LW.
  assert (outside : forall U i, ~ (first U <= i < stop U) -> at_position U i = none).
  { intros U i H. unfold at_position. destruct (first U <=? i) eqn:E; auto. reflect.
    apply nth_overflow. unfold stop in H. lia. }
  assert (E : at_position (union V W) k = both (at_position V k) (at_position W k)).
  { destruct (Nat.lt_ge_cases k (Nat.min (first V) (first W))) as [B|B];
      [|destruct (Nat.lt_ge_cases k (Nat.max (stop V) (stop W))) as [C|C]].
    - rewrite !outside; auto; rewrite ?stop_union by auto; cbn; lia.
    - unfold at_position at 1, union. cbn [first row]. rewrite (proj2 (Nat.leb_le _ _) B).
      set (f := fun i => both (at_position V i) (at_position W i)). set (start := Nat.min (first V) (first W)) in *.
      rewrite nth_indep with (d' := f 0) by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth by lia.
      unfold f. f_equal; f_equal; lia.
    - rewrite !outside; auto; rewrite ?stop_union by auto; cbn; lia. }
  unfold taken. rewrite E. unfold is_none, both, none. destruct (at_position V k), (at_position W k); reflexivity.
Qed.

Definition ends_taken (V : valuation) : Prop := taken V (first V) = true /\ taken V (last_position V) = true.

Lemma ends_taken_union V W : row V <> [] -> row W <> [] -> ends_taken V -> ends_taken W -> ends_taken (union V W).
Proof.
  intros NV NW (V1 & V2) (W1 & W2). unfold ends_taken. rewrite !taken_union by auto.
  unfold last_position in *. rewrite stop_union by auto. cbn [first union].
  pose proof (proper_stop _ NV). pose proof (proper_stop _ NW). rewrite !orb_true_iff. split.
  - destruct (Nat.min_dec (first V) (first W)) as [-> | ->]; auto.
  - destruct (Nat.max_dec (stop V) (stop W)) as [-> | ->]; auto.
Qed.

Lemma at_position_relabel f V k : f none = none -> at_position (relabel f V) k = f (at_position V k).
Proof.
  intros F. unfold at_position, relabel; cbn. destruct (first V <=? k); [|auto].
  rewrite <- F at 1. apply map_nth.
Qed.

Lemma ends_taken_relabel f V : f none = none -> (forall L, is_none L = false -> is_none (f L) = false) ->
  ends_taken V -> ends_taken (relabel f V).
Proof.
  intros F G (V1 & V2). unfold ends_taken, taken, last_position in *. rewrite stop_relabel. cbn [first relabel].
  change (first V) with (first (relabel f V)) in *. rewrite !at_position_relabel by auto. cbn [first relabel].
  apply negb_true_iff in V1, V2. split; apply negb_true_iff, G; auto.
Qed.

Lemma name_none X : name X none = none. Proof. reflexivity. Qed.
Lemma has_not_none X L : has X L = true -> is_none L = false.
Proof. intros H. destruct L; [discriminate | reflexivity]. Qed.
Lemma name_some X L : is_none L = false -> is_none (name X L) = false.
Proof. intros N. unfold name. rewrite N. apply (has_not_none X). unfold has, add. apply N.setbit_eq. Qed.
Lemma rename_none X Y : rename X Y none = none.
Proof. unfold rename, has, none. now rewrite N.bits_0. Qed.
Lemma rename_some X Y L : is_none L = false -> is_none (rename X Y L) = false.
Proof.
  intros N. unfold rename. destruct (has X L); auto. apply (has_not_none Y). unfold has, add. apply N.setbit_eq.
Qed.

Lemma takes_ends_sat {D} (evs : stream D) phi : takes_ends phi = true -> forall V, V |=[evs] phi -> ends_taken V.
Proof.
  assert (rows : forall psi V, V |=[evs] psi -> row V <> []) by (intros psi V H; apply (sat_proper evs psi V H)).
  assert (single : forall i L, is_none L = false -> ends_taken (Valuation i [L])).
  { intros i L N. unfold ends_taken, taken, last_position, stop, at_position; cbn.
    replace (i + 1 - 1) with i by lia. rewrite Nat.leb_refl, Nat.sub_diag. now rewrite N. }
  assert (iterated : forall psi precedes V, (forall W, W |=[evs] psi -> ends_taken W) ->
    iteration (fun W => W |=[evs] psi) precedes V -> ends_taken V).
  { intros psi precedes V H I. induction I as [V sat | V W sat I IH P]; auto.
    apply ends_taken_union; eauto. clear - rows I. induction I as [V sat | V W sat _ IH _]; eauto using row_union. }
  induction phi as [R | phi IH X | phi IH c | phi IH psi IH' | phi IH psi IH' | phi IH psi IH' | phi IH psi IH'
    | phi IH | phi IH | L phi IH | X Y phi IH | phi IH psi IH' | phi IH psi IH' | phi _ | s phi IH | phi IH w];
    cbn [takes_ends]; intros E V H; try discriminate; cbn [sat] in H; try (apply andb_prop in E as [E E']).
  - destruct H as (i & t & _ & _ & ->). apply single, (has_not_none R). apply N.setbit_eq.
  - destruct H as (W & H & ->). apply ends_taken_relabel; auto using name_none, name_some.
  - destruct H as (H & _). auto.
  - destruct H as [H|H]; auto.
  - destruct H as (H & _). auto.
  - destruct H as (W1 & W2 & H1 & H2 & _ & ->). apply ends_taken_union; eauto.
  - destruct H as (W1 & W2 & H1 & H2 & _ & ->). apply ends_taken_union; eauto.
  - eauto.
  - eauto.
  - destruct H as (W & H & ->). apply ends_taken_relabel; auto using rename_none, rename_some.
Qed.

(** * The answers *)

Lemma in_configurations {D} (M : machine D) s : forall w c,
  In (w, c) (configurations M s) <-> length w = length s /\ c = after M s w.
Proof.
  induction s as [|t s IH]; intros w c; cbn [configurations].
  - split; [intros [E|[]]; injection E as <- <-; auto|]. intros (L & ->). destruct w; [now left | discriminate].
  - rewrite in_flat_map. split.
    + intros ([w' c'] & I & J). apply IH in I as (L & ->).
      destruct J as [J|[J|[]]]; injection J as <- <-; cbn; auto.
    + destruct w as [|m w]; intros (L & ->); [discriminate|]. injection L as L.
      exists (w, after M s w). split; [now apply IH|]. destruct m; cbn; auto.
Qed.

Section Answers.
  Context {D : Type} (evs : stream D) (phi : formula D).
  Hypothesis is_regular : regular phi = true.
  Hypothesis ends : takes_ends phi = true.
  Let A := waiting (marked (compile phi)).
  Let dec := option_dec (Engine.marked_dec phi).

  Lemma word_listed : listed A.
  Proof. apply waiting_listed, marked_listed, compile_well_formed. Qed.

  (** The outputs at an event are the words of the valuations that end there. *)
  Lemma output_valuations j w : j < length evs -> output A (rev (firstn (1 + j) evs)) w <->
    exists V, V |=[evs] phi /\ last_position V = j /\ w = word_of V.
  Proof.
    intros L. assert (LS : length (rev (firstn (1 + j) evs)) = 1 + j) by (rewrite rev_length, firstn_length_le; lia).
    split.
    - intros (w' & [q|] & -> & R & F); [|discriminate]. apply reaches_waiting in R as (i & ms & p & N & E & W & I & R).
      rewrite rev_involutive in R. rewrite LS in E.
      assert (acc : accepted (marked (compile phi)) evs i ms).
      { split; auto. exists p, q. repeat split; auto. rewrite <- (firstn_skipn (1 + j) evs). now apply path_later. }
      apply accepted_marked in acc as (Ls & -> & acc). exists (Valuation i Ls). split; [now apply compile_correct|].
      rewrite map_length in E. split; [unfold last_position, stop; cbn; lia | exact W].
    - intros ([i Ls] & sat & E & ->). pose proof (takes_ends_sat evs phi ends _ sat) as [_ T].
      pose proof (proj1 (sat_proper evs phi _ sat)) as N. cbn in N.
      assert (len : i + length Ls = 1 + j).
      { pose proof (proper_stop (Valuation i Ls) N). unfold last_position, stop in *; cbn in *. lia. }
      apply compile_correct in sat; auto.
      destruct (proj2 (accepted_marked (compile phi) evs i (map mark_of Ls))) as (N' & p & q & I & F & R); [eauto|].
      rewrite <- takes_word_of in T. unfold last_position in T. rewrite <- length_word_of in T.
      destruct (word_of (Valuation i Ls)) as [|m w] eqn:W.
      { exfalso. apply (f_equal (@length mark)) in W. rewrite length_word_of in W. unfold stop in W. cbn in W. lia. }
      replace (length (m :: w) - 1) with (length w) in T by (cbn; lia). rewrite takes_last, is_take_true in T.
      subst m. exists w, (Some q). repeat split; auto. apply reaches_waiting.
      exists i, (map mark_of Ls), p. rewrite LS, map_length, rev_involutive. repeat split; auto.
      apply (path_earlier _ _ (skipn (1 + j) evs)); [rewrite map_length, firstn_length_le; lia|].
      now rewrite firstn_skipn.
  Qed.

  Lemma event_of_word_of V : V |=[evs] phi -> event_of_word (word_of V) = complex V.
  Proof.
    intros sat. pose proof (takes_ends_sat evs phi ends _ sat) as [T _].
    pose proof (proj1 (sat_proper evs phi _ sat)) as N. unfold event_of_word, complex. rewrite length_word_of.
    assert (P : filter (takes (word_of V)) (seq 0 (stop V)) = positions V).
    { unfold positions, where_, stop. rewrite seq_app, filter_app, Nat.add_0_l.
      replace (filter _ (seq 0 (first V))) with (@nil nat).
      - apply filter_ext. intros k. apply takes_word_of.
      - symmetry. clear - V. assert (H : forall k, k < first V -> takes (word_of V) k = false).
        { intros k L. rewrite takes_word_of. unfold taken, at_position.
          now rewrite (proj2 (Nat.leb_gt (first V) k) L). }
        assert (G : forall l, (forall k, In k l -> k < first V) -> filter (takes (word_of V)) l = []).
        { intros l. induction l as [|k l IH]; intros B; cbn; auto. rewrite H by (apply B; now left). apply IH.
          intros k' I. apply B. now right. }
        apply G. intros k I. apply in_seq in I. lia. }
    rewrite P. f_equal. f_equal. unfold positions, where_. destruct (row V) as [|L Ls]; [easy|].
    cbn [length seq filter]. now rewrite T.
  Qed.

  Lemma recognised_answers (M : machine D) (wanted : stream D -> list mark -> Prop) C :
    (forall s w, wanted s w <-> recognises M s w) ->
    In C (flat_map (fun j => map (fun c => event_of_word (fst c))
      (filter (fun '(w, c) => match w with Take :: _ => accepts M c | _ => false end)
        (configurations M (rev (firstn (1 + j) evs))))) (seq 0 (length evs))) <->
    exists j w, j < length evs /\ wanted (rev (firstn (1 + j) evs)) w /\ C = event_of_word w.
  Proof.
    intros H. rewrite in_flat_map. split.
    - intros (j & J & I). apply in_seq in J. apply in_map_iff in I as ([w c] & <- & I).
      apply filter_In in I as [I T]. apply in_configurations in I as (L & ->). exists j, w.
      split; [lia|]. split; auto. apply H. destruct w as [|[] w]; try discriminate. repeat split; eauto.
    - intros (j & w & J & W & ->). apply H in W as (L & (w' & ->) & T). exists j. split; [apply in_seq; lia|].
      apply in_map_iff. exists (Take :: w', after M (rev (firstn (1 + j) evs)) (Take :: w')). split; auto.
      apply filter_In. split; auto. now apply in_configurations.
  Qed.

  (** The words that a strategy selects are its answers. *)
  Definition wanted (x : option strategy) : stream D -> list mark -> Prop :=
    match x with None => output A | Some s => selected s A end.

  Lemma wanted_recognised x s w : wanted x s w <-> recognises (machine_of x A dec) s w.
  Proof.
    pose proof word_listed as all_listed. destruct x as [[]|]; cbn [wanted machine_of].
    - now apply strict_correct.
    - now apply nxt_of_any.
    - now apply last_correct.
    - now apply max_correct.
    - now apply determinised_correct.
  Qed.

  Lemma wanted_answers x C : (exists j w, j < length evs /\ wanted x (rev (firstn (1 + j) evs)) w /\ C = event_of_word w) <->
    answer evs (optional Select x phi) C.
  Proof.
    unfold answer. split.
    - intros (j & w & J & W & ->).
      assert (O : output A (rev (firstn (1 + j) evs)) w) by (destruct x; [apply W | exact W]).
      apply output_valuations in O as (V & sat & E & ->); auto. exists V. rewrite event_of_word_of by auto.
      split; auto. destruct x as [s|]; cbn; auto. destruct W as (_ & adm & best). split; auto.
      split; [now apply (admissible_same s (takes (word_of V))); [apply takes_word_of|]|].
      intros W satW EW B. apply (best (word_of W)).
      + apply output_valuations; auto. exists W. repeat split; auto. congruence.
      + eapply beats_same; [| | exact B]; intros k; symmetry; apply takes_word_of.
    - intros (V & sel & ->).
      assert (sat : V |=[evs] phi) by (destruct x; [apply sel | exact sel]).
      assert (J : last_position V < length evs).
      { pose proof (sat_proper evs phi V sat) as [N L]. pose proof (proper_stop _ N). unfold last_position. lia. }
      exists (last_position V), (word_of V). rewrite event_of_word_of by auto. split; auto. split; auto.
      assert (O : output A (rev (firstn (1 + last_position V) evs)) (word_of V)) by (apply output_valuations; eauto).
      destruct x as [s|]; cbn [wanted]; auto. destruct sel as (_ & adm & best). split; auto. split.
      + apply (admissible_same s (taken V)); auto. intros k. symmetry. apply takes_word_of.
      + intros v O' B. apply output_valuations in O' as (W & satW & EW & ->); auto.
        apply (best W satW EW). eapply beats_same; [| | exact B]; intros k; apply takes_word_of.
  Qed.

  Theorem strategy_answers_correct x C :
    In C (strategy_answers x evs phi) <-> answer evs (optional Select x phi) C.
  Proof.
    rewrite <- wanted_answers. apply recognised_answers. intros s w. apply wanted_recognised.
  Qed.
End Answers.
